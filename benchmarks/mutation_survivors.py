# SPDX-License-Identifier: Apache-2.0
"""Reasons why surviving mutants are equivalent: (file, line, change) -> reason."""

EMPTY = "no reason is given by None as well as by an empty text: only its truth is asked for"
PAIRS = "both have two values: the command was counted before, and what passed is a pair"
TYPE = "a name for type checkers; annotations are not evaluated when the program runs"
FIRST = "the first state sets it before anything reads it"

SURVIVORS: dict[tuple[str, str, str], str] = {
    ("command_guard.py", "return self.limits[0]", "0 -> 1"): (
        "both wheels have the same limit: the constructor gives it twice"
    ),
    **{
        (name, 'return ""', "return '' -> pass"): EMPTY
        for name in ("command_guard.py", "state_age.py", "effort_watchdog.py")
    },
    **{
        ("state_age.py", line, change): FIRST
        for line in (
            "self._came = 0.0  # arrival of the newest state by the node's clock, s",
            "self._came = 0.0  # time of the last state by the node's clock, s",
            "self._least = 0.0  # smallest lead of the node's clock over a stamp, s",
        )
        for change in (line.split("  #")[0] + " -> pass", "0.0 -> 1.0")
    },
    **{
        ("state_age.py", "if TYPE_CHECKING:", f"if TYPE_CHECKING: -> if {truth}:"): (
            "imports a name for type checkers only"
        )
        for truth in (True, False)
    },
    **{
        (name, "Pair = tuple[float, float]", "Pair = tuple[float, float] -> pass"): TYPE
        for name in ("command_guard.py", "effort_watchdog.py")
    },
    (
        "state_age.py",
        "if behind > self._limit:",
        "behind > self._limit -> behind >= self._limit",
    ): "a difference of clocks meets the limit to the last bit by chance only",
    (
        "effort_watchdog.py",
        "change = max(abs(new - old) for new, old in zip(values, self.passed, strict=True))",
        "True -> False",
    ): PAIRS,
    ("presence.py", "WAITING_PERIOD = 3.0", "3.0 -> 4.0"): (
        "a choice: how often the node logs what it waits for"
    ),
    **{
        ("presence.py", "PARTING = 1.0", change): (
            "the nodes that import it have tests of their own; this file's give the time themselves"
        )
        for change in ("PARTING = 1.0 -> pass", "1.0 -> 2.0")
    },
    (
        "presence.py",
        "if now - self._logged.get(kind, -PERIOD) < PERIOD:",
        "now - self._logged.get(kind, -PERIOD) < PERIOD -> "
        "now - self._logged.get(kind, -PERIOD) <= PERIOD",
    ): "a difference of clocks meets the limit to the last bit by chance only",
    ("presence.py", 'now, kind = time.monotonic(), NUMBERS.sub("", what)', "'' -> 'mutant'"): (
        "kinds are compared with each other only"
    ),
    ("presence.py", "return None", "return None -> pass"): (
        "at the end of a function, which returns None as well"
    ),
}
