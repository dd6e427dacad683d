# SPDX-License-Identifier: Apache-2.0
"""What of live friction estimates reaches a law, and friction from parameter files."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from diffbot_controllers.friction_adaptation import (
    MARGIN,
    FrictionAdaptation,
    friction_laws,
    friction_values,
    is_adaptable,
)
from diffbot_controllers.nodes.live_dynamics import estimate_of
from diffbot_controllers.parameter_reader import DynamicsFile
from diffbot_description import FrictionLaw
from diffbot_msgs import msg

NOMINAL = (0.05, 0.06, 0.35, 0.30)
SIGNIFICANT = (1e-6, 1e-6, 1e-4, 1e-4)
TORQUE, SPEED = 5.0, 20.0


def adaptation():
    return FrictionAdaptation(NOMINAL, TORQUE, SPEED)


def fed(values, variances=SIGNIFICANT, times=100):
    made = adaptation()
    for _ in range(times):
        made.judge(values, variances, 0.2)
    return made


def test_a_sure_estimate_is_followed_at_its_rate_and_reached():
    wanted = (0.06, 0.05, 0.45, 0.25)
    made = adaptation()
    made.judge(wanted, SIGNIFICANT, 0.2)
    # 20 % of the value a second.
    assert made.in_use[2] == pytest.approx(0.35 * 1.04)
    made = fed(wanted)
    # A quarter of a standard deviation off: it has arrived.
    assert made.in_use == pytest.approx(wanted, abs=0.003)


def test_a_move_that_a_law_refused_is_taken_back():
    made = adaptation()
    made.judge((0.06, 0.05, 0.45, 0.25), SIGNIFICANT, 0.2)
    assert made.in_use != NOMINAL
    made.take_back()
    assert made.in_use == NOMINAL


@pytest.mark.parametrize(
    ("value", "variance"), [(math.nan, 1e-4), (0.5, math.inf), (0.5, 0.1), (-0.3, 1e-5)]
)
def test_each_friction_has_a_gate_of_its_own(value, variance):
    values, variances = (0.06, 0.05, value, 0.25), (*SIGNIFICANT[:2], variance, SIGNIFICANT[3])
    made = fed(values, variances)
    assert made.in_use[2] == NOMINAL[2]
    assert made.in_use[3] == pytest.approx(0.25, abs=0.003)


def test_friction_stays_in_its_band():
    made = fed((0.05, 0.06, 4.0, 0.0), times=1000)
    assert made.in_use[2] == pytest.approx(2.0 * 0.35 + MARGIN * TORQUE)
    assert made.in_use[3] == pytest.approx(0.15)


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(*[numbers] * 8), max_size=20))
def test_whatever_comes_the_friction_in_use_is_that_of_a_robot(estimates):
    made = adaptation()
    for estimate in estimates:
        made.judge(estimate[:4], estimate[4:], 0.2)
        assert all(0.0 <= value <= 2.0 * TORQUE for value in made.in_use)


def test_laws_keep_what_no_estimate_tells():
    known = FrictionLaw(
        viscous=0.05, coulomb=0.3, coulomb_backward=0.5, static=0.6, stribeck_velocity=0.2
    )
    plain = FrictionLaw(viscous=0.05, coulomb=0.2)
    assert friction_values((known, plain)) == (0.05, 0.05, 0.4, 0.2)
    left, right = friction_laws((known, plain), (0.1, 0.0, 0.5, 0.1))
    assert (left.viscous, left.coulomb, left.coulomb_backward) == pytest.approx((0.1, 0.4, 0.6))
    assert left.static == pytest.approx(0.7) and left.stribeck_velocity == 0.2
    assert (right.viscous, right.coulomb, right.static) == (0.0, 0.1, None)


def test_friction_of_geared_wheels_is_not_adapted():
    """What the gears lose is in every live estimate, and would count twice."""
    plain = FrictionLaw(viscous=0.05, coulomb=0.2)
    assert is_adaptable((plain, plain))
    assert not is_adaptable((plain, FrictionLaw(viscous=0.05, coulomb=0.2, gear_loss=0.1)))


def written(folder, **friction):
    path = folder / "parameters.yaml"
    content = {"k5": 0.0, "k6": 0.0, "k7": 1.0, "k8": -1.0, **friction}
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": content}}))
    return str(path)


def test_a_file_s_friction_is_read_and_what_is_not_identified_left_out(tmp_path):
    entries = {
        "viscous_left": {"value": 0.05, "variance": 1e-6, "unit": "N m s/rad"},
        "viscous_right": {"value": 0.02, "variance": math.inf, "unit": "N m s/rad"},
        "coulomb_left": {"value": -0.001, "variance": 1e-4, "unit": "N m"},
    }
    assert DynamicsFile(written(tmp_path, friction=entries)).friction() == (0.05, None, 0.0, None)
    assert DynamicsFile(written(tmp_path)).friction() == (None,) * 4


def test_gear_losses_of_a_file_are_read_and_without_them_its_friction_includes_them(tmp_path):
    losses = {
        "gear_loss_left": {"value": 0.12, "variance": 1e-6},
        "gear_loss_right": {"value": -0.001, "variance": 1e-6},
    }
    assert DynamicsFile(written(tmp_path, friction=losses)).gear_loss() == (0.12, 0.0)
    assert DynamicsFile(written(tmp_path, friction={"coulomb_left": 0.1})).gear_loss() == (0.0, 0.0)
    assert DynamicsFile(written(tmp_path)).gear_loss() is None
    with pytest.raises(ValueError, match="friction gear_loss_left = 1: must be < 1"):
        DynamicsFile(written(tmp_path, friction={"gear_loss_left": 1.0})).gear_loss()


def test_resistance_against_turning_comes_from_the_file_of_an_identification(tmp_path):
    floor = {
        "turning_viscous": {"value": -0.01, "std": 0.02},
        "turning_coulomb": {"value": 3.5, "std": 0.1},
    }
    assert DynamicsFile(written(tmp_path, turning=floor)).turning() == (0.0, 3.5)
    assert DynamicsFile(written(tmp_path)).turning() == (None, None)
    floor["turning_coulomb"]["value"] = -3.5
    with pytest.raises(ValueError, match="turning turning_coulomb = -3.5: must be >= 0"):
        DynamicsFile(written(tmp_path, turning=floor)).turning()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"value": -0.3, "variance": 1e-6}, "coulomb_left = -0.3: must be >= 0"),
        ({"value": "much"}, "must be a number"),
        ({"value": math.inf}, "must be finite"),
    ],
)
def test_a_file_s_friction_that_no_wheel_has_is_refused(tmp_path, entry, reason):
    with pytest.raises(ValueError, match=reason):
        DynamicsFile(written(tmp_path, friction={"coulomb_left": entry})).friction()


def test_what_a_run_before_had_in_use_is_begun_with_inside_the_band():
    made = FrictionAdaptation(NOMINAL, TORQUE, SPEED, start=(0.055, None, 100.0, 0.0))
    left, right, coulomb_left, coulomb_right = made.in_use
    assert (left, right) == (0.055, NOMINAL[1])
    assert NOMINAL[2] < coulomb_left < 100.0 and 0.0 < coulomb_right < NOMINAL[3]


def test_an_estimate_without_friction_that_is_said_again_is_the_same():
    """In lock-step the estimator says its last ones again; judged twice they would start anew."""
    message = msg.DynamicParameters()
    message.friction[:] = (math.nan,) * 4
    message.friction_variance[:] = (math.inf,) * 4
    assert estimate_of(message) == estimate_of(message)


def test_the_delay_of_a_file_is_in_seconds(tmp_path):
    assert (
        DynamicsFile(written(tmp_path, torque_delay=2.0, control_period=0.02)).torque_delay()
        == 0.04
    )
    for unknown in ({}, {"torque_delay": 2.0}, {"torque_delay": math.nan, "control_period": 0.02}):
        assert DynamicsFile(written(tmp_path, **unknown)).torque_delay() is None


@pytest.mark.parametrize("delay", [-1.0, 60.0, math.inf, "long"])
def test_a_file_s_delay_that_cannot_be_predicted_over_is_refused(tmp_path, delay):
    with pytest.raises(ValueError, match="torque_delay .*= .*: must be"):
        DynamicsFile(written(tmp_path, torque_delay=delay, control_period=0.01)).torque_delay()
