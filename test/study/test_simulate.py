# SPDX-License-Identifier: Apache-2.0
"""`diffbot simulate`: whole runs without ROS, from the command line to their files."""

import csv
import json
import math

import pytest
import yaml

from diffbot_description import load_robot
from diffbot_description.suite_version import suite_version
from diffbot_ident.estimate import EstimateState
from diffbot_recordings.identify import main as identify
from diffbot_study import simulate
from diffbot_study.torque_run import TorqueRun, TorqueRunArguments

SHORT = ("duration:=8", "until:=none", "verification:=2", "report:=html")


def summary(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def test_a_robot_is_identified_and_reported(tmp_path, capsys):
    results = tmp_path / "results"
    words = ("ident", "robot:=agv", "seed:=3", f"results:={results}", *SHORT)
    assert simulate.main(words) == 0
    said = summary(results)
    assert (said["outcome"], said["robot"], said["sim"]) == ("completed", "agv", "ideal")
    assert said["verification"]["state"] == "verified" and said["complete"]
    for name, value in said["parameters"].items():
        assert abs(value["value"] - value["closed_form"]) < 4.0 * value["std"], name
    file = yaml.safe_load((results / "dynamic_parameters.yaml").read_text())
    parameters = file["/**"]["ros__parameters"]
    assert parameters["k7"] == said["parameters"]["K7"]["value"]
    assert parameters["version"] == suite_version()
    assert "simulate ident robot:=agv" in (results / "report.html").read_text()
    assert "K8" in capsys.readouterr().out


def test_its_recording_is_one_to_identify(tmp_path):
    results, own = tmp_path / "results", tmp_path / "own"
    assert simulate.main(["ident", "duration:=20", f"results:={results}", *SHORT[1:]]) == 0
    with open(results / "joint_states.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 2000 and float(rows[1]["time"]) == 0.01
    words = [str(results / "joint_states.csv"), "--robot", "twil", "--no-pictures"]
    assert identify([*words, "--output", str(own)]) == 0
    values, again = summary(results)["parameters"], summary(own)["parameters"]
    for name in ("K5", "K6", "K7", "K8"):
        # From the same motion, and from more of it.
        apart = values[name]["value"] - again[name]["value"]
        assert abs(apart) < 4.0 * math.hypot(values[name]["std"], again[name]["std"])


def test_equal_seeds_give_equal_runs_and_others_do_not():
    def run(seed):
        arguments = TorqueRunArguments(duration=3.0, verification=0.0, seed=seed, torque_noise=0.01)
        made = TorqueRun(arguments, load_robot("twil"))
        made.execute()
        return made

    first, again, other = run(1), run(1), run(2)
    assert first.joint_states.tolist() == again.joint_states.tolist()
    assert first.course.estimate == again.course.estimate
    assert first.joint_states.tolist() != other.joint_states.tolist()


def test_ctrl_c_keeps_what_there_is(tmp_path, monkeypatch):
    states = []

    def interrupt(self, *_):
        states.append(self)
        if len(states) == 100:
            raise KeyboardInterrupt

    monkeypatch.setattr("diffbot_study.run_report.RunReport.show", interrupt)
    assert simulate.main(["ident", "report:=html", f"results:={tmp_path}"]) == 130
    said = summary(tmp_path)
    assert (said["outcome"], said["reason"]) == ("stopped", "interrupted")
    assert said["duration"] == pytest.approx(2.0, abs=0.05) and said["complete"]
    assert (tmp_path / "joint_states.csv").is_file()


@pytest.mark.parametrize(
    "words", [["ident"], ["ident", "sim:=velocity"], ["drive"], ["drive", "sim:=velocity"]]
)
def test_a_run_that_fails_before_its_report_leaves_its_folder(words, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("diffbot_study.run_report.RunReport.follow", full)
    assert simulate.main([*words, f"results:={tmp_path / 'r'}"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_says_so(tmp_path):
    """Of a robot that is described ten times as heavy as it is, which so becomes too fast."""
    twil = yaml.safe_load(load_robot("twil").path.read_text())
    body = twil["body"]
    body["mass"] *= 10.0
    body["inertia"] = {axis: 10.0 * value for axis, value in body["inertia"].items()}
    twil["limits"] |= {"torque": 10.0, "traction": 10.0}
    (tmp_path / "heavy.yaml").write_text(yaml.safe_dump(twil))
    words = (f"robot:={tmp_path}/heavy.yaml", "simulated_robot:=twil", "amplitude:=10")
    assert simulate.main(["ident", *words, "report:=html", f"results:={tmp_path}/r"]) == 1
    said = summary(tmp_path / "r")
    assert said["outcome"] == "failed" and "beyond the limit" in said["reason"]
    assert said["duration"] < 20.0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ident", "robot"], "'robot': must be NAME:=VALUE"),
        (["ident", "sede:=1"], "unknown argument 'sede'; did you mean 'seed'?"),
        (["ident", "seed:=1", "seed:=2"], "'seed' is given twice"),
        (["ident", "seed:=x"], "parameter 'seed' = 'x': must be of type int"),
        (["ident", "duration:=-1"], "parameter 'duration' = -1.0: must be finite and > 0"),
        (["ident", "sim:=bullet"], "must be one of ideal, mujoco, gazebo"),
        (["ident", "robot:=nobody"], "nobody"),
        (["ident", "robot:=turtlebot2", "sim:=ideal"], "turtlebot2 takes velocities (drive.comm"),
        (["drive", "robot:=turtlebot2", "sim:=ideal"], "turtlebot2 takes velocities (drive.comm"),
        (["ident", "sim:=velocity", "sigma:=1,1"], "'sigma' = '1,1': must be as many numbers as"),
        (["ident", "sim:=velocity", "dead_time:=11"], "'dead_time' = 11.0: must be finite and >="),
        (["ident", "sim:=velocity", "arena:=0.2x0.2"], "0.2"),
        (["ident", "sim:=velocity", "torque_noise:=1"], "unknown argument 'torque_noise'"),
        (["drive", "sim:=velocity", "parameters:=nowhere.yaml"], "nowhere.yaml"),
        (["ident", "record:=bag"], "must be one of none, mcap, sqlite3"),
        (["ident", "arena:=small"], "small"),
        (["ident", "amplitude:=1e6"], "amplitude = 1000000.0 N m: must be <="),
        (["ident", "until:=K9 1%"], "K9"),
        (["ident", "results:=/dev/null/x"], "results:=/dev/null/x: results cannot be written"),
        (["drive", "trajectory:=spiral"], "must be one of figure_eight"),
        (["drive", "start:=1,2"], "start = '1,2': must be 3 numbers"),
        (["drive", "parameters:=nowhere.yaml"], "nowhere.yaml"),
        (["drive", "torque_limit:=99"], "'torque_limit' = 99.0 N m: must be <="),
        (["drive", "laps:=0"], "parameter 'laps' = 0: must be finite and >= 1"),
    ],
)
def test_a_wrong_argument_is_one_sentence(words, says, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert simulate.main(words) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_help_lists_every_argument(capsys):
    assert simulate.main(["ident", "--help"]) == 0
    said = capsys.readouterr().out
    assert "seed:=0" in said and "torque_delay:=0" in said and "until:=K5 1%" in said
    assert simulate.main(["drive", "-h"]) == 0
    assert "trajectory:=figure_eight" in capsys.readouterr().out
    assert simulate.main(["ident", "sim:=velocity", "--help"]) == 0
    assert "sigma:=0.2,0.15,1,1" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        simulate.main(["--help"])
    assert "drive --help" in capsys.readouterr().out


def test_a_robot_drives_with_what_was_identified(tmp_path):
    identified, driven = tmp_path / "identified", tmp_path / "driven"
    assert simulate.main(["ident", f"results:={identified}", *SHORT]) == 0
    file = identified / "dynamic_parameters.yaml"
    words = ("trajectory:=line", "seed:=2", f"parameters:={file}", "report:=html")
    assert simulate.main(["drive", *words, f"results:={driven}"]) == 0
    said = summary(driven)
    assert said["outcome"] == "completed" and said["complete"]
    assert said["tracking"]["true"]["rms_position"] < 1e-3
    k7 = summary(identified)["parameters"]["K7"]["value"]
    assert said["controller"]["parameters"]["K7"] == k7
    assert said["samples"] == said["samples_true"] > 500
    again = (driven / "report.html").read_text()
    assert "simulate drive robot:=twil" in again and (driven / "joint_states.csv").is_file()


def test_a_velocity_robot_is_identified_and_driven_by_its_file(tmp_path):
    """Lags 0.3 and 0.25 s, dead time 0.06 s; the odometry is one period (10 ms) older."""
    identified, driven, again = tmp_path / "identified", tmp_path / "driven", tmp_path / "again"
    words = ("sim:=velocity", "seed:=4", "sigma:=0.3,0.25,1,1", "dead_time:=0.06", "report:=html")
    ident = ["ident", *words, "duration:=10", "record:=mcap", f"results:={identified}"]
    assert simulate.main(ident) == 0
    said = summary(identified)
    assert said["outcome"] == "completed" and said["complete"]
    truths = {"time constant": (0.3, 0.25), "gain": (1.0, 1.0), "dead time": (0.065, 0.065)}
    for name, pair in truths.items():
        for axis, true in zip(said["axes"].values(), pair, strict=True):
            value = axis["parameters"][name]
            assert abs(value["value"] - true) < 4.0 * value["std"] + 1e-3, name
    # Its table gives the same numbers.
    assert (
        identify([str(identified / "velocities.csv"), "--no-pictures", "--output", str(again)]) == 0
    )
    assert summary(again)["verdicts"] == said["verdicts"]
    file = identified / "velocity_parameters.yaml"
    drive = ["drive", *words, "trajectory:=circle", "laps:=1", f"parameters:={file}"]
    assert simulate.main([*drive, f"results:={driven}"]) == 0
    said = summary(driven)
    assert said["outcome"] == "completed" and said["samples"] == said["samples_true"] > 2000
    assert said["tracking"]["true"]["rms_position"] < 2e-3
    page = (driven / "report.html").read_text()
    assert "simulate drive robot:=turtlebot2 sim:=velocity" in page


def test_a_torque_run_is_recorded_as_a_bag_too(tmp_path):
    results, again = tmp_path / "results", tmp_path / "again"
    words = [f"results:={results}", "duration:=20", "record:=sqlite3", *SHORT[1:]]
    assert simulate.main(["ident", *words]) == 0
    bag = [str(results / "recording"), "--robot", "twil", "--no-pictures", "--output", str(again)]
    assert identify(bag) == 0
    table = [str(results / "joint_states.csv"), *bag[1:-1], str(tmp_path / "table")]
    assert identify(table) == 0
    one, other = (summary(each)["parameters"] for each in (again, tmp_path / "table"))
    for name in ("K5", "K6", "K7", "K8"):
        # A bag is cut into parts elsewhere than a table.
        assert abs(one[name]["value"] - other[name]["value"]) < 0.2 * other[name]["std"], name


def test_no_run_is_overwritten(tmp_path, capsys):
    words = ["drive", "trajectory:=line", "report:=html", f"results:={tmp_path}/one"]
    assert simulate.main(words) == 0
    before = (tmp_path / "one" / "summary.json").read_bytes()
    assert simulate.main([*words, "seed:=2"]) == 2
    assert "holds the results of the run (simulate drive) of 20" in capsys.readouterr().err
    assert (tmp_path / "one" / "summary.json").read_bytes() == before


def test_an_interrupted_drive_keeps_what_there_is(tmp_path, monkeypatch):
    states = []

    def interrupt(self, *_):
        states.append(self)
        if len(states) == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr("diffbot_study.run_report.RunReport.show", interrupt)
    assert simulate.main(["drive", "report:=html", f"results:={tmp_path}"]) == 130
    said = summary(tmp_path)
    assert said["outcome"] == "stopped" and said["duration"] == pytest.approx(2.9, abs=0.1)


def test_a_notebook_shows_an_estimate_as_a_table():
    run = TorqueRun(TorqueRunArguments(duration=3.0, verification=0.0), load_robot("twil"))
    run.execute()
    estimate = run.course.estimate
    shown = estimate._repr_html_()
    assert shown.count("<tr>") == 5 and f"<td>{estimate.values[2]:.5g}</td>" in shown
    unsure = estimate.as_a_whole(EstimateState.INVALID, "<b>swapped</b>")._repr_html_()
    assert "&lt;b&gt;swapped" in unsure and "<b>" not in unsure
