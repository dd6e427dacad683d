# SPDX-License-Identifier: Apache-2.0
"""The files of an identification: read back by YAML, by ROS and by load_robot."""

import math
import re

import numpy as np
import pytest
import yaml

from diffbot_description import closed_form, load_robot
from diffbot_ident.estimate import Estimate, EstimateState, FrictionEstimate
from diffbot_ident.parameter_writer import estimate_physical, export_results, usable_friction
from diffbot_ident.verification import Verification, VerificationState

TWIL = load_robot("twil")
K = closed_form(TWIL.model)
GOOD, BAD = EstimateState.ESTIMATED, EstimateState.UNESTIMATED
WORDS = {"date": "2026-11-21T12:00:00+00:00", "version": "0.1.0", "seconds": 60.0}


def estimate(values=None, unknown=(), state=GOOD, friction=None, warnings=()):
    values = values or (0.95 * K.k5, 0.95 * K.k6, 0.98 * K.k7, 0.98 * K.k8)
    states = tuple(BAD if i in unknown else GOOD for i in range(4))
    reasons = tuple("too little yaw rate" if i in unknown else "" for i in range(4))
    covariance = np.diag((0.01 * np.array(values)) ** 2)
    return Estimate(
        tuple(values), tuple(map(tuple, covariance.tolist())), states, reasons, state, samples=6000,
        residual_std=(0.02, 0.1), warnings=warnings, residual_correlation=(0.03, -0.04),
        coverage=(1.0, 0.9, 1.0, 1.0), delay=1.0, friction=friction,
    )  # fmt: skip


