# SPDX-License-Identifier: Apache-2.0
"""The precision at which an excitation by velocity commands ends."""

import math

import pytest

from diffbot_ident.precision import AxisQuantities, Estimated, VelocityPrecision
from diffbot_ident.until import VELOCITY_EXAMPLE


def axis(lag=0.001, gain=0.001, late=0.002, reason=""):
    """Standard deviations of 0.2 s, 1 and 0.1 s."""
    return AxisQuantities(Estimated(0.2, lag), Estimated(1.0, gain), Estimated(0.1, late), reason)


def test_it_is_reached_if_both_axes_are_precise_and_usable():
    asked = VelocityPrecision.parse(VELOCITY_EXAMPLE)
    assert asked.limits == pytest.approx({"time_constant": 0.02, "gain": 0.01, "dead_time": 0.01})
    assert asked.is_reached((axis(), axis()))
    for bad in (
        axis(lag=0.0021),
        axis(gain=0.0052),
        axis(late=0.0052),
        axis(late=math.nan),
        axis(gain=math.inf),
        axis(reason="refused"),
    ):
        assert not asked.is_reached((axis(), bad)) and not asked.is_reached((bad, axis()))
    assert VelocityPrecision.parse("gain=1%, dead_time 8 ms").limits.keys() == {"gain", "dead_time"}
    assert VelocityPrecision.parse("none") is VelocityPrecision.parse(" ") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("K5 1%", "'K5' must be one of time_constant, gain, dead_time, each once"),
        ("gain 1% gain 2%", "'gain' must be one of"),
        ("gain 1", "gain 1 must have the unit %"),
        ("dead_time 10%", "dead_time 10 must have the unit ms"),
        ("gain 0%", "'0' after gain must be a number > 0"),
        ("gain x%", "'x' after gain must be a number > 0"),
    ],
)
def test_what_is_no_precision_is_refused(text, says):
    with pytest.raises(ValueError, match=r"until = ") as refused:
        VelocityPrecision.parse(text)
    assert says in str(refused.value)
