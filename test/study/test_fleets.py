# SPDX-License-Identifier: Apache-2.0
"""`diffbot fleet`: recordings to rows, resumed, and robots with planted faults.

benchmarks/fleet.py has a larger fleet of other seeds.
"""

import json
import math
import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
from made_recordings.made_fleet import make_fleet
from test_studies import InProcess

from diffbot_description import load_robot
from diffbot_ident.interpretation.fleet_prior import read_prior
from diffbot_recordings.findings import Usable
from diffbot_study import fleet as command
from diffbot_study import fleet_rows, study
from diffbot_study.fleet import write_priors
from diffbot_study.fleet_analysis import analyse_fleet
from diffbot_study.fleet_causes import name_cause
from diffbot_study.fleet_quantities import TORQUE
from diffbot_study.fleet_rows import FleetRecording, Names, find_recordings, read_recording

HEALTHY = {"k5": 0.08, "k6": -3.8, "k7": 2.6, "k8": -16.0, "coulomb_left": 0.04}
HEALTHY |= {"coulomb_right": 0.04, "residual_v": 0.012}


def made_rows(changes, robots=40, recordings=4, seed=0):
    """Rows of robots with 1 % spread and 0.5 % scatter, some changed by factors."""
    generator = np.random.default_rng(seed)
    rows = []
    for robot in range(robots):
        own = {name: value * math.exp(0.01 * generator.standard_normal())
               for name, value in HEALTHY.items()}  # fmt: skip
        difference = 0.003 * generator.standard_normal()
        for name, factor in changes.get(robot, {}).items():
            if name == "torque_difference":
                difference += factor
            else:
                own[name] *= factor
        for run in range(recordings):
            row = {"key": f"{robot}-{run}", "robot": f"r{robot:02d}", "type": "made"}
            for name, value in own.items():
                row[name] = value * math.exp(0.005 * generator.standard_normal())
                row[f"std_{name}"] = abs(0.005 * value)
            row["torque_difference"] = difference + 0.001 * generator.standard_normal()
            row["std_torque_difference"] = 0.001
            rows.append(row)
    return rows


def test_faults_are_found_and_named_and_others_left_alone():
    fast = 1.0 / 0.98
    both_frictions = {"coulomb_left": 0.67, "coulomb_right": 0.67}
    changes = {
        0: {"k7": 0.9, "k8": 0.95, "k5": 0.93},
        1: {"k7": fast**4, "k8": fast**4, "k5": fast**-2, "k6": fast**-2},
        2: {"coulomb_right": 3.0},
        3: {"k7": 1.5, "k8": 1.5, "torque_difference": -0.33, **both_frictions},
        4: {"residual_v": 9.0},
        5: {"k7": 1.3, "k8": 0.7},
        6: {"k7": fast**2, "k8": fast**2, "k5": 0.98, "k6": 0.98, "torque_difference": -0.04},
    }
    fleet = analyse_fleet(made_rows(changes), 0.01)
    causes = {robot.name: robot.cause for robot in fleet.robots if robot.alarm}
    assert causes == {
        "r00": "load",
        "r01": "tyre",
        "r02": "brake right",
        "r03": "current sensor left",
        "r04": "encoder",
        "r05": "no known cause",
        "r06": "tyre left",
    }
    prior = fleet.types["made"]
    assert prior.centre["log_k7"] == pytest.approx(math.log(2.6), abs=0.01)
    assert prior.spread["log_k7"] == pytest.approx(0.01, abs=0.005)


@pytest.mark.parametrize("robots", [5, 20])
def test_a_healthy_fleet_gets_alarms_as_seldom_as_was_asked_for(robots):
    # 40 fleets: 4 are expected to have any alarm, and 11 or more have a chance of 0.15 %. Rows are
    # of one recording's scatter, as tau is what is tested.
    alarmed = sum(
        any(robot.alarm for robot in analyse_fleet(made_rows({}, robots, 2, seed), 0.1).robots)
        for seed in range(40)
    )
    assert alarmed < 11


