# SPDX-License-Identifier: Apache-2.0
"""Writes the stop state machine into docs/safety.md.

./diffbot python docs/stop_states.py
"""

from __future__ import annotations

from pathlib import Path

from diffbot_node.stop_states import TRANSITIONS, GuardState, StopEvent

PAGE = Path(__file__).with_name("safety.md")
BEGIN, END = "<!-- made by docs/stop_states.py -->\n", "<!-- end of what was made -->\n"


def table() -> str:
    """The table as Markdown: a row for each state, a column for each event."""
    head = ("state", "when", "`diagnostics`", "command", *(event.value for event in StopEvent))
    rows = [
        (
            state.name,
            state.meaning,
            f"{state.level} {state.label}",
            state.sends.value,
            *(
                TRANSITIONS[state][event].name if event in TRANSITIONS[state] else ""
                for event in StopEvent
            ),
        )
        for state in GuardState
    ]
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def page(written: str) -> str:
    """The page with the table as it is now."""
    before, rest = written.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
