"""Why mutants that no test notices make no difference: (file, line, change) -> reason."""

SURVIVORS: dict[tuple[str, str, str], str] = {
    ("torque_limiter.py", "return self.limits[0]", "0 -> 1"): (
        "both wheels have the same limit: the constructor gives it twice"
    ),
}
