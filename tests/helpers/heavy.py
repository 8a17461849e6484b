"""Responses that take long to check: their algebra is far from done when somebody gives up."""

# Products of powers, 2.5 KB, and the same with a function, which takes algebra.
POWERS = "; ".join(f"(x+{i})^100*(x+1)^99 = (x+{i})^99*(x+1)^100" for i in range(1, 61))
SINES = "; ".join(f"(x+{i})^100*sin(x)^99*2x = (x+{i})^99*sin(x)^100*5x" for i in range(1, 61))
