# SPDX-License-Identifier: Apache-2.0
"""What a browser sends to the guide is the name of a button and data; nothing else is done."""

import json
import time

import pytest

from diffbot_check import start_page
from diffbot_check.robot_numbers import RobotNumbers, form_of
from diffbot_check.start_guide import StartGuide, StartStep, StepOutcome
from diffbot_check.start_page import GuidePage, GuideRequest, parse_request
from diffbot_check.start_run import do_step
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_view.live_values import SPACING
from diffbot_view.server import assemble
from diffbot_view.store import Store

PATIENCE = 20.0
NONSENSE = [
    {"do": "run"},
    {"do": "run", "step": "rm"},
    {"do": "run", "step": ["connect"]},
    {"do": "run", "step": "connect", "command": "rm"},
    {"do": "run", "step": "describe", "answer": 1.0},
    {"do": "run", "step": "describe", "answer": "a\nb"},
    {"do": "run", "step": "describe", "answer": "a" * 301},
    {"do": "skip", "step": "connect", "answer": "x"},
    {"do": "draw"},
    {"do": "draw", "values": []},
    {"do": "leave", "step": "connect"},
]


def numbers(kind="velocity", **changed):
    """Values of the form, as a browser sends them; names with __ for a point."""
    sent = {each["name"]: each["value"] for each in form_of() if each["kind"] in (None, kind)}
    return {"drive.command": kind, **sent, **{k.replace("__", "."): v for k, v in changed.items()}}


@pytest.mark.parametrize("message", NONSENSE, ids=json.dumps)
def test_a_message_that_is_none_of_the_page_is_refused(message):
    with pytest.raises(ValueError, match=r"must be|parts"):
        parse_request(message)


def test_messages_of_the_view_are_left_to_it():
    assert parse_request({"do": "stop"}) is None and parse_request({"do": ["run"]}) is None
    request = parse_request({"do": "run", "step": "room", "answer": " 3x3 "})
    assert request == GuideRequest(start_page.GuideButton.RUN, StartStep.ROOM, "3x3")


@pytest.fixture
def led(tmp_path, monkeypatch):
    """A guide's page without a server, and the commands that it ran."""
    ran = []

    def run(self, words):
        ran.append(words)
        return 0

    monkeypatch.setattr(GuidePage, "_run", run)
    page, store = GuidePage(StartGuide(tmp_path), None), Store(SPACING)
    store.set(pressed=False)
    page.begin(store, lambda robot: None)

    def press(**message):
        handled = store.get("guide")["handled"]
        assert page._take(message)
        end = time.monotonic() + PATIENCE
        while store.get("guide")["handled"] == handled:
            assert time.monotonic() < end
            time.sleep(0.01)
        return store.get("guide")

    yield press, ran, store
    page.close()


def step_of(guide, name):
    return next(each for each in guide["steps"] if each["name"] == name)


def test_a_page_leads_as_the_terminal_does(led, tmp_path):
    press, ran, _ = led
    guide = press(do="run", step="check")
    assert not ran and "describe comes first" in step_of(guide, "check")["said"]
    press(do="run", step="connect")
    guide = press(do="run", step="describe", answer="twil")
    assert guide["next"] == "check" and load_robot(tmp_path / "robot.yaml").name == "twil"
    guide = press(do="run", step="check moving")
    assert "Say first" in guide["said"] and len(ran) == 1
    press(do="run", step="check moving", answer="yes")
    assert ran[-1][-1] == "--yes" and "--moving" in ran[-1]
    guide = press(do="run", step="room", answer="3 by 3")
    assert "3 by 3" in step_of(guide, "room")["said"]
    guide = press(do="run", step="room", answer="3x2")
    assert guide["arena"] == "3x2" and not step_of(guide, "identify")["refusal"]
    guide = press(do="undo", step="room")
    assert guide["arena"] == "" and "room comes first" in step_of(guide, "identify")["refusal"]
    assert press(do="skip", step="check")["next"] == "room"


def test_nothing_moves_while_the_stop_is_pressed(led):
    press, ran, store = led
    press(do="run", step="describe", answer="twil")
    store.set(pressed=True)
    guide = press(do="run", step="check moving", answer="yes")
    assert "release it first" in guide["said"] and not ran


def test_an_answer_is_never_an_option_of_a_command(led):
    press, ran, _ = led
    guide = press(do="run", step="describe", answer="--output=/tmp/x.urdf")
    assert "URDF, xacro or robot file" in step_of(guide, "describe")["said"] and not ran


def test_numbers_are_drawn_and_become_the_file(led, tmp_path):
    press, _, store = led
    press(do="draw", values=numbers(wheels__radius=0.0))
    assert "wheels.radius" in store.get("guide_drawn")["problem"]
    press(do="draw", values=numbers(wheels__radius=0.04))
    assert store.get("guide_drawn") == {"problem": ""} and store.get("robot")["radius"] == 0.04
    press(do="run", step="describe", answer="by hand")
    robot = load_robot(tmp_path / "robot.yaml")
    assert robot.wheels.radius == 0.04 and robot.takes_velocity


def test_a_torque_robot_by_hand_says_what_it_assumes(tmp_path):
    values = numbers("effort", body__mass=7.0, limits__torque=0.8)
    robot = load_robot(RobotNumbers.of(values).written(tmp_path / "mine.yaml"))
    assert robot.drive.command is CommandKind.EFFORT and robot.body.mass == 7.0
    assert robot.limits.torque == 0.8 and "body.inertia.yaw" in robot.assumed
    assert not {"body.mass", "wheels.radius", "limits.torque"} & {*robot.assumed}


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"wheels__radius": None}, "wheels.radius: type a number"),
        ({"wheels__radius": float("inf")}, "wheels.radius: type a number"),
        ({"joints__left": ""}, "joints.left: type the joint's name"),
        ({"name": "x"}, "'name' is no field"),
        ({"drive__command": "rockets"}, "must be one of"),
    ],
)
def test_a_field_that_is_wrong_is_named(changed, what):
    with pytest.raises(ValueError, match=what):
        RobotNumbers.of(numbers(**changed))


def test_undoing_gives_the_file_back(tmp_path):
    guide = StartGuide(tmp_path)
    for name in ("twil", "agv"):
        assert do_step(guide, StartStep.DESCRIBE, name, lambda words: 0).outcome is StepOutcome.DONE
    guide.undone(StartStep.DESCRIBE)
    assert load_robot(guide.robot_file).name == "twil"
    assert guide.state.next_step is StartStep.CONNECT
    assert guide.state.outcome(StartStep.DESCRIBE) is StepOutcome.OPEN
    said = guide.undone(StartStep.DESCRIBE)
    assert not guide.robot_file.exists() and "robot.undone" in said


def test_the_page_permits_only_its_own_script(tmp_path):
    page, policy = assemble(GuidePage(StartGuide(tmp_path), None).addition)
    assert b'id="guide"' in page and b"drawGuide" in page
    assert "default-src 'none'" in policy and "unsafe" not in policy
