# SPDX-License-Identifier: Apache-2.0
"""The closed form of K5 to K8 against a numerical multibody that does not know it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planar_multibody import accelerations
from strict_urdf import model_of

from diffbot_description import RobotModel, closed_form, load_robot, urdf

RELATIVE = 1e-9


def number(low, high):
    """A finite float of ordinary size (no subnormal numbers, which only lose digits)."""
    return st.floats(low, high, allow_subnormal=False)


MODELS = st.builds(
    RobotModel,
    wheel_radius=number(0.01, 0.5),
    half_track=number(0.03, 1.0),
    mass_body=number(0.1, 500),
    inertia_body=number(1e-4, 100),
    com_offset=number(-0.5, 0.5),
    wheel_mass=number(0.01, 20),
    wheel_inertia_spin=number(1e-6, 1),
    wheel_inertia_yaw=number(1e-6, 1),
)
PAIRS = st.tuples(number(-5, 5), number(-5, 5))


def assert_same_motion(model, theta, velocity, torque):
    k = closed_form(model)
    (v, w), (left, right) = velocity, torque
    terms_v = [k.k5 * w**2, k.k7 * left, k.k7 * right]
    terms_w = [k.k6 * v * w, k.k8 * left, -k.k8 * right]
    result = accelerations(model, theta, velocity, torque)
    # Relative to the largest term, as the terms may cancel; the absolute part is for all-zero.
    assert abs(sum(terms_v) - result[0]) <= RELATIVE * max(map(abs, terms_v)) + 1e-12
    assert abs(sum(terms_w) - result[1]) <= RELATIVE * max(map(abs, terms_w)) + 1e-12


@given(model=MODELS, theta=number(-3, 3), velocity=PAIRS, torque=PAIRS)
def test_closed_form_is_the_motion_of_the_multibody(model, theta, velocity, torque):
    assert_same_motion(model, theta, velocity, torque)


@given(
    model=MODELS,
    payload=st.tuples(number(0, 50), number(-0.5, 0.5), number(0, 5)),
    velocity=PAIRS,
    torque=PAIRS,
)
def test_payload_moves_with_the_body(model, payload, velocity, torque):
    loaded = model.with_payload(*payload)
    assert_same_motion(loaded, 0.3, velocity, torque)
    mass, x, inertia = payload
    assert loaded.mass_body == pytest.approx(model.mass_body + mass)
    # About the axle's midpoint, payloads simply add.
    expected = model.equivalent_inertia + inertia + mass * x**2
    assert loaded.equivalent_inertia == pytest.approx(expected, rel=1e-9)


@given(model=MODELS)
def test_parameters_obey_energy_and_geometry(model):
    k = closed_form(model)
    mass, inertia, b = model.equivalent_mass, model.equivalent_inertia, model.half_track
    assert k.k5 * k.k6 <= 0
    assert k.k7 > 0 > k.k8
    assert k.k5 * k.k8 == pytest.approx(b * k.k6 * k.k7, rel=1e-12, abs=1e-300)
    assert mass * k.k5 + inertia * k.k6 == pytest.approx(0, abs=1e-12 * mass * abs(k.k5) + 1e-300)


@pytest.mark.parametrize("name", ["twil", "agv"])
def test_robots_of_the_package_move_like_the_multibody(name):
    model = model_of(urdf(load_robot(name)))
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert_same_motion(model, rng.uniform(-3, 3), rng.uniform(-2, 2, 2), rng.uniform(-5, 5, 2))


def test_twil_has_the_magnitudes_of_the_2018_paper():
    """Its masses were chosen for this; the figures are rounded to the digits printed there."""
    k = closed_form(model_of(urdf(load_robot("twil"))))
    assert round(k.k5, 5) == 0.08444
    assert round(k.k6, 4) == -3.7706
    assert round(k.k7, 4) == 2.6468
    assert round(k.k8, 3) == -16.084


def test_agv_is_a_carrier_of_50_kg():
    robot = load_robot("agv")
    k = closed_form(model_of(urdf(robot)))
    assert [k.k5, k.k6, k.k7, k.k8] == pytest.approx([0.0865, -1.0, 0.192, -0.556], rel=5e-3)
    assert robot.body.mass + 2 * robot.wheels.mass == pytest.approx(50, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1.0, 0.0, 0.0), r"payload mass = -1\.0 must be finite and at least 0"),
        ((1.0, float("nan"), 0.0), r"payload x = nan m must be finite"),
        ((1.0, 0.0, -0.1), r"payload yaw_inertia = -0\.1"),
    ],
)
def test_impossible_payload_is_refused(arguments, message):
    model = RobotModel(0.1, 0.2, 10, 1, 0.1, 1, 0.01, 0.01)
    with pytest.raises(ValueError, match=message):
        model.with_payload(*arguments)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_model_is_refused(value):
    with pytest.raises(ValueError, match=r"half_track = .* must be finite and above 0"):
        RobotModel(0.1, value, 10, 1, 0.1, 1, 0.01, 0.01)
