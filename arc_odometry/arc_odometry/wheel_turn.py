"""How far a wheel has turned between two readings of an encoder that may wrap."""

from __future__ import annotations

import math


class EncoderJumpError(ValueError):
    """A wheel's angle changed faster than the wheel can turn."""


def wheel_turn(name: str, before: float, after: float, limit: float) -> float:
    """The angle that a wheel has turned by between two readings, rad.

    An angle of more than a turn shows an encoder that counts turns: its difference is taken as it
    is, over any gap, as long as it is within the limit. Every other difference of more than half
    a turn is taken for a wrap: whole turns are added or removed until half a turn is left at
    most. So encoders may wrap at any whole number of turns, given a reading every half turn. For
    those that wrap after several turns the limit must be below 3 pi rad, that is a reading every
    90 ms at 100 rad/s. An encoder that is set to 0 at a run can look like one that wraps; the
    error is then half a turn at most.

    Args:
        name: of the wheel, for the message.
        before: earlier reading, rad.
        after: later reading, rad.
        limit: what the wheel can have turned at most, rad.

    Raises:
        EncoderJumpError: it would have turned by more than the limit.
        ValueError: a reading is not finite.
    """
    change = after - before
    if not math.isfinite(change):
        raise ValueError(
            f"angle of the {name} wheel = {after} rad after {before} rad: must be finite; check "
            "the encoder's driver"
        )
    counts_turns = max(abs(before), abs(after)) > math.tau
    if abs(change) > (limit if counts_turns else math.pi):
        change = math.remainder(change, math.tau)
    if abs(change) > limit:
        raise EncoderJumpError(
            f"angle of the {name} wheel jumped from {before:g} to {after:g} rad: must change by "
            f"<= {limit:.3g} rad in this time; check the encoder or raise max_wheel_speed"
        )
    return change
