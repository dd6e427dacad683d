# SPDX-License-Identifier: Apache-2.0
"""Skid steer in the simulators: a moment against turning, viscous and Coulomb."""

import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

from diffbot_description import closed_form, load_robot
from diffbot_description.loading import share_directory
from diffbot_description.robot import Friction, Turning
from diffbot_sim.engines.ideal import IdealSimulator

TWIL = load_robot("twil")
K = closed_form(TWIL.model)
INERTIA = TWIL.model.equivalent_inertia


GEARS = pytest.mark.parametrize("gear_loss", [(0.0, 0.0), (0.1, 0.3)], ids=["direct", "gears"])


def robot(turning_viscous=0.0, turning_coulomb=0.0, viscous=(0.0, 0.0), coulomb=(0.0, 0.0), **more):
    return replace(
        TWIL,
        turning=Turning(turning_viscous, turning_coulomb),
        friction=Friction(viscous=viscous, coulomb=coulomb, **more),
    )


def mujoco(robot):
    pytest.importorskip("mujoco")
    from diffbot_sim.engines.mujoco_engine import MujocoSimulator

    return MujocoSimulator(robot)


ENGINES = pytest.mark.parametrize(
    ("make", "tolerance"), [(IdealSimulator, 1e-9), (mujoco, 5e-3)], ids=["ideal", "mujoco"]
)


@ENGINES
def test_a_turn_on_the_spot_meets_its_solution_by_hand(make, tolerance, tmp_path):
    """(41) with v' = K5 omega^2 aside: the yaw rate alone, I omega' = M - c omega - f."""
    # No centre of mass ahead of the axle: v stays 0, and the yaw rate is first order.
    data = yaml.safe_load((share_directory() / "config" / "twil.yaml").read_text("utf-8"))
    data["body"]["center_of_mass"]["x"] = 0.0
    data["casters"].append({"x": -0.06, "y": 0.0, "radius": 0.02, "clearance": 0.0})
    data["turning"] = {"viscous": 0.08, "coulomb": 0.12}
    (tmp_path / "robot.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    plain = load_robot(tmp_path / "robot.yaml")
    inertia, k8 = plain.model.equivalent_inertia, closed_form(plain.model).k8
    simulator = make(plain)
    push = k8 * (-0.3 - 0.3) * inertia
    for _ in range(100):
        simulator.step((-0.3, 0.3), 0.01)
    end = (push - 0.12) / 0.08
    expected = end * (1.0 - math.exp(-0.08 / inertia * 1.0))
    assert simulator.velocity()[1] == pytest.approx(expected, rel=tolerance)
    # It coasts to rest, and stays there.
    for _ in range(300):
        simulator.step((0.0, 0.0), 0.01)
    assert simulator.velocity() == pytest.approx((0.0, 0.0), abs=1e-6)


@ENGINES
def test_the_floor_holds_up_to_its_moment_and_lets_the_robot_roll(make, tolerance):
    most = 0.2 / (-2.0 * K.k8 * INERTIA)  # N m of each wheel that the floor holds
    simulator = make(robot(0.0, 0.2))
    for _ in range(50):
        simulator.step((0.1 - 0.9 * most, 0.1 + 0.9 * most), 0.01)
    v, omega = simulator.velocity()
    assert omega == pytest.approx(0.0, abs=1e-6)
    assert v == pytest.approx(2.0 * K.k7 * 0.1 * 0.5, rel=max(tolerance, 1e-9))
    simulator.step((0.1 - 1.2 * most, 0.1 + 1.2 * most), 0.01)
    assert simulator.velocity()[1] > 0.0


def integrated(robot, torques, period):
    """Dense steps of (41) with everything in it, by Euler's method with tiny steps."""
    r, b = TWIL.wheels.radius, TWIL.wheels.half_track
    (cl, cr), (fl, fr) = robot.friction.viscous, robot.friction.coulomb
    gl, gr = robot.friction.gear_loss
    cw, fw = robot.turning.viscous, robot.turning.coulomb
    v = omega = 0.0
    step = period / 4000
    for left, right in torques:
        for _ in range(4000):
            wl, wr = (v - b * omega) / r, (v + b * omega) / r
            tl = left - cl * wl - (fl + gl * abs(left)) * np.sign(wl)
            tr = right - cr * wr - (fr + gr * abs(right)) * np.sign(wr)
            drag = (cw * omega + fw * np.sign(omega)) / INERTIA
            v, omega = (
                v + step * (K.k5 * omega**2 + K.k7 * (tl + tr)),
                omega + step * (K.k6 * v * omega + K.k8 * (tl - tr) - drag),
            )
    return v, omega


@GEARS
def test_with_friction_of_the_wheels_it_meets_dense_integration(gear_loss):
    full = robot(0.05, 0.1, viscous=(0.01, 0.015), coulomb=(0.03, 0.02), gear_loss=gear_loss)
    torques = [(0.5, 0.3), (-0.4, 0.4), (0.2, -0.5)]
    simulator = IdealSimulator(full)
    for torque in torques:
        simulator.step(torque, 0.1)
    assert simulator.velocity() == pytest.approx(integrated(full, torques, 0.1), abs=2e-3)


@GEARS
@pytest.mark.parametrize("seed", range(2))
def test_energy_never_comes_from_friction_and_rest_is_rest(seed, gear_loss):
    rng = np.random.default_rng(seed)
    full = robot(
        rng.uniform(0, 0.1),
        rng.uniform(0, 0.3),
        viscous=tuple(rng.uniform(0, 0.02, 2)),
        coulomb=tuple(rng.uniform(0, 0.05, 2)),
        gear_loss=gear_loss,
    )
    simulator = IdealSimulator(full)
    mass = TWIL.model.equivalent_mass

    def energy():
        v, omega = simulator.velocity()
        return 0.5 * mass * v * v + 0.5 * INERTIA * omega * omega

    before = 0.0
    for i in range(200):
        torque = (0.0, 0.0) if i >= 100 else tuple(rng.uniform(-0.6, 0.6, 2))
        angles = simulator.wheel_angles()
        simulator.step(torque, 0.01)
        turned = np.subtract(simulator.wheel_angles(), angles)
        after = energy()
        assert after <= before + float(np.dot(turned, torque)) + 1e-9
        before = after
    for _ in range(2000):
        simulator.step((0.0, 0.0), 0.01)
    assert simulator.velocity() == (0.0, 0.0)
    # A torque that wheels and floor together withstand moves nothing.
    least = min(full.friction.coulomb) * 0.9
    simulator.step((least, -least), 0.5)
    assert simulator.velocity() == (0.0, 0.0)


def test_the_floor_lets_go_where_the_speed_decides():
    """It holds by a hair until the speed, of wheels with unlike friction, asks for more.

    The acceleration is rounding there, and must neither be taken for a stop nor for a start.
    """
    unlike = (0.01, 0.02)
    full = robot(0.02, 0.1, viscous=unlike)
    r, b = TWIL.wheels.radius, TWIL.wheels.half_track
    # Moments of the viscous frictions grow with v: the limit is met within the drive.
    asked = 0.1 / (b / r) / (unlike[1] - unlike[0]) * r  # m/s
    for push in np.linspace(0.2, 0.6, 9):
        simulator = IdealSimulator(full)
        for _ in range(300):
            simulator.step((push, push), 0.01)
        v, omega = simulator.velocity()
        assert v > asked + 0.05
        assert omega != 0.0
