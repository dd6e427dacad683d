# SPDX-License-Identifier: Apache-2.0
"""Alarms of a fleet from one morning to the next: new, seen, ended; silent robots; advice."""

import json

import pytest
from made_recordings.made_fleet import FAULTS, MORE_FAULTS
from test_fleets import made_rows
from test_studies import InProcess

from diffbot_study import fleet as command
from diffbot_study import study
from diffbot_study.cause_advice import UNKNOWN, advice_on
from diffbot_study.fleet_alarms import (
    ALARMS,
    DAY,
    Alarm,
    Morning,
    acknowledge,
    read_alarms,
    silent_robots,
    updated,
    write_alarms,
)
from diffbot_study.fleet_analysis import analyse_fleet
from diffbot_study.fleet_causes import NO_CAUSE

R1 = ("twil", "r1")


def test_an_alarm_is_new_for_a_day_and_ends_when_it_is_raised_no_more():
    first = updated([], {R1: "load"}, 0.0)
    assert Morning(0.5 * DAY, {R1: first[0]}).state(R1) == "new"
    later = updated(first, {R1: "load"}, 5.0 * DAY)
    assert later == first
    assert Morning(5.0 * DAY, {R1: later[0]}).state(R1) == "for 5 days"
    (ended,) = updated(later, {}, 6.0 * DAY)
    assert ended.has_ended(6.5 * DAY)
    assert updated([ended], {}, 7.5 * DAY) == []
    (again,) = updated([ended], {R1: "load"}, 6.5 * DAY)
    assert again.is_new(6.5 * DAY)


def test_who_has_seen_an_alarm_is_kept_until_its_cause_changes():
    alarms = acknowledge(updated([], {R1: "load"}, 0.0), ["r1=Ann moves it"])
    kept = updated(alarms, {R1: "load"}, 9.0 * DAY)
    assert Morning(9.0 * DAY, {R1: kept[0]}).state(R1) == "seen: Ann moves it"
    other = updated(kept, {R1: "brake left"}, 9.5 * DAY)
    assert [a.acknowledged for a in other if a.ended is None] == [None]
    with pytest.raises(ValueError, match="--acknowledge r2: no alarm of this robot; alarms of: r1"):
        acknowledge(alarms, ["r2"])


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 9, "alarms": []}', '{"version": 1}'])
def test_a_damaged_file_of_alarms_is_refused_by_name(tmp_path, text):
    (tmp_path / ALARMS).write_text(text)
    with pytest.raises(ValueError, match=f"{ALARMS}: damaged .*; remove it"):
        read_alarms(tmp_path)


def test_alarms_are_read_as_they_were_written(tmp_path):
    alarms = [Alarm("r1", "twil", "load", 1.0, "Ann", None), Alarm("r2", "agv", "gyro", 2.0)]
    write_alarms(tmp_path, alarms)
    assert read_alarms(tmp_path) == alarms


def test_silent_robots_are_those_without_a_usable_recording_or_none_for_a_day():
    rows = [
        {"robot": "a", "usable": "all", "time": 10.0 * DAY},
        {"robot": "b", "usable": "some", "time": 7.0 * DAY},
        {"robot": "b", "usable": "none", "time": 10.0 * DAY},
        {"robot": "c", "usable": "unreadable", "time": 10.0 * DAY},
    ]
    assert silent_robots(rows, ["a", "d"]) == {
        "b": "has no usable recording for 3 days",
        "c": "has no usable recording",
        "d": "has no usable recording",
    }


@pytest.mark.parametrize(
    "cause",
    [*FAULTS, *MORE_FAULTS, "tyre right", "tyres", "tyre of one side", "slip", "pose source moved",
     "current sensor right, too much", "battery", "delay", "motor left", "windings right"],
)  # fmt: skip
def test_each_cause_has_its_advice(cause):
    assert advice_on(cause) != UNKNOWN


def test_no_cause_has_one_too():
    assert advice_on(NO_CAUSE) == UNKNOWN


def test_a_robot_just_below_the_alarms_is_a_near_miss_with_its_cause():
    """A left brake that becomes stronger: first nothing, then near, then an alarm; seed 0."""
    states = []
    for factor in (1.0, 1.04, 1.06, 1.2):
        fleet = analyse_fleet(made_rows({3: {"coulomb_left": factor}}), 0.01)
        (robot,) = [robot for robot in fleet.robots if robot.name == "r03"]
        states.append((robot.near, robot.alarm))
        if robot.near or robot.alarm:
            assert robot.cause == "brake left" and "above the others" in robot.evidence
    assert states[0] == (False, False) and states[-1] == (False, True)
    assert (True, False) in states


def test_every_broken_file_is_named_and_a_note_is_kept(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    for robot in range(40):
        folder = tmp_path / "in" / f"r{robot:02d}"
        folder.mkdir(parents=True)
        (folder / "torn.csv").write_text("" if robot < 9 else f"{robot},b\n1,2\n")
    monkeypatch.setattr(study, "Cluster", InProcess)
    words = [str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--robot", "twil"]
    assert command.main(words) == 0
    text = capsys.readouterr().out
    assert text.count("the same content") == 8
    assert "and 2 more, all of them named in fleet.html" in text
    page = (tmp_path / "out" / "fleet.html").read_text(encoding="utf-8")
    assert all(f"r{robot:02d}/torn.csv" in page for robot in range(40))
    assert json.loads((tmp_path / "out" / ALARMS).read_text())["alarms"] == []
    assert command.main([*words, "--acknowledge", "r01"]) == 2
    assert "no alarm of this robot" in capsys.readouterr().err
