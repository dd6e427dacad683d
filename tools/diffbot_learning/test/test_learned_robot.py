# SPDX-License-Identifier: Apache-2.0
"""What is learnt of a robot over its life: values, changes with their cause, the file."""

import json

import numpy as np
import pytest
from made_recordings.excited_runs import RunSetting, record

from diffbot_description import closed_form, load_robot
from diffbot_learning import learned_robot as module
from diffbot_learning.driven_sizes import StretchValue
from diffbot_learning.learned_robot import DamagedState, LearnedRobot
from diffbot_learning.stretch import Stretch, read_stretch
from diffbot_study.fleet_rows import COLUMNS

HOUR = 3600.0
TRUE = {"k5": 0.06, "k6": -3.5, "k7": 2.5, "k8": -16.0}
STDS = {"k5": 0.002, "k6": 0.1, "k7": 0.01, "k8": 0.1}


def made(random, number, mass=1.0, brake=0.0):
    """A stretch of a robot as `identify` tells it, an hour after the one before."""
    true = dict(TRUE)
    true["k7"] /= mass
    true["k8"] /= mass**0.5
    row = dict.fromkeys(COLUMNS)
    row |= {"time": number * HOUR, "usable": "all", "residual_v": 0.01, "residual_omega": 0.05}
    row |= {"torque_difference": random.normal(0.0, 0.001), "std_torque_difference": 0.001}
    values = {}
    for name, std in STDS.items():
        row[name], row[f"std_{name}"] = float(random.normal(true[name], std)), std
        values[name.upper()] = StretchValue(row[name], std, "1")
    for side in ("left", "right"):
        true = 0.1 + (brake if side == "left" else 0.0)
        row[f"viscous_{side}"], row[f"std_viscous_{side}"] = 0.001, 0.0005
        row[f"coulomb_{side}"] = float(random.normal(true, 0.002))
        row[f"std_coulomb_{side}"] = 0.002
    row["residual_v"] *= float(np.exp(random.normal(0.0, 0.02)))
    return Stretch(number * HOUR, values, row, {"forwards": 30.0})


def live(seed, stretches=30, **later):
    """Learn from a life in which something changes after its middle; return it, and the changes."""
    random = np.random.default_rng(seed)
    learning = LearnedRobot("twil")
    changes = []
    for number in range(stretches):
        given = later if 2 * number >= stretches else {}
        if (change := learning.add(made(random, number, **given))) is not None:
            changes.append(change)
    return learning, changes


def test_healthy_robots_change_in_one_of_a_hundred_lives():
    """Of 40 lives of 40 stretches, seeds 0 to 39; the level is one in a hundred."""
    assert sum(bool(live(seed, 40)[1]) for seed in range(40)) <= 2


@pytest.mark.parametrize(
    ("later", "cause"), [({"mass": 1.1}, "load"), ({"brake": 0.1}, "brake left")]
)
def test_a_change_is_found_once_with_its_cause_and_its_time(later, cause):
    """In ten lives each, seeds 0 to 9; the step is after stretch 14."""
    for seed in range(10):
        learning, changes = live(seed, **later)
        assert [change.cause for change in changes] == [cause]
        begin, end = changes[0].between
        assert begin <= 15 * HOUR and end >= 15 * HOUR
        k7 = {value.name: value for value in learning.values()}["K7"]
        assert abs(k7.value - TRUE["k7"] / later.get("mass", 1.0)) < 1.5 * k7.half_width


def test_what_is_not_known_is_no_value():
    learning = LearnedRobot("twil")
    assert learning.add(Stretch(0.0, reason="no stretch of the recording can be used")) is None
    assert learning.values() == [] and learning.refused == 1
    assert learning.reason == "no stretch of the recording can be used"


def test_stretches_that_tell_only_a_part_are_values_but_no_change():
    """Straight drives do not tell K8, and standing ones no friction: nothing changed by that."""
    random = np.random.default_rng(3)
    learning = LearnedRobot("twil")
    for number in range(20):
        stretch = made(random, number)
        if number % 2:
            del stretch.values["K8"]
            stretch.row.update(k8=None, std_k8=None, coulomb_left=None, std_coulomb_left=None)
        assert learning.add(stretch) is None
    stretches = {value.name: value.stretches for value in learning.values()}
    assert stretches["K7"] == 20 and stretches["K8"] == 10


