"""Measuring how reliably a model uses tools, after Relign (Xu et al. 2024, "Reducing Tool Hallucination via Reliability
Alignment")."""
