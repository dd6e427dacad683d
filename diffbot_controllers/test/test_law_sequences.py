# SPDX-License-Identifier: Apache-2.0
"""Laws, feedback and guard together under any sequence of joint samples and references.

What goes out is what ControllerNode would send. Hypothesis draws plans of segments with troubles,
and a seed; each plan becomes hundreds of messages. benchmarks/message_sequences.py sends many more.
"""

import math
from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointSample, Velocity, WheelGeometry
from diffbot_controllers import (
    LinearizingController,
    PublishedBackstepping,
    tuned_backstepping,
    tuned_polar_pose,
)
from diffbot_controllers.adaptation import Adaptation, LiveEstimate
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import WheelFeedback
from diffbot_description import DynamicParameters, FrictionLaw
from diffbot_node.command_guard import CommandGuard, TorqueLimiter
from diffbot_node.state_age import StateAge
from diffbot_node.stop_states import GuardState
from pose2d_trajectories import Reference

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
NOMINAL = DynamicParameters(0.0844, -3.77, 2.647, -16.08)
LIMIT, RATE, INPUT_TIMEOUT = 1.0, 500.0, 0.08
PERIOD, LENGTH = 0.01, 100  # s, messages of a segment
STICKY = FrictionLaw(viscous=0.01, coulomb=0.1, static=0.3, stribeck_velocity=0.5)
WRONG = FrictionLaw(viscous=0.02, coulomb=0.7, coulomb_backward=0.2)
FREE = FrictionLaw(viscous=0.0, coulomb=0.0)
# What laws are told of the wheels: right or not, the encoders' counts are others.
WHEELS = {
    "sticky": KnownWheels(GEOMETRY, (STICKY, STICKY), 5.0, 256),
    "late": KnownWheels(GEOMETRY, (STICKY, FREE), 5.0, 100_000, delay=0.023),
    "wrong": KnownWheels(GEOMETRY, (WRONG, WRONG), 1.0),
}
LAWS = {
    "backstepping": lambda: tuned_backstepping(NOMINAL, LIMIT, mean_velocity=True),
    "polar pose": lambda: tuned_polar_pose(NOMINAL, LIMIT, mean_velocity=True),
    "linearizing": lambda: LinearizingController(NOMINAL, torque_limit=LIMIT, mean_velocity=True),
    "published": lambda: PublishedBackstepping(NOMINAL),
    **{
        f"{make.__name__}, {name}": partial(
            make, NOMINAL, torque_limit=LIMIT, mean_velocity=True, wheels=wheels
        )
        for make in (tuned_backstepping, tuned_polar_pose, LinearizingController)
        for name, wheels in WHEELS.items()
    },
    "published, sticky": lambda: PublishedBackstepping(
        NOMINAL, torque_limit=LIMIT, wheels=WHEELS["sticky"]
    ),
}
# Of angles: no number, absurd, a jump, standing still; of stamps; of references; of estimates.
TROUBLES = (
    *("nan", "infinite", "absurd", "jump", "stuck", "late", "back", "ahead", "twice", "pause"),
    *("nan reference", "huge reference", "far reference", "estimate", "mad estimate"),
)
plans = st.lists(
    st.tuples(
        st.sampled_from(tuple(LAWS)),
        st.sampled_from(TROUBLES),
        st.floats(0.0, 0.2),  # share of messages that it spoils
        st.floats(-30.0, 30.0),  # speeds of the wheels, rad/s
        st.floats(-30.0, 30.0),
    ),
    min_size=1,
    max_size=4,
)


class Aim(Reference):
    """A reference that nobody has checked."""

    def __post_init__(self):
        pass


