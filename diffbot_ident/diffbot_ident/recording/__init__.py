"""Identification from recordings: sources, segments, analyses and the command `identify`."""
