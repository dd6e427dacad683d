# SPDX-License-Identifier: Apache-2.0
"""The table of benchmarks/adaptation.py, one seed of it: what adaptation is for, and what it costs.

The whole table has 30 seeds; here a figure of 8 of 20 s is driven with seed 7, and errors are taken
over half of it before a load, and over half from 12 s after it on. A law that learns nothing needs
no more than a few seconds to settle with the load.
"""

import math
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from diffbot_controllers import tuned_backstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import load_robot
from diffbot_description.robot import Friction
from diffbot_ident.estimators import LiveSettings
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import PayloadSchedule, SlopedFloor, payload_from_text
from diffbot_study.driving import LiveAdaptation, simulate_drive
from pose2d_trajectories import make_trajectory

LOAD_TIME, RECOVERY, HALF = 20.0, 12.0, 10.0
# Of a run without adaptation, of which only the errors with the load count: at the same places.
SETTLED_LOAD, SETTLED = 2.0, 10.0
TWIL = load_robot("twil")


def drive(
    adaptive,
    robot=TWIL,
    reported=TWIL,
    spread=LiveSettings.friction_spread,
    slope=0.0,
    times=(LOAD_TIME, RECOVERY),
):
    """Errors before and after a load, mm and mrad; and the parameters in use, over the truth.

    Args:
        adaptive: whether the law follows live estimates.
        robot: that is driven.
        told: what law and estimator know of it.
        spread: how well the estimator takes its friction to be known.
        slope: of the floor, degrees.
        times: of the load, and from it to the errors with it, s.
    """
    load_time, recovery = times
    eight = make_trajectory("figure_eight", period=2.0 * HALF, ramp_up=0.0)
    with closing(make_simulator("ideal", robot)) as engine:
        nominal, limits = engine.parameters(), robot.limits
        speeds = limits.linear_velocity, limits.angular_velocity
        wheels = None if robot is TWIL else KnownWheels.of(reported)
        law = tuned_backstepping(
            nominal, limits.traction, *speeds, mean_velocity=True, wheels=wheels
        )
        schedule = PayloadSchedule(payload_from_text("50%", robot), load_time)

        def put_on(sample):
            schedule.apply(engine, sample.stamp)

        settings = LiveSettings(friction_spread=spread)
        live = LiveAdaptation(reported, nominal, law, put_on, settings) if adaptive else put_on
        first = eight.at(0.0)
        run = simulate_drive(
            engine,
            robot,
            law,
            eight.at,
            load_time + recovery + HALF,
            start=(first.x + 0.1, first.y - 0.1, first.theta),
            encoder_counts=4096,
            torque_noise=0.01,
            seed=7,
            on_sample=live,
            floor=SlopedFloor(robot, slope, downhill=30.0),
        )
        used, true = law.dynamics, engine.parameters()
    results = []
    for begin in (max(load_time - HALF, 0.0), load_time + recovery):
        inside = (run.time >= begin) & (run.time < begin + HALF)
        x, y, heading = run.true.error[inside].T
        results.append(
            (1e3 * math.sqrt(np.mean(x * x + y * y)), 1e3 * np.sqrt(np.mean(heading**2)))
        )
    shares = [getattr(used, name) / getattr(true, name) for name in ("k5", "k6", "k7", "k8")]
    return np.array(results[0]), np.array(results[1]), np.array(shares)


def test_adaptation_takes_the_tracking_back_to_what_it_was():
    fixed_before, fixed_after, _ = drive(adaptive=False)
    assert (fixed_after > 1.5 * fixed_before).all()
    before, after, shares = drive(adaptive=True)
    # Without a load the estimates' noise costs next to nothing; the position is that of odometry,
    # whose drift differs from run to run.
    assert before[0] < 1.3 * fixed_before[0] and before[1] < 1.1 * fixed_before[1]
    assert (after < 1.2 * before).all()
    assert shares[:2] == pytest.approx(1.0, abs=0.05) and shares[2:] == pytest.approx(1.0, abs=0.02)


def test_a_load_is_learnt_on_a_slope():
    """Without the slope in the fit K8 in use was off by 61 %, K5 by 32 %."""
    slope = 2.0
    fixed = drive(False, slope=slope, times=(SETTLED_LOAD, SETTLED))[1]
    _, after, shares = drive(True, slope=slope)
    assert shares[:2] == pytest.approx(1.0, abs=0.05) and shares[2:] == pytest.approx(1.0, abs=0.02)
    assert (after < fixed).all()


@pytest.mark.parametrize(("misjudged", "spread"), [(1.1, 0.1), (0.0, 0.1)])
def test_a_load_is_learnt_on_a_robot_with_friction(misjudged, spread):
    """Friction is a torque and stays; a load makes less of it, as of the motors' torque.

    Told 10 % too large, and not at all, as of a robot made of a URDF. With K7 times
    friction taken for known K7 stayed 30 to 50 % too large on robots drawn at random
    (benchmarks/adaptation.py --random); with none taken for known it fell to a fifth.
    """
    before = with_coulomb(0.15)
    reported = with_coulomb(0.15 * misjudged)
    fixed = drive(False, before, reported, times=(SETTLED_LOAD, SETTLED))[1]
    _, after, shares = drive(True, before, reported, spread)
    assert shares[2:] == pytest.approx(1.0, abs=0.04)
    assert (after < 0.6 * fixed).all()


def with_coulomb(torque):
    """Twil with Coulomb friction of both wheels, N m."""
    return replace(TWIL, friction=Friction(viscous=(0.0, 0.0), coulomb=(torque, torque)))
