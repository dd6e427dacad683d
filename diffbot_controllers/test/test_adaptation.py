# SPDX-License-Identifier: Apache-2.0
"""Invariants of the gates between live estimates and the parameters that a law uses."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_controllers.adaptation import (
    ALWAYS,
    LONGEST_STEP,
    NEVER,
    Adaptation,
    AdaptationSettings,
    AdaptationState,
    Band,
    LiveEstimate,
)
from diffbot_description import DynamicParameters
from diffbot_ident.interpretation.fleet_prior import FleetPrior

NOMINAL = DynamicParameters(0.0844, -3.77, 2.647, -16.08)
HALF_TRACK = 0.136
VALUES = (NOMINAL.k5, NOMINAL.k6, NOMINAL.k7, NOMINAL.k8)
LOADED = tuple(value / 1.5 for value in VALUES)


def offer(stamp, values=VALUES, relative=0.001, **more):
    """An estimate with the same relative standard deviation of each parameter."""
    variances = tuple((relative * value) ** 2 for value in VALUES)
    return LiveEstimate(stamp, tuple(values), variances, **more)


def follow(adaptation, values, seconds, begin=0.0, **more):
    """Offer the same values at 5 Hz; returns the last judgement."""
    for k in range(round(5 * seconds)):
        judgement = adaptation.judge(offer(begin + 0.2 * k, values, **more))
    return judgement


any_float = st.floats(allow_nan=True, allow_infinity=True)
near = st.tuples(*(st.floats(-2.5, 2.5).map(lambda f, v=v: f * v) for v in VALUES))
spread = st.floats(0.0, 1.0) | st.sampled_from([math.inf, math.nan, -1.0])
offers = st.lists(
    st.builds(
        LiveEstimate,
        stamp=st.floats(0.0, 1e4) | any_float,
        values=near | st.tuples(*[any_float] * 4),
        variances=st.tuples(*[spread] * 4),
        estimated=st.booleans() | st.just(True),
        verified=st.sampled_from([None, True, False, True]),
        coverage=st.tuples(*[st.floats(0.0, 1.0)] * 4),
    ),
    max_size=30,
)


@given(
    offers,
    st.sampled_from((ALWAYS, NEVER)),
    st.floats(0.0, 1.0),
    st.floats(1.1, 4.0),
    st.floats(0.01, 5.0),
)
def test_whatever_is_offered_the_parameters_in_use_stay_finite_slow_and_in_the_band(
    sequence, verified, coverage, band, rate
):
    rules = AdaptationSettings(
        require_verified=verified,
        coverage=coverage,
        band=band,
        adaptation_rate=rate,
        precision=(10.0,) * 4,
    )
    adaptation = Adaptation(NOMINAL, HALF_TRACK, rules)
    scale = adaptation.band.scale
    for k, item in enumerate(sequence):
        before = adaptation.in_use
        judgement = adaptation.judge(item)
        after = adaptation.in_use
        assert all(map(math.isfinite, after))
        for i in range(4):
            assert adaptation.band.lower[i] <= after[i] <= adaptation.band.upper[i]
            assert abs(after[i] - before[i]) <= rate * scale[i] * LONGEST_STEP * (1 + 1e-9)
            if not judgement.follows[i]:
                assert after[i] == before[i]
            if after[i] != before[i]:
                # Only towards what was offered, and only a finite estimate with a finite interval.
                assert math.isfinite(item.values[i]) and math.isfinite(item.variances[i])
                assert (after[i] > before[i]) == (item.values[i] > before[i])
                assert item.estimated and item.verified is not False
                assert item.verified or verified == NEVER
                assert item.coverage[i] >= coverage
        assert adaptation.refused + adaptation.accepted == k + 1


def test_a_load_is_followed_at_the_rate_and_no_faster():
    adaptation = Adaptation(NOMINAL, HALF_TRACK)
    follow(adaptation, VALUES, 1.0)
    follow(adaptation, LOADED, 1.0, begin=1.0)
    # 20 % of the nominal value in 1 s.
    assert adaptation.in_use.k7 == pytest.approx(0.8 * NOMINAL.k7, rel=1e-9)
    judgement = follow(adaptation, LOADED, 2.0, begin=2.0)
    assert adaptation.in_use == pytest.approx(LOADED, rel=0.001)
    assert judgement.state == AdaptationState.FOLLOWING and adaptation.refused == 0


def test_a_pause_of_the_estimates_is_not_made_up_for_in_one_step():
    adaptation = Adaptation(NOMINAL, HALF_TRACK)
    adaptation.judge(offer(0.0))
    adaptation.judge(offer(1000.0, LOADED))
    assert adaptation.in_use.k7 == pytest.approx(0.9 * NOMINAL.k7, rel=1e-9)


def test_what_agrees_with_its_estimate_does_not_move():
    """The noise of an estimate is not copied into the law; beyond 2 deviations it is followed."""
    adaptation = Adaptation(NOMINAL, HALF_TRACK, AdaptationSettings(significance=2.0))
    for k in range(50):
        sign = 1.0 if k % 2 else -1.0
        values = [value * (1.0 + sign * 0.019) for value in VALUES]
        assert not any(adaptation.judge(offer(0.2 * k, values, relative=0.01)).follows)
    assert adaptation.in_use == NOMINAL
    values = [value * 1.03 for value in VALUES]
    follow(adaptation, values, 5.0, begin=20.0, relative=0.01)
    # Once it moves it goes on, well into the interval, not just to its edge.
    assert adaptation.in_use.k7 == pytest.approx(1.03 * NOMINAL.k7, rel=0.0026)


def test_a_gate_opens_at_its_limit_and_shuts_beyond_a_larger_one():
    rules = AdaptationSettings(precision=(0.1,) * 4, hysteresis=1.5)
    adaptation = Adaptation(NOMINAL, HALF_TRACK, rules)

    def refused(half_width, k):
        return adaptation.judge(offer(0.2 * k, relative=half_width / 1.96)).refused

    # Neither the way up nor the way down chatters at one limit.
    widths = (0.11, 0.099, 0.12, 0.149, 0.151, 0.12, 0.101, 0.099)
    assert [refused(width, k) for k, width in enumerate(widths)] == [
        True, False, False, False, True, True, True, False,
    ]  # fmt: skip


def test_a_parameter_without_an_interval_keeps_its_value_while_the_others_follow():
    adaptation = Adaptation(NOMINAL, HALF_TRACK)
    adaptation.judge(offer(0.0))
    for k in range(1, 20):
        item = offer(0.2 * k, LOADED)
        item = replace(item, variances=(math.inf, math.inf, *item.variances[2:]))
        judgement = adaptation.judge(item)
    assert adaptation.in_use.k5 == NOMINAL.k5 and adaptation.in_use.k6 == NOMINAL.k6
    assert adaptation.in_use[2:] == pytest.approx(LOADED[2:], rel=0.001)
    assert "k5 is not identifiable" in judgement.reasons["precise"] and not judgement.refused


@pytest.mark.parametrize(
    ("change", "gate", "says"),
    [
        ({"values": (0.08, -3.7, math.nan, -16.0)}, "finite", "k7 = nan"),
        ({"variances": (1e-6, 1e-6, math.nan, 1e-6)}, "finite", "must be >= 0"),
        ({"values": (0.08, -3.7, -2.6, -16.0)}, "physical", "k7 = -2.6: must be > "),
        ({"values": (0.08, 3.7, 2.6, -16.0)}, "physical", "the same sign"),
        ({"estimated": False, "reason": "15 of 100 samples"}, "estimated", "15 of 100 samples"),
        ({"verified": False}, "verified", "refuted"),
        ({"coverage": (0.0,) * 4}, "excited", "k7: coverage 0, limit 0.5"),
        ({"variances": (1.0, 100.0, 10.0, 100.0)}, "precise", "k7: half the 95 % interval"),
    ],
)
def test_each_gate_refuses_with_its_own_words_and_freezes_what_is_in_use(change, gate, says):
    adaptation = Adaptation(NOMINAL, HALF_TRACK, AdaptationSettings(coverage=0.5))
    waiting = adaptation.judge(replace(offer(0.0), **change))
    assert waiting.refused and waiting.state == AdaptationState.WAITING
    follow(adaptation, LOADED, 1.0)
    before = adaptation.in_use
    frozen = adaptation.judge(replace(offer(1.2), **change))
    assert frozen.refused and frozen.state == AdaptationState.FROZEN
    assert says in frozen.reasons[gate] and frozen.reason == frozen.reasons[gate]
    assert adaptation.in_use == before and adaptation.refused == 2


def test_verified_estimates_only_where_that_is_demanded():
    adaptation = Adaptation(NOMINAL, HALF_TRACK, AdaptationSettings(require_verified=ALWAYS))
    assert "require_verified" in follow(adaptation, LOADED, 1.0).reason
    assert not follow(adaptation, LOADED, 1.0, begin=1.0, verified=True).refused


def test_by_default_nothing_is_learnt_from_a_motion_that_does_not_excite():
    adaptation = Adaptation(NOMINAL, HALF_TRACK)
    judgement = follow(adaptation, LOADED, 1.0, coverage=(0.0,) * 4)
    assert "k8: coverage 0, limit 0.05" in judgement.reasons["excited"] and judgement.refused
    assert adaptation.in_use == NOMINAL


@pytest.mark.parametrize("started", [True, False])
def test_what_a_law_cannot_use_is_taken_back_and_counted_as_refused(started):
    adaptation = Adaptation(
        NOMINAL, HALF_TRACK, AdaptationSettings(require_verified=NEVER), started=started
    )
    first = adaptation.take_back(adaptation.judge(offer(0.0, LOADED)), "singular")
    assert first.state == AdaptationState.WAITING and adaptation.is_started == started
    assert adaptation.in_use == NOMINAL
    follow(adaptation, LOADED, 0.6, begin=0.2)
    before = adaptation.in_use
    again = adaptation.judge(offer(0.8, [value / 1.9 for value in VALUES]))
    assert adaptation.in_use != before
    again = adaptation.take_back(again, "singular")
    assert again.refused and again.reason == again.reasons["law"] == "singular"
    assert again.state == AdaptationState.FROZEN and not any(again.follows)
    assert adaptation.in_use == before and adaptation.is_started
    assert (adaptation.refused, adaptation.accepted) == (2, 3)


def test_an_estimate_beyond_the_band_is_followed_to_its_edge_and_reported():
    adaptation = Adaptation(NOMINAL, HALF_TRACK)
    judgement = follow(adaptation, [value / 5.0 for value in VALUES], 10.0)
    assert adaptation.in_use.k7 == NOMINAL.k7 / 2.0 and adaptation.in_use.k8 == NOMINAL.k8 / 2.0
    assert "k7 = 0.5294: band 1.323 to 5.294" in judgement.reasons["band"]


def test_a_robot_with_its_mass_on_the_axle_may_learn_of_an_offset():
    """K5 = K6 = 0 have no band of their own; 2 cm of offset are as much as they may learn."""
    nominal = DynamicParameters(0.0, 0.0, NOMINAL.k7, NOMINAL.k8)
    band = Band.around(nominal, HALF_TRACK, AdaptationSettings(offset_margin=0.02))
    assert band.lower[0] == -0.02 and band.upper[0] == 0.02
    # K5 K8 = b K6 K7 at the edge of both, as for each robot.
    assert 0.02 * nominal.k8 == pytest.approx(HALF_TRACK * band.lower[1] * nominal.k7)


def test_without_a_start_the_first_good_estimate_is_taken_at_once():
    adaptation = Adaptation(
        NOMINAL, HALF_TRACK, AdaptationSettings(require_verified=NEVER), started=False
    )
    vague = offer(0.0, LOADED, relative=0.2)
    assert adaptation.judge(vague).refused and not adaptation.is_started
    adaptation.judge(offer(0.2, LOADED))
    assert adaptation.is_started and adaptation.in_use == LOADED


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"precision": (0.1, 0.1, 0.0, 0.1)}, r"precision\[2\]' = 0.0: must be finite and > 0"),
        ({"precision": (0.1,)}, "must be 4 numbers"),
        ({"hysteresis": 0.9}, "hysteresis' = 0.9: must be finite and >= 1"),
        ({"band": 1.0}, "band' = 1.0: must be finite and >= 1"),
        ({"coverage": 1.5}, "coverage' = 1.5: must be finite and >= 0 and <= 1"),
        ({"adaptation_rate": math.inf}, "rate' = inf"),
        ({"significance": 0.1}, "significance' = 0.1: must be finite and >= 0.25"),
        ({"require_verified": "yes"}, "must be one of auto, always, never"),
    ],
)
def test_wrong_settings_are_named(change, says):
    with pytest.raises(ValueError, match=says):
        AdaptationSettings(**change)


def test_a_start_outside_the_band_is_refused():
    with pytest.raises(ValueError, match=r"k7 = 10: outside the band from 1.323 to 5.294"):
        Adaptation(NOMINAL, HALF_TRACK, start=NOMINAL._replace(k7=10))


def fleet(spread):
    """Robots with these relative standard deviations."""
    rows = tuple(
        tuple((s * value) ** 2 if i == j else 0.0 for j in range(4))
        for i, (s, value) in enumerate(zip(spread, VALUES, strict=True))
    )
    return FleetPrior("twil", VALUES, rows, 40, 0.075, 0.272, "2031-05-04")


def test_a_prior_keeps_the_parameters_among_robots_of_the_type():
    prior = fleet((0.02, 0.02, 0.02, 0.3))
    adaptation = Adaptation(NOMINAL, HALF_TRACK, prior=prior)
    follow(adaptation, LOADED, 20.0)
    judgement = adaptation.judge(offer(20.0, LOADED))
    for value, known, fraction in zip(adaptation.in_use, VALUES, (0.92, 0.92, 0.92), strict=False):
        assert value == pytest.approx(fraction * known)
    # The factor `band` is the widest.
    assert adaptation.band.lower[3] == pytest.approx(2.0 * NOMINAL.k8)
    assert adaptation.in_use.k8 == pytest.approx(LOADED[3], rel=0.01)
    assert "k7" in judgement.reason and "band" in judgement.reason


def test_nominal_parameters_that_no_robot_of_the_type_has_are_refused():
    other = NOMINAL._replace(k7=1.3 * NOMINAL.k7)
    with pytest.raises(ValueError, match="k7 = .* outside the band .* the prior of 40 robots"):
        Adaptation(other, HALF_TRACK, prior=fleet((0.02,) * 4))
