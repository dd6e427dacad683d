# SPDX-License-Identifier: Apache-2.0
"""A load from its text, and at its time."""

import pytest

from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Payload, PayloadSchedule, payload_from_text

TWIL = load_robot("twil")


@pytest.mark.parametrize("text", ["none", "", " none "])
def test_none_is_no_load(text):
    assert payload_from_text(text, TWIL) is None


@pytest.mark.parametrize("text", ["2.5,0.01,0.05,0.06", " 2.5 0.01, 0.05 0.06 "])
def test_four_numbers(text):
    assert payload_from_text(text, TWIL) == Payload(2.5, 0.01, 0.05, 0.06)


@pytest.mark.parametrize(
    "text", ["1,2,3", "a,b,c,d", "1,2,3,nan", "-1,0,0,0", "0,0,0,1", "x%", "-5%"]
)
def test_a_wrong_text_is_named_with_an_example(text):
    with pytest.raises(ValueError, match="payload = .*50%"):
        payload_from_text(text, TWIL)


def test_a_load_that_tips_the_robot_is_refused_before_the_run():
    for x in (0.5, -0.5):
        with pytest.raises(ValueError, match=rf"payload = .*20 kg at x = {x} m .* tip over; bring"):
            payload_from_text(f"20,{x},0.1,0.1", TWIL)


@pytest.mark.parametrize("name", ["twil", "agv"])
@pytest.mark.parametrize("engine", ["ideal", "mujoco"])
def test_a_share_divides_all_parameters(name, engine):
    robot = load_robot(name)
    simulator = make_simulator(engine, robot)
    before = simulator.parameters()
    simulator.set_payload(*payload_from_text("50%", robot))
    after = simulator.parameters()
    for field in ("k5", "k6", "k7", "k8"):
        assert getattr(after, field) == pytest.approx(getattr(before, field) / 1.5, rel=1e-9)


def test_it_is_put_on_once_at_its_time():
    simulator = make_simulator("ideal", TWIL)
    bare = simulator.parameters().k7
    schedule = PayloadSchedule(Payload(2.0, 0.0, 0.0, 0.0), 0.3)
    put_on = [schedule.apply(simulator, 0.01 * k) for k in range(60)]
    assert [k for k, done in enumerate(put_on) if done] == [30]
    assert simulator.parameters().k7 < bare
    assert not PayloadSchedule(Payload(2.0, 0.0, 0.0, 0.0), -1.0).apply(simulator, 5.0)
