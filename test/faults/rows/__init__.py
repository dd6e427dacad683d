"""Rows of the fault table, by group."""

from __future__ import annotations
