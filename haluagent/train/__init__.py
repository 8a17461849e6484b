"""Teaching a model to be the agent: trajectories in, a LoRA adapter out. Needs the extra "train" (docs/training.md)."""
