"""Trajectories: detections by a teacher, kept where they are right, as what a model is taught with."""
