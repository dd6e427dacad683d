"""Torques that make a robot tell its parameters, within its room and speed."""