def test_the_prior_of_a_type_is_written_as_wide_as_its_robots_are_apart(tmp_path):
    generator = np.random.default_rng(8)
    heavier = 1.0 + 0.03 * generator.standard_normal(60)
    # More mass: K7 and |K8| fall together; three robots are faulty.
    changes = {robot: {"k7": 1.0 / f, "k8": 1.0 / f} for robot, f in enumerate(heavier)}
    changes |= {robot: {"k7": 0.5, "residual_v": 9.0} for robot in (4, 9, 14)}
    rows = [{**row, "type": "twil"} for row in made_rows(changes, 60)]
    (path,) = write_priors(analyse_fleet(rows, 0.01), tmp_path)
    assert path.name == "prior_twil.yaml"
    prior = read_prior(str(path), load_robot("twil"))
    assert prior.robots == 60
    wanted = [HEALTHY[name] for name in ("k5", "k6", "k7", "k8")]
    assert prior.values == pytest.approx(wanted, rel=0.02)
    relative = np.array(prior.deviations) / np.abs(wanted)
    # 1 % of each, and 3 % of mass; of 60 robots, and as wide as 60 robots allow.
    assert (relative[:2] > 0.008).all() and (relative[:2] < 0.02).all()
    assert (relative[2:] > 0.024).all() and (relative[2:] < 0.06).all()
    covariance = np.array(prior.covariance)
    assert covariance[2, 3] < -0.6 * prior.deviations[2] * prior.deviations[3]
    # A type without a description has none.
    unknown = analyse_fleet([{**row, "type": None} for row in rows], 0.01)
    assert list(unknown.types) == ["unknown"] and write_priors(unknown, tmp_path) == []


def test_a_cause_needs_the_sign_of_its_signature():
    errors = np.full(len(TORQUE), 0.01)
    more = np.zeros(len(TORQUE))
    more[TORQUE.index("coulomb_left")] = 0.5
    assert name_cause(TORQUE, more, errors)[0] == "brake left"
    assert name_cause(TORQUE, -more, errors)[0] != "brake left"


@pytest.mark.parametrize(
    ("k7", "k5", "cause"), [(-0.08, 0.014, "load"), (-0.03, 0.015, "tyre"), (0.08, -0.04, "tyre")]
)
def test_no_tyre_grows_as_much_as_a_payload_slows_and_a_sensor_errs_at_its_wheel(k7, k5, cause):
    """K7 and K8 that fall by 8 % alike while K5 and K6 are hardly known; tyres of ±1.5 and 4 %."""
    deviations = np.array([k7, k7, k5, k5, 0.0, 0.0, 0.01, 0.005])
    errors = np.array([0.01, 0.01, 0.018, 0.018, 0.01, 0.01, 0.04, 0.01])
    assert name_cause(TORQUE, deviations, errors)[0] == cause


