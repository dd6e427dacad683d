"""Why mutants that no test notices make no difference: (file, line, change) -> reason."""

EMPTY = "no reason is given by None as well as by an empty text: only its truth is asked for"
PAIRS = "both have two values: the command was counted before, and what passed is a pair"

SURVIVORS: dict[tuple[str, str, str], str] = {
    (
        "pair_limiter.py",
        "self.command, wanted, self.limits, steps, strict=True",
        "True -> False",
    ): PAIRS,
    ("torque_limiter.py", "return self.limits[0]", "0 -> 1"): (
        "both wheels have the same limit: the constructor gives it twice"
    ),
    ("state_age.py", 'return ""', "return '' -> pass"): EMPTY,
    ("effort_watchdog.py", "Pair = tuple[float, float]", "Pair = tuple[float, float] -> pass"): (
        "a name for type checkers; annotations are not evaluated when the program runs"
    ),
    ("effort_watchdog.py", 'return ""', "return '' -> pass"): EMPTY,
    (
        "effort_watchdog.py",
        "change = max(abs(new - old) for new, old in zip(values, self.passed, strict=True))",
        "True -> False",
    ): PAIRS,
}