def test_memory_is_bounded(monkeypatch):
    """The first stretches stay, as a baseline, and the newest."""
    learning = LearnedRobot("twil")
    monkeypatch.setattr(LearnedRobot, "_find_change", lambda self: None)
    random = np.random.default_rng(1)
    for number in range(300):
        learning.add(made(random, number))
    kept = [stretch.time / HOUR for stretch in learning._kept]
    assert kept == [*range(module.BASELINE), *range(300 - module.NEWEST, 300)]
    assert learning.stretches == 300


# The file.


def test_a_life_in_two_parts_is_the_life_in_one(tmp_path):
    whole, changes = live(4, mass=1.1)
    random = np.random.default_rng(4)
    learning = LearnedRobot("twil")
    for number in range(30):
        learning.add(made(random, number, **({"mass": 1.1} if number >= 15 else {})))
        learning.save(tmp_path / "state.json")
        learning = LearnedRobot("twil")
        learning.load(tmp_path / "state.json")
    assert learning.values() == whole.values()
    assert learning.changes == changes
    assert learning.driven() == whole.driven()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: text[: len(text) // 2], "damaged"),
        (lambda text: text.replace("forwards", "backward"), "checksum"),
        (lambda text: "[" * 100000, "damaged"),
        (lambda text: "{}", "damaged"),
        (lambda text: "", "damaged"),
        (lambda text: json.dumps({"sha256": "0", "content": []}), "checksum"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, damage, why):
    path = tmp_path / "state.json"
    live(1, 4)[0].save(path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(DamagedState, match=why):
        LearnedRobot("twil").load(path)


def test_another_robots_file_is_refused(tmp_path):
    path = tmp_path / "state.json"
    live(1, 4)[0].save(path)
    with pytest.raises(DamagedState, match="another description"):
        LearnedRobot("agv").load(path)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        LearnedRobot("twil", level)


# From a recording.


def write_table(path, seed, seconds=20.0):
    run = record(RunSetting(), seed, seconds)
    rows = [(s.stamp, *s.position, *s.effort) for s in run.samples]
    header = "time,left_position,right_position,left_effort,right_effort"
    np.savetxt(path, rows, fmt="%.9g", delimiter=",", header=header, comments="")
    return run


def test_recordings_become_values(tmp_path):
    """Three recordings of twil, seeds 1 to 3, within twice their combined half widths."""
    learning = LearnedRobot("twil")
    for seed in (1, 2, 3):
        path = tmp_path / f"2031050{seed}.csv"
        run = write_table(path, seed)
        stretch = read_stretch(path, "twil")
        assert not stretch.reason
        learning.add(stretch)
    assert run.truth == pytest.approx(closed_form(load_robot("twil").model))
    values = {value.name: value for value in learning.values()}
    for name, truth in zip(("K5", "K6", "K7", "K8"), run.truth, strict=True):
        assert abs(values[name].value - truth) < 2.0 * values[name].half_width
        assert values[name].stretches == 3
    assert learning.driven()["turning left"] > 0.1


def test_a_recording_without_motion_tells_nothing(tmp_path):
    path = tmp_path / "still.csv"
    header = "time,left_position,right_position,left_effort,right_effort\n"
    path.write_text(header + "".join(f"{0.01 * k:.2f},0,0,0,0\n" for k in range(1000)))
    stretch = read_stretch(path, "twil")
    assert stretch.reason and not stretch.values


def test_one_recording_tells_what_identify_tells(tmp_path):
    from diffbot_recordings.options import Options
    from diffbot_recordings.recording_analysis import analyse_recording

    path = tmp_path / "run.csv"
    write_table(path, 5)
    (verdict,) = analyse_recording(Options([path], robot="twil")).verdicts
    stretch = read_stretch(path, "twil")
    assert stretch.values["K7"][:2] == (
        verdict.value("K7").value,
        verdict.value("K7").std,
    )
