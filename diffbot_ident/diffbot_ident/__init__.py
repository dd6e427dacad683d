"""Identification of the dynamic parameters K5..K8 of differential-drive robots."""