def section(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["/**"]["ros__parameters"]


FRICTION = FrictionEstimate((0.01, -1e-4, 0.02, 0.03), (1e-8, 1e-6, 1e-8, math.inf))


def test_all_files(tmp_path):
    verification = Verification(
        VerificationState.VERIFIED, "", duration=np.float64(10.0), horizon=2,
        one_step=(np.float64(0.01), 0.02), one_step_no_model=(0.1, 0.2),
        one_step_nominal=(math.nan, math.nan), horizon_error=(0.01, 0.02),
        horizon_no_model=(0.3, 0.4), horizon_nominal=(math.nan, math.nan),
    )  # fmt: skip
    result = estimate(friction=FRICTION, warnings=("odd: 1",))
    export = export_results(tmp_path, TWIL, result, **WORDS, verification=verification)
    names = ["dynamic_parameters.yaml", "twil_identified.yaml", "identified_inertial.xacro"]
    assert [path.name for path in export.paths] == names
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert export.refusal is None
    read = section(export.paths[0])
    assert [read[k] for k in ("k5", "k6", "k7", "k8")] == list(result.values)
    assert read["covariance_diagonal"] == list(result.variances)
    assert np.reshape(read["covariance"], (4, 4)) == pytest.approx(np.array(result.covariance))
    assert (read["state"], read["robot"], read["torque_delay"]) == ("estimated", "twil", 1.0)
    assert read["friction"]["viscous_left"] == {
        "value": 0.01, "variance": 1e-8, "unit": "N m s/rad",
    }  # fmt: skip
    assert read["friction"]["coulomb_right"]["variance"] == math.inf
    mass = estimate_physical(result, TWIL)["equivalent_mass"]
    assert read["physical"]["equivalent_mass"]["interval95"] == list(mass.interval)
    assert read["verification"]["one_step"] == [0.01, 0.02]
    patched = load_robot(export.paths[1])
    k = closed_form(patched.model)
    assert [k.k5, k.k7, k.k8] == pytest.approx([result.values[i] for i in (0, 2, 3)], rel=1e-12)
    # Within its interval of 0 it is none; what was not found stays as described.
    assert patched.friction.viscous == (0.01, 0.0)
    assert patched.friction.coulomb == (0.02, TWIL.friction.coulomb[1])
    for path in export.paths[1:]:
        text = path.read_text(encoding="utf-8")
        assert f"equivalent mass: {mass.value:.5g} [{mass.interval[0]:.5g}, " in text
        assert "Coulomb friction, right wheel: not identifiable" in text


def test_a_folder_may_be_given_as_text(tmp_path):
    files = export_results(str(tmp_path), TWIL, estimate(), **WORDS).paths
    assert all(file.parent == tmp_path and file.exists() for file in files)


def test_ros_reads_the_file_with_infinite_and_missing_numbers(tmp_path):
    rclpy = pytest.importorskip("rclpy")
    from rclpy.context import Context

    result = estimate(unknown=(0, 1), friction=FRICTION)
    path = export_results(tmp_path, TWIL, result, **WORDS).paths[0]
    context = Context()
    rclpy.init(args=["--ros-args", "--params-file", str(path)], context=context)
    node = rclpy.create_node(
        "reader", context=context, automatically_declare_parameters_from_overrides=True
    )
    try:
        assert node.get_parameter("k7").value == result.values[2]
        assert list(node.get_parameter("covariance_diagonal").value)[:2] == [math.inf, math.inf]
        reasons = list(node.get_parameter("parameter_reasons").value)
        assert reasons == ["too little yaw rate"] * 2 + ["", ""]
        value = node.get_parameter("physical.com_offset.value").value
        assert math.isnan(value)
        assert node.get_parameter("friction.viscous_left.value").value == 0.01
        assert node.get_parameter("verification.state").value == "not_verified"
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


@pytest.mark.parametrize(
    ("k5", "k8", "offset"),
    # The same yaw inertia with the centre of mass on the axle would be more than a solid body has.
    [
        (K.k5 * 1.005, K.k8, "its described value is kept"),
        (1e-4, 1.4 * K.k8, "assumed to be on the axle"),
    ],
)
def test_unidentifiable_centre_of_mass(tmp_path, k5, k8, offset):
    result = estimate((k5, K.k6, K.k7, k8), unknown=(0, 1))
    export = export_results(tmp_path, TWIL, result, **WORDS)
    assert export.refusal is None
    x = load_robot(export.paths[1]).body.center_of_mass.x
    expected = TWIL.body.center_of_mass.x if "described" in offset else 0.0
    assert x == pytest.approx(expected)
    assert offset in export.paths[1].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("result", "refusal"),
    [
        (estimate(state=BAD), "the parameters are unestimated"),
        (estimate((K.k5, K.k6, 10 * K.k7, K.k8)), "equivalent mass is 0.5037 kg"),
        (estimate((K.k5, K.k6, K.k7, 9 * K.k8)), "equivalent yaw inertia is 0.01253 kg m^2"),
    ],
)
def test_no_patch_of_what_no_robot_can_have(tmp_path, result, refusal):
    export = export_results(tmp_path, TWIL, result, **WORDS)
    assert refusal in export.refusal
    assert not re.search(r"\.\d{9}", export.refusal)
    assert [path.name for path in tmp_path.iterdir()] == ["dynamic_parameters.yaml"]


def test_negative_friction():
    assert usable_friction(None, TWIL) == (None,) * 4
    significant = (1e-10,) * 4
    # 5 % of 0.4 N m, and at 1 m/s / 0.075 m = 13.3 rad/s.
    slight = FrictionEstimate((-0.0014, 0.01, -0.019, 0.0), significant)
    assert usable_friction(slight, TWIL) == (0.0, 0.01, 0.0, 0.0)
    wrong = FrictionEstimate((-0.0016, 0.01, -0.021, 0.0), significant)
    assert usable_friction(wrong, TWIL) == wrong.values


def test_surely_negative_friction_is_refused(tmp_path):
    result = estimate(friction=FrictionEstimate((-0.1, 0.0, 0.0, 0.0), (1e-10,) * 4))
    export = export_results(tmp_path, TWIL, result, **WORDS)
    assert "friction.viscous[0] = -0.1 N m s/rad must be at least 0" in export.refusal