class Core:
    """A controller node without ROS.

    Attributes:
        count: messages by what became of them.
    """

    def __init__(self):
        self.guard = CommandGuard(TorqueLimiter(LIMIT, RATE))
        self.age = StateAge(INPUT_TIMEOUT)
        self.feedback = WheelFeedback(GEOMETRY, path_noise=1e-6)
        self.adaptation = Adaptation(NOMINAL, GEOMETRY.half_track)
        self.count = Counter()

    def answer(self, law, sample, aim):
        """Take a sample as ControllerNode does; what goes out is checked."""
        before, period = self.guard.command, 0.0
        self.guard.begin()
        self.age.take(sample.stamp, sample.stamp)
        try:
            reading = self.feedback.update(sample, before)
            if reading.state is None:
                law.reset()
                wanted = 0.0, 0.0
            else:
                wanted = law.update(reading.state, aim, reading.dt)
            if self.age.problem:
                raise ValueError(self.age.problem)
            period = self.age.period
            command = self.guard.apply(wanted, period)
        except ValueError as error:
            assert str(error)
            law.reset()
            command = self.guard.hold(str(error))
        for value, last in zip(command, before, strict=True):
            assert math.isfinite(value) and abs(value) <= LIMIT
            assert value == 0.0 or abs(value - last) <= RATE * period + 1e-12
        assert self.guard.state is GuardState.ACTIVE or command == (0.0, 0.0)
        self.count["driven" if command != (0.0, 0.0) else "zero"] += 1

    def adapt(self, law, stamp, random, mad):
        """Offer an estimate; the parameters in use stay inside their band."""
        values = np.array(self.adaptation.in_use) * random.normal(1.0, 0.2, 4)
        variances = (0.01 * values) ** 2
        if mad:
            values = values * random.choice((math.nan, math.inf, -1.0, 1e300, 0.0), 4)
            variances = random.choice((math.nan, -1.0, 0.0, 1e-9), 4)
        self.adaptation.judge(
            LiveEstimate(stamp, tuple(values.tolist()), tuple(variances.tolist()))
        )
        band = self.adaptation.band
        for low, value, high in zip(band.lower, self.adaptation.in_use, band.upper, strict=True):
            assert low <= value <= high
        law.dynamics = self.adaptation.in_use


def random_plan(random):
    """A plan such as Hypothesis draws, from a NumPy generator."""
    return [
        (
            str(random.choice(tuple(LAWS))),
            str(random.choice(TROUBLES)),
            random.uniform(0.0, 0.2),
            *random.uniform(-30.0, 30.0, 2).tolist(),
        )
        for _ in range(3)
    ]


def run(plan, seed):
    """Send a plan's messages; returns the counts of what became of them."""
    random, core = np.random.default_rng(seed), Core()
    laws = {name: make() for name, make in LAWS.items()}
    stamp, angles = 100.0, np.zeros(2)
    for name, trouble, fraction, left, right in plan:
        law = laws[name]
        law.reset()
        steps = PERIOD * (np.array([left, right]) + random.normal(0.0, 1.0, (LENGTH, 2)))
        aims = random.normal(0.0, 1.0, (LENGTH, 7))
        spoiled = random.random(LENGTH) < fraction
        for k in range(LENGTH):
            kind = trouble if spoiled[k] else ""
            stamp += {"back": -50.0, "ahead": 50.0, "late": -0.005, "pause": 0.15}.get(kind, PERIOD)
            angles = angles + (0.0 if kind == "stuck" else steps[k])
            if kind == "jump":
                angles = angles + random.uniform(-1e4, 1e4, 2)
            strange = {"nan": math.nan, "infinite": math.inf, "absurd": 1e300}.get(kind)
            read = tuple(angles.tolist()) if strange is None else (strange, float(angles[1]))
            aim = aims[k] * {"huge reference": 1e200, "far reference": 1e4}.get(kind, 1.0)
            if kind == "nan reference":
                aim[random.integers(7)] = math.nan
            wanted = Aim(*aim.tolist())
            if name.lower().startswith("linearizing"):
                wanted = Velocity(wanted.v, wanted.omega)
            if kind.endswith("estimate"):
                core.adapt(law, stamp, random, kind == "mad estimate")
            sample = JointSample(stamp, read, (0.0, 0.0), (0.0, 0.0))
            for _ in range(2 if kind == "twice" else 1):
                core.answer(law, sample, wanted)
    return core.count


sent = Counter()


@given(plans, st.integers(0, 2**32 - 1))
def test_no_sequence_makes_a_law_command_what_it_must_not(plan, seed):
    sent.update(run(plan, seed))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_after_any_trouble_laws_drive_on(trouble):
    """Not vacuous: with each trouble in one message of ten, most of the others are answered."""
    counts = Counter()
    for name in LAWS:
        counts.update(run([(name, trouble, 0.1, 5.0, 4.0)], 1))
    assert counts["driven"] > 2 * counts["zero"], (trouble, counts)
