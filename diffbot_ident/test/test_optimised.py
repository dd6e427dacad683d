# SPDX-License-Identifier: Apache-2.0
"""Excitations by name: what they promise, and that the optimised one tells more."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_safety_filter import PRIORS, TWIL, drive, estimate

from diffbot_description.arena import Arena
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.excitations import KINDS, make_excitation
from diffbot_ident.excitation.information import BodyInformation, regressors
from diffbot_ident.excitation.prbs import GuardedPrbs, wheel_speed_limit
from diffbot_ident.excitation.safety_filter import LOOK_BACK

PRIOR = PRIORS["twil"]
OWN = TWIL.excitation


def information():
    return BodyInformation(PRIOR, 0.075, 0.136, 0.4, 9.0, 4096, 0.01, 20)


def test_optimised_tells_more_than_prbs_and_as_much_as_it_says():
    """2 seeds, 8 s, exact prior; bits are of all four parameters together."""
    for seed in range(2):
        results = {
            kind: drive(TWIL, kind, seed, (0,) * 4, 8.0)[1] for kind in ("prbs", "optimised")
        }
        optimised = results["optimised"]
        assert optimised.information > results["prbs"].information + 2.0
        assert optimised.predicted_information == pytest.approx(optimised.information, abs=1.0)
        assert math.isnan(results["prbs"].predicted_information)


def test_a_wrong_prior_costs_little():
    for errors in ((0.3, -0.3, 0.3, -0.3), (-0.3, 0.3, -0.3, 0.3)):
        wrong, right = (drive(TWIL, "optimised", 1, e, 8.0)[1] for e in (errors, (0,) * 4))
        assert wrong.information > right.information - 3.0


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_torques(kind):
    def torques(seed):
        excitation = make_excitation(kind, TWIL, seed, arena=Arena(3, 3), prior=PRIOR)
        return [excitation.torque(Motion()) for _ in range(200)]

    assert torques(3) == torques(3)
    assert len({tuple(torques(seed)) for seed in range(4)}) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_newest_speeds_do_not_choose_the_torque(kind):
    """Else their noise would, and the estimate would be biased."""
    calm, noisy = (make_excitation(kind, TWIL, 2, arena=Arena(3, 3), prior=PRIOR) for _ in range(2))
    for excitation in (calm, noisy):
        for _ in range(OWN.hold - LOOK_BACK + 1):
            excitation.torque(Motion())
    odd = Motion((0.0, 0.0, 0.0), (0.9, 3.0), (6.0, 17.0))
    for _ in range(LOOK_BACK):
        assert calm.torque(Motion()) == noisy.torque(odd)


def test_prbs_without_arena_is_the_guarded_one():
    limit = wheel_speed_limit(OWN.linear_velocity, OWN.angular_velocity, 0.075, 0.27217 / 2)
    old = GuardedPrbs(OWN.amplitude, OWN.hold, OWN.register, limit, 7)
    new = make_excitation("prbs", TWIL, 7)
    rng = np.random.default_rng(0)
    for speeds in rng.uniform(-10.0, 10.0, (300, 2)).tolist():
        motion = Motion(wheel_speeds=tuple(speeds))
        assert new.torque(motion) == old.torque(motion)
    assert new.guarded == old.guarded > 0


def test_prbs_in_a_vast_arena_at_rest_is_the_prbs():
    filtered = make_excitation("prbs", TWIL, 7, arena=Arena(1e3, 1e3), prior=PRIOR)
    plain = make_excitation("prbs", TWIL, 7)
    for _ in range(300):
        assert filtered.torque(Motion()) == plain.torque(Motion())
    assert filtered.guarded == filtered.interventions == 0


@given(st.integers(0, 1000))
def test_information_of_motion_never_falls(seed):
    rng = np.random.default_rng(seed)
    known, bits = information(), [0.0]
    for _ in range(5):
        rows = regressors(*rng.standard_normal((3, 2)))
        known.add(0.2 * rows[None])
        bits.append(known.bits)
    assert (np.diff(bits) > -1e-9).all() and bits[-1] > 0.0


def test_gain_is_what_adding_gives():
    rng = np.random.default_rng(1)
    known = information()
    windows = 0.2 * regressors(*rng.standard_normal((3, 2, 4)))  # 4 candidates
    gains = known.gain(windows[None])
    known.add(windows[None, 2])
    assert known.bits == pytest.approx(gains[2])


def test_learning_narrows_but_never_widens():
    excitation = make_excitation("optimised", TWIL, 0, arena=Arena(3, 3), prior=PRIOR)
    k = PRIOR.values
    variances = [math.inf, (0.01 * k[1]) ** 2, 1e9, math.nan]
    excitation.learn(estimate([1.1 * value for value in k], variances))
    low, high = excitation._filter._values.min(axis=1), excitation._filter._values.max(axis=1)
    assert high[1] / low[1] == pytest.approx(0.95 / 1.05)  # negative: low is the larger in size
    assert excitation._filter._values[1, 0] == pytest.approx(1.1 * k[1])
    for i in (0, 2, 3):
        assert sorted((low[i] / k[i], high[i] / k[i])) == pytest.approx([0.7, 1.3])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "noise"}, "excitation = 'noise'.*optimised"),
        ({"kind": "optimised"}, "prior = None"),
        ({"kind": "prbs", "arena": Arena(3, 3)}, "prior = None"),
        ({"kind": "prbs", "amplitude": 50.0}, "amplitude = 50.0 N m.*5.0 N m"),
        ({"kind": "multisine", "hold": 0, "prior": PRIOR}, "hold = 0"),
        ({"kind": "multisine", "hold": 101, "prior": PRIOR}, "hold = 101"),
        ({"kind": "prbs", "register": 5}, "register = 5"),
        ({"kind": "optimised", "prior": PRIOR, "arena": Arena(1.0, 3.0)}, "arena length = 1 m"),
        ({"kind": "optimised", "prior": PRIOR, "period": 0.5}, "period = 0.5"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_excitation(robot=TWIL, **arguments)
