# SPDX-License-Identifier: Apache-2.0
"""What a report reads in messages: the ident node's, filled in and not, and the controllers'."""

import math

import numpy as np
import pytest

messages = pytest.importorskip("diffbot_msgs.msg")

from nav_msgs.msg import Odometry  # noqa: E402

from diffbot_ident.estimate import Estimate, EstimateState  # noqa: E402
from diffbot_ident.parameters_message import fill  # noqa: E402
from diffbot_ident.verification import VerificationState  # noqa: E402
from diffbot_report.controller_topics import CONTROLLERS, TRUTH  # noqa: E402
from diffbot_report.messages import (  # noqa: E402
    MessageReader,
    estimate_of,
    gains_of,
    ident_state,
    tells_time,
    verdict_of,
    verification_of,
)
from diffbot_report.quantity import friction_quantities, parameter_quantities  # noqa: E402
from diffbot_report.run_end import RunPhase  # noqa: E402

K = (0.08, -3.8, 2.6, -16.0)
DynamicParameters = messages.DynamicParameters


def estimate(**fields):
    message = DynamicParameters(state=DynamicParameters.ESTIMATED, **fields)
    message.k5, message.k6, message.k7, message.k8 = K
    return message


def test_all_fields_of_an_estimate():
    message = estimate(verification=DynamicParameters.REFUTED, torque_delay=2.0)
    message.covariance_diagonal[:] = [math.inf, 1.0, 2.0, 3.0]
    covariance = np.arange(16.0).reshape(4, 4)
    np.fill_diagonal(covariance, [7.0, 1.0, 2.0, 3.0])
    message.covariance[:] = covariance.ravel()
    message.friction[:] = [0.1, 0.2, 0.3, 0.4]
    message.friction_variance[:] = [1.0, 2.0, math.inf, 4.0]
    message.parameter_state[:] = [0, 1, 1, 2]
    message.parameter_reason = ["on the axle", "", "", "wrong sign"]
    message.warnings = ["odd"]
    message.coverage[:] = [0.1, 0.2, 0.3, 0.4]
    message.residual_correlation[:] = [0.5, math.nan]
    message.slope[:] = [0.02, -1.0]
    result = estimate_of(message)
    assert result.values == K
    assert np.array_equal(result.covariance, covariance)
    assert result.variances == (math.inf, 1.0, 2.0, 3.0)
    friction = result.friction
    assert (friction.values, friction.variances[2]) == ((0.1, 0.2, 0.3, 0.4), math.inf)
    estimated = EstimateState.ESTIMATED
    assert result.parameter_states == (
        EstimateState.UNESTIMATED,
        estimated,
        estimated,
        EstimateState.INVALID,
    )
    assert (result.parameter_reasons[0], result.warnings) == ("on the axle", ("odd",))
    assert (verdict_of(message), result.delay) == (VerificationState.REFUTED, 2.0)
    assert result.coverage == (0.1, 0.2, 0.3, 0.4)
    assert result.slope == (0.02, -1.0)
    assert result.residual_correlation[0] == 0.5 and math.isnan(result.residual_correlation[1])
    k5, k6, _, k8 = parameter_quantities(result)
    assert (k5.std, k5.reason, k6.std, k8.state) == (
        None,
        "on the axle",
        1.0,
        EstimateState.INVALID,
    )


def test_what_nobody_filled_in_is_unknown():
    """As in ground_truth/dynamic_parameters: K5..K8 and no more."""
    message = estimate(covariance_diagonal=[1.0, 2.0, 3.0, 4.0])
    result = estimate_of(message)
    assert np.array_equal(result.covariance, np.diag([1.0, 2.0, 3.0, 4.0]))
    assert result.parameter_states == (EstimateState.ESTIMATED,) * 4
    assert result.friction is None and not any(result.coverage) and result.slope is None
    assert verdict_of(message) is VerificationState.NOT_VERIFIED
    assert friction_quantities(result) == {}
    assert all(
        quantity.state is EstimateState.ESTIMATED for quantity in parameter_quantities(result)
    )


@pytest.mark.parametrize("slope", [(0.02, -1.0), None])
def test_a_slope_is_the_same_after_the_message(slope):
    message = DynamicParameters()
    fill(message, Estimate(slope=slope), 1.0)
    assert estimate_of(message).slope == slope


