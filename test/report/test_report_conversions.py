"""Messages of the ident node as samples of the report, filled in and not."""

import math

import numpy as np
import pytest

messages = pytest.importorskip("diffbot_msgs.msg")

from diffbot_report import friction_quantities, parameter_quantities  # noqa: E402
from diffbot_report.ident_report_node import (  # noqa: E402
    parameter_sample,
    status_sample,
    verification_sample,
)

K = (0.08, -3.8, 2.6, -16.0)
DynamicParameters = messages.DynamicParameters


def estimate(**fields):
    message = DynamicParameters(state=DynamicParameters.ESTIMATED, **fields)
    message.k5, message.k6, message.k7, message.k8 = K
    return message


def test_all_fields_of_an_estimate():
    message = estimate(verification=DynamicParameters.REFUTED, torque_delay=2.0)
    message.covariance_diagonal[:] = [math.inf, 1.0, 2.0, 3.0]
    message.covariance[:] = np.arange(16.0)
    message.friction[:] = [0.1, 0.2, 0.3, 0.4]
    message.friction_variance[:] = [1.0, 2.0, math.inf, 4.0]
    message.parameter_state[:] = [0, 1, 1, 2]
    message.parameter_reason = ["on the axle", "", "", "wrong sign"]
    message.warnings = ["odd"]
    message.coverage[:] = [0.1, 0.2, 0.3, 0.4]
    message.residual_correlation[:] = [0.5, math.nan]
    sample = parameter_sample(message)
    assert sample.values == K
    assert np.array_equal(sample.covariance_matrix(), np.arange(16.0).reshape(4, 4))
    assert (sample.friction, sample.friction_variances[2]) == ((0.1, 0.2, 0.3, 0.4), math.inf)
    assert sample.states == ("unestimated", "estimated", "estimated", "invalid")
    assert (sample.reasons[0], sample.warnings) == ("on the axle", ("odd",))
    assert (sample.verification, sample.torque_delay) == ("refuted", 2.0)
    assert sample.coverage == (0.1, 0.2, 0.3, 0.4)
    assert sample.residual_correlation[0] == 0.5 and math.isnan(sample.residual_correlation[1])
    k5, k6, _, k8 = parameter_quantities(sample)
    assert (k5.std, k5.reason, k6.std, k8.state) == (None, "on the axle", 1.0, "invalid")


def test_what_nobody_filled_in_is_unknown():
    """As in ground_truth/dynamic_parameters: K5..K8 and no more."""
    sample = parameter_sample(estimate())
    assert (sample.covariance, sample.states, sample.friction, sample.coverage) == (None,) * 4
    assert sample.verification == "not_verified"
    assert friction_quantities(sample) == {}
    assert all(quantity.state == "estimated" for quantity in parameter_quantities(sample))


def test_friction_that_is_not_modelled():
    message = estimate()
    message.friction[:] = [math.nan] * 4
    assert parameter_sample(message).friction is None


def test_status():
    message = messages.IdentStatus(phase=messages.IdentStatus.VERIFYING, information=3.0)
    message.pose[:] = [1.0, -2.0, 0.5]
    message.arena[:] = [3.0, 2.0]
    message.predicted_information = math.nan
    sample = status_sample(message)
    assert (sample.phase, sample.position, sample.arena) == ("verifying", (1.0, -2.0), (3.0, 2.0))
    assert sample.information[0] == 3.0 and math.isnan(sample.information[1])
    assert status_sample(messages.IdentStatus()).arena is None


def test_verification_keeps_models_apart():
    message = messages.Verification(passed=False, reason="worse", duration=9.0, horizon=2.0)
    names = [
        "one_step", "one_step_nominal", "one_step_no_model",
        "horizon_error", "horizon_nominal", "horizon_no_model",
    ]  # fmt: skip
    for number, name in enumerate(names):
        getattr(message, name)[:] = [number, 10.0 + number]
    sample = verification_sample(message)
    assert (sample.passed, sample.reason, sample.duration, sample.horizon) == (
        False, "worse", 9.0, 2.0,
    )  # fmt: skip
    found = [
        errors[0]
        for group in (sample.one_step, sample.at_horizon)
        for errors in (group.identified, group.nominal, group.no_model)
    ]
    assert found == [0, 1, 2, 3, 4, 5]
    assert sample.at_horizon.no_model == (5.0, 15.0)
