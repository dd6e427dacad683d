# SPDX-License-Identifier: Apache-2.0
import json
import threading
import urllib.request

import pytest

pytest.importorskip("rosbags")
pytest.importorskip("websockets", minversion="13")

from made_recordings.excited_runs import RunSetting, record
from made_recordings.recorded_bag import write_run

from arc_odometry import DiffOdometry
from diffbot_description import load_robot
from diffbot_view.playback import play, read_recording


@pytest.fixture(scope="module")
def run():
    return record(RunSetting(), 3, 5.0)


@pytest.fixture(scope="module")
def recording(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bag") / "run"
    write_run(folder, run.samples, commands=True)
    return folder


def test_a_recording_shows_the_way_and_the_torques_of_its_wheels(run, recording):
    reported = json.loads(read_recording(recording, "twil").since({})[0])
    series = {name: part["rows"] for name, part in reported["series"].items()}
    odometry = DiffOdometry(load_robot("twil").geometry)
    for sample in run.samples:
        odometry.update(sample.stamp, sample.position)
    last = series["pose"][-1]
    assert last[0] > 4.9
    assert last[1:] == pytest.approx(
        [odometry.pose.x, odometry.pose.y, odometry.pose.theta], abs=0.06
    )
    efforts = {row[3] for row in series["wheels"]}
    assert max(efforts) > 0.3 and min(efforts) < -0.3
    assert {abs(row[1]) for row in series["command"]} >= {0.4}
    assert reported["state"]["mode"] == "recording" and reported["state"]["controls"] == "none"


def test_it_is_served_until_it_is_ended(recording):
    ends, pages = threading.Event(), []

    def say(text):
        with urllib.request.urlopen(text.rpartition(" ")[2], timeout=10.0) as answer:
            pages.append(answer.read())
        ends.set()

    play(recording, "twil", "127.0.0.1", 0, ends, say)
    assert b"STOP" in pages[0]


def test_joints_of_another_robot_are_no_way(recording, tmp_path):
    robot = load_robot("twil").path
    other = tmp_path / "other.yaml"
    other.write_text(robot.read_text().replace("_wheel_joint", "_motor"))
    with pytest.raises(ValueError, match=r"no joint states of twil \(left_motor, right_motor\)"):
        read_recording(recording, str(other))


def test_what_is_no_recording_is_refused(tmp_path):
    (tmp_path / "page.mcap").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"page\.mcap"):
        read_recording(tmp_path / "page.mcap", "twil")
