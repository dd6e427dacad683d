"""Identification from recordings: readers, streams, analyses and the command `identify`."""
