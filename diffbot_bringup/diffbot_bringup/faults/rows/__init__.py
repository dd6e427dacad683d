"""Rows of the fault table, by group."""
