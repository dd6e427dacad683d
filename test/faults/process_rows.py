# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault table with real processes over DDS, in real time.

Rows of one engine share a graph (process_graph.py), which each row restores before its fault: they
run one after the other in one process, in any order. `close` ends the graphs, as does any end of
the process.
"""

from __future__ import annotations

from faults import (
    process_button_rows,
    process_composed_rows,
    process_end_rows,
    process_input_rows,
    process_watchdog_rows,
)
from faults.process_attack import close
from faults.row import Row

ROWS: tuple[Row, ...] = (
    *process_button_rows.ROWS,
    *process_watchdog_rows.ROWS,
    *process_input_rows.ROWS,
    *process_end_rows.ROWS,
    *process_composed_rows.ROWS,
)

__all__ = ["ROWS", "close"]
