# SPDX-License-Identifier: Apache-2.0
"""Runs in Gazebo repeat bit for bit, whatever else goes on."""

import os
import subprocess
import time
from contextlib import ExitStack, closing

import numpy as np
import pytest
from gazebo_helpers import gentle, state

from diffbot_sim.engines.gazebo_engine import GazeboSimulator


def begin(robot, seed=3):
    sim = GazeboSimulator(robot, seed=seed)
    sim.reset((1.0, 2.0, 0.5))
    return sim


def go_on(sim, robot, first, last):
    """States after each period; a payload comes on and off on the way."""
    for k in range(first, last):
        if k == 40:
            sim.set_payload(0.2 * robot.body.mass, 0.1, 0.05, 0.01)
        if k == 70:
            sim.set_payload(0.0, 0.0, 0.0, 0.0)
        sim.step(gentle(robot.limits.traction, k), 0.01)
        yield state(sim)


@pytest.fixture(scope="module")
def alone(gazebo, robot):
    """The states of a run of 1 s with nothing beside it."""
    with closing(begin(robot)) as sim:
        return np.array(list(go_on(sim, robot, 0, 100)))


def test_two_servers_side_by_side_give_the_digits_of_one_alone(alone, robot):
    with ExitStack() as stack:
        sims = [stack.enter_context(closing(begin(robot))) for _ in range(2)]
        runs = [go_on(sim, robot, 0, 100) for sim in sims]
        states = []
        for pair in zip(*runs, strict=True):
            states.append(pair)
            # Wall time between the steps does not count.
            if len(states) % 20 == 0:
                time.sleep(0.03)
    states = np.array(states)
    assert np.abs(alone[-1]).min() > 1e-3
    assert np.array_equal(states[:, 0], alone)
    assert np.array_equal(states[:, 1], alone)


def test_servers_side_by_side_do_not_hear_each_other(gazebo, twil):
    """One drives and ends; the other neither moves nor stops."""
    with closing(begin(twil)) as still, closing(begin(twil)) as driven:
        at_rest = state(still)
        for k in range(20):
            driven.step(gentle(1.0, k), 0.01)
        assert driven.velocity()[0] > 0.01
        assert np.array_equal(state(still), at_rest)
        driven.close()
        still.step((0.1, 0.1), 0.01)
        assert still.velocity()[0] > 0.0


def press_button(sim, pause):
    """As in Gazebo's window: the same message from another process; returns the process."""
    server = sim._server
    program = server._installation.program("gz")
    words = [program, "world", "--world-name", "diffbot", "--pause", str(pause)]
    own = {name: value for name, value in server._variables.items() if value is not None}
    return subprocess.Popen(words, env={**os.environ, **own}, stdout=subprocess.DEVNULL)


def long_step(sim, k):
    """A second forth or back, 30 ms of wall time."""
    torque = 0.02 if k % 2 else -0.02
    sim.step((torque, 0.5 * torque), 1.0)
    return state(sim)


def test_a_pause_from_outside_waits_for_the_step_and_changes_no_digit(gazebo, twil):
    """The button is pressed while steps run without a break, so in the middle of one."""
    with closing(begin(twil)) as sim:
        button = press_button(sim, 1)
        states, end = [], time.monotonic() + 60.0
        while not sim.paused:
            assert time.monotonic() < end, "no pause came"
            states.append(long_step(sim, len(states)))
        assert button.wait(20.0) == 0
        time.sleep(0.1)
        assert sim.paused and np.array_equal(state(sim), states[-1])
        assert press_button(sim, 0).wait(20.0) == 0
        while sim.paused:
            assert time.monotonic() < end, "it did not go on"
        for _ in range(5):
            states.append(long_step(sim, len(states)))
    with closing(begin(twil)) as sim:
        alone = [long_step(sim, k) for k in range(len(states))]
    assert np.array_equal(states, alone)


def test_a_pause_keeps_no_request_back(gazebo, twil):
    """A payload while time stands still, and a step that came just as the pause began."""
    with closing(begin(twil)) as sim:
        sim.paused = True
        assert sim.paused
        sim.set_payload(1.0, 0.1, 0.05, 0.01)
        assert sim.paused
        sim.step((0.1, 0.1), 0.01)
        assert sim.paused
        assert sim.velocity()[0] == pytest.approx(0.2 * sim.parameters().k7 * 0.01, rel=0.02)
