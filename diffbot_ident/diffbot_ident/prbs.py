"""Pseudo-random binary sequences (PRBS) from a shift register.

A register of n bits whose feedback polynomial is primitive runs through all 2^n - 1 non-zero
states before it repeats (Press et al., Numerical Recipes, reference [21] of Lages (2017)). The
sequence is white but for its period: its autocorrelation at any other lag is -1 / (2^n - 1).
"""

from __future__ import annotations

# Exponents of one primitive feedback polynomial per register length.
PRIMITIVE_TAPS = {
    7: (7, 6),
    8: (8, 6, 5, 4),
    9: (9, 5),
    10: (10, 7),
    11: (11, 9),
    12: (12, 6, 4, 1),
    13: (13, 4, 3, 1),
    14: (14, 5, 3, 1),
    15: (15, 14),
}


class Prbs:
    """One maximal-length binary sequence; iterate it for its next bit.

    Args:
        register: number of bits of the shift register, 7 to 15; the period is 2^register - 1.
        start: where in the period to begin, any integer (taken modulo the period). Sequences of
            one register that begin half a period apart are uncorrelated at every lag shorter
            than that.

    Raises:
        ValueError: the register length is not offered.
    """

    def __init__(self, register: int, start: int = 0) -> None:
        if register not in PRIMITIVE_TAPS:
            raise ValueError(
                f"register = {register} bits: must be one of {min(PRIMITIVE_TAPS)} to "
                f"{max(PRIMITIVE_TAPS)}; 10 suits runs of a minute"
            )
        self.period = 2**register - 1
        self._shifts = tuple(register - tap for tap in PRIMITIVE_TAPS[register])
        self._top = register - 1
        self._state = 1
        for _ in range(start % self.period):
            next(self)

    def __iter__(self) -> Prbs:
        return self

    def __next__(self) -> int:
        """The next bit, 0 or 1."""
        feedback = 0
        for shift in self._shifts:
            feedback ^= self._state >> shift
        bit = self._state & 1
        self._state = (self._state >> 1) | ((feedback & 1) << self._top)
        return bit
