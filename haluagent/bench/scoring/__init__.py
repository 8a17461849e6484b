from haluagent.errors import ConfigError

try:
    import numpy  # noqa: F401
except ImportError:
    raise ConfigError('the figures of a benchmark need one more package: pip install "haluagent[bench]"') from None