def test_recordings_are_named_by_folder_file_or_table(tmp_path):
    for path in ("kitchen/a.csv", "r7_01.csv", "bag/metadata.yaml", "bag/bag.mcap", "notes.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("x")
    result, others = find_recordings([str(tmp_path)], Names(None, "twil"), {})
    robots = {recording.path.name: recording.robot for recording in result}
    assert robots == {"a.csv": "kitchen", "bag": "bag", "r7_01.csv": "r7"}
    assert others == 1 and {recording.type for recording in result} == {"twil"}
    table = tmp_path / "names.csv"
    table.write_text("pattern,robot,type\nkitchen/*,k1,agv\nr7*,,\n")
    result, _ = find_recordings([str(tmp_path / "kitchen"), str(tmp_path / "r7*")],
                               Names(table, "twil"), {})  # fmt: skip
    assert [(each.robot, each.type) for each in result] == [("a", "twil"), ("r7", "twil")]
    table.write_text("a,b\n")
    with pytest.raises(ValueError, match="must be pattern, robot"):
        Names(table, None)
    with pytest.raises(ValueError, match="--names .*nothing.csv: No such file"):
        Names(tmp_path / "nothing.csv", None)
    with pytest.raises(ValueError, match="there is no such folder"):
        find_recordings([str(tmp_path / "nothing")], Names(None, None), {})


def test_what_cannot_be_read_is_a_row_with_its_reason(tmp_path):
    for name, content in (("empty.csv", ""), ("foreign.csv", "a,b\n1,2\n"), ("torn.mcap", "x")):
        (tmp_path / name).write_text(content)
    result, _ = find_recordings([str(tmp_path)], Names(None, "twil"), {})
    rows = [read_recording(recording.key, recording) for recording in result]
    assert len(rows) == 3
    assert all(row["usable"] == "unreadable" and row["reason"] for row in rows)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--robot", "nope"], "unknown robot 'nope'"),
        (["--wheel-radius", "-1"], "--wheel-radius -1 m: must be finite and > 0"),
        (["--track", "nan"], "--track nan m: must be finite and > 0"),
    ],
)
def test_wrong_descriptions_are_refused_before_they_are_in_every_row(tmp_path, capsys, words, said):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    status = command.main([str(tmp_path / "a.csv"), "--output", str(tmp_path / "out"), *words])
    assert status == 2 and said in capsys.readouterr().err
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_a_folder_without_recordings_is_refused(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.md").write_text("on holiday")
    status = command.main([str(tmp_path / "in"), "--output", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert status == 2 and "contains no recording (1 other files)" in said and ".mcap" in said


def test_another_description_is_another_row_and_only_the_one_asked_for_counts(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("pyarrow")
    (tmp_path / "in" / "r1").mkdir(parents=True)
    for name in ("a.csv", "b.csv"):
        (tmp_path / "in" / "r1" / name).write_text(f"{name},b\n1,2\n")
    monkeypatch.setattr(study, "Cluster", InProcess)

    def run(place, *words):
        words = [str(place), "--output", str(tmp_path / "out"), *words]
        assert command.main(words) == 0
        counts = json.loads((tmp_path / "out" / "fleet.json").read_text())["recordings"]
        return capsys.readouterr().out, counts

    text, _ = run(tmp_path / "in", "--robot", "twil")
    assert "2 of them new" in text
    text, counts = run(tmp_path / "in", "--robot", "agv")
    assert "2 of them new" in text and counts == {"unreadable": 2}
    # A copy of the description says the same.
    copy = tmp_path / "mine.yaml"
    copy.write_bytes(load_robot("agv").path.read_bytes())
    assert "0 of them new" in run(tmp_path / "in", "--robot", str(copy))[0]
    assert "0 of them new" in run(tmp_path / "in", "--robot", "twil")[0]
    assert "1 of them new" in run(tmp_path / "in" / "r1" / "a.csv", "--wheel-radius", "0.1")[0]
    # Of the other one, which this call was not given, the row that was read last counts.
    assert counts == {"unreadable": 2}


def test_the_time_of_a_recording_is_what_it_says_of_itself(tmp_path):
    def time_of(name, text="x"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (5e8, 5e8))
        return FleetRecording(path if path.suffix == ".csv" else path.parent, "r", None, {}).time

    start = "rosbag2_bagfile_information: {starting_time: {nanoseconds_since_epoch: %d}}"
    assert time_of("bag/metadata.yaml", start % 1_900_000_000_500_000_000) == 1_900_000_000.5
    # Simulated time is none.
    assert time_of("bag/metadata.yaml", start % 12_000_000_000) == 5e8
    assert time_of("20310504-101500-ident/metadata.yaml") == 1935656100.0
    assert time_of("r-2031-05-04.csv") == 1935619200.0
    assert time_of("r-20311399.csv") == time_of("r.csv") == 5e8


def test_residuals_that_follow_a_load_do_not_hide_it():
    # As of a robot with 10 % more mass among 100 that are told to 1 %.
    moved = {"log_k7": -0.084, "log_k8": -0.043, "k5": 0.016, "k6": 0.058, "log_residual": -0.047}
    errors = np.where([name == "log_residual" for name in TORQUE], 0.004, 0.01)
    deviations = np.array([moved.get(name, 0.0) for name in TORQUE])
    assert name_cause(TORQUE, deviations, errors)[0] == "load"


def test_a_delay_that_is_not_known_is_none_in_the_row(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("nothing of it is read")
    summary = {"torque_delay": math.nan}
    simple_namespace = SimpleNamespace(verdicts=[], usable=Usable.NONE, summary=summary, notes=[])
    monkeypatch.setattr(fleet_rows, "analyse_recording", lambda _: simple_namespace)
    row = read_recording("key", FleetRecording(tmp_path / "a.csv", "r0", "twil", {}))
    assert row["usable"] == "none" and row["delay"] is None


def test_a_fleet_is_taken_in_once_and_resumed(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    make_fleet(tmp_path / "in", ["twil"], 2, 1, faults={0: "load"}, seconds=22.0)
    (tmp_path / "in" / "twil-001" / "empty.csv").write_text("")
    monkeypatch.setattr(command, "CHUNK", 1)

    def run(**ends):
        monkeypatch.setattr(study, "Cluster", lambda *a: InProcess(*a, **ends))
        status = command.main(
            [str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--robot", "twil"]
        )
        return status, capsys.readouterr().out

    assert run(most=1)[0] == study.INTERRUPTED
    status, text = run(lost=0)
    assert status == study.SOME_FAILED and "3 recordings, 2 of them new" in text
    status, text = run()
    assert status == 0 and "3 recordings, 1 of them new" in text
    status, text = run()
    assert "0 of them new" in text and "all: 2, unreadable: 1" in text
    assert re.search(r"empty\.csv: unreadable: .*empty\.csv", text)
    summary = json.loads((tmp_path / "out" / "fleet.json").read_text())
    assert summary["recordings"] == {"all": 2, "unreadable": 1}
    assert set(summary["left_out"]) == {"twil-000", "twil-001"}
    for module in (command, fleet_rows):
        monkeypatch.setattr(module, "VERSION", fleet_rows.VERSION + 1)
    assert "3 recordings, 3 of them new" in run()[1]
    assert "3 recordings, 0 of them new" in run()[1]


def rows_of(folder):
    """The rows of a folder's recordings of twil."""
    recordings, _ = find_recordings([str(folder)], Names(None, "twil"), {})
    read = (read_recording(str(i), each) for i, each in enumerate(recordings))
    return [{**dict.fromkeys(fleet_rows.COLUMNS), **row} for row in read]


def causes_in(rows):
    """What the robots that stand out have, by name."""
    return {robot.name: robot.cause for robot in analyse_fleet(rows, 0.01).robots if robot.alarm}


def test_a_gyro_tells_tyres_from_a_track_and_from_itself(tmp_path):
    """Of 8 made robots with a gyro, three with what only a gyro tells apart."""
    faults = {2: "tyre left", 5: "track", 7: "gyro"}
    make_fleet(tmp_path, ["twil"], 8, 2, faults=faults, seconds=15.0, seed=4, gyro=True)
    rows = rows_of(tmp_path)
    assert all(row["gyro_scale"] == pytest.approx(1.0, abs=0.05) for row in rows)
    named = causes_in(rows)
    assert named == {f"twil-{number:03d}": fault for number, fault in faults.items()}
    # The few recordings without a gyro have K5 and K8 of another kind, and are left out.
    odd = [{**row, "gyro_scale": None, "k8": 2.0 * row["k8"]} for row in rows[:2]]
    assert causes_in([*rows, *odd]) == named