def test_a_state_that_is_not_known_is_invalid():
    message = estimate()
    message.state = 77
    assert estimate_of(message).state is EstimateState.INVALID


def test_friction_that_is_not_modelled():
    message = estimate()
    message.friction[:] = [math.nan] * 4
    assert estimate_of(message).friction is None


def test_status():
    message = messages.IdentStatus(phase=messages.IdentStatus.VERIFYING, information=3.0)
    message.pose[:] = [1.0, -2.0, 0.5]
    message.arena[:] = [3.0, 2.0]
    message.predicted_information = math.nan
    result = ident_state(message)
    assert (result.phase, result.position, result.heading, result.arena) == (
        RunPhase.VERIFYING, (1.0, -2.0), 0.5, (3.0, 2.0),
    )  # fmt: skip
    assert result.information[0] == 3.0 and math.isnan(result.information[1])
    assert ident_state(messages.IdentStatus()).arena is None


@pytest.mark.parametrize("time", [math.inf, -math.inf, math.nan, 1e300, -1.0])
def test_states_whose_time_is_no_time_of_a_run_are_known(time):
    """A report that took one ended with an OverflowError, and the run with it."""
    for kind in (messages.IdentStatus, messages.ControllerState):
        assert not tells_time(kind(elapsed=time))
        assert tells_time(kind(elapsed=3.0, duration=math.inf))
    assert not tells_time(messages.IdentStatus(duration=math.nan))


def test_verification_keeps_models_apart():
    message = messages.Verification(passed=False, reason="worse", duration=9.0, horizon=2.0)
    names = [
        "one_step", "one_step_nominal", "one_step_no_model",
        "horizon_error", "horizon_nominal", "horizon_no_model",
    ]  # fmt: skip
    for number, name in enumerate(names):
        getattr(message, name)[:] = [number, 10.0 + number]
    verification = verification_of(message)
    assert (verification.passed, verification.reason) == (False, "worse")
    assert (verification.duration, verification.horizon) == (9.0, 2.0)
    assert [getattr(verification, name)[0] for name in names] == [0, 1, 2, 3, 4, 5]
    assert verification.horizon_no_model == (5.0, 15.0)
    assert verification.state is VerificationState.REFUTED
    message.passed = True
    assert verification_of(message).state is VerificationState.VERIFIED


def test_a_motion_that_was_too_short_refutes_nothing():
    message = messages.Verification(passed=False, reason="not decided: too short")
    message.horizon_error[:] = [0.1, math.nan]
    assert verification_of(message).state is VerificationState.NOT_VERIFIED


# The controllers' and the simulators' messages.


@pytest.mark.parametrize("fields", CONTROLLERS.values(), ids=CONTROLLERS)
def test_fields_come_in_order(fields):
    message = getattr(messages, fields.message)()
    message.header.stamp.sec = 7
    target = message if hasattr(message, "command") else message.velocity
    target.command[:] = (1.5, -2.5)
    if fields.reference:
        message.set_point.theta = 0.25
    stamps, rows = MessageReader(fields.names).read([message, message])
    assert stamps.tolist() == [7_000_000_000] * 2
    width = 12 if fields.reference else 6
    assert rows.shape == (2, width + sum(fields.extra.values()))
    assert rows[1, width - 2 : width].tolist() == [1.5, -2.5]
    if fields.reference:
        assert rows[0, 2] == 0.25


def test_stamps_of_a_real_clock_are_exact():
    message = Odometry()
    message.header.stamp.sec, message.header.stamp.nanosec = 1_900_000_000, 123_456_789
    stamps, _ = MessageReader(TRUTH).read([message])
    assert stamps.tolist() == [1_900_000_000_123_456_789]


def test_gains():
    status = messages.BackstepStatus(gammas=[1.0, 2.0], lambdas=[3.0])
    fields = CONTROLLERS["backstep_controller"]
    assert gains_of(status, fields) == {"gamma": [1.0, 2.0], "lambda": [3.0]}
    status = messages.PoseControllerStatus()
    status.velocity.kp = 120.0
    assert gains_of(status, CONTROLLERS["pose_controller"])["kp"] == 120.0
