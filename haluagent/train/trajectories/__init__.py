"""Trajectories: a teacher's detections, kept if they are right, as training data for fine-tuning."""
