"""Fine-tune a model for the agent: trajectories in, a LoRA adapter out. Needs the extra "train" (docs/training.md)."""
