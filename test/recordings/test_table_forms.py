# SPDX-License-Identifier: Apache-2.0
"""Tables with one row per joint, and tables without a header: the numbers are the same.

The run is that of excited_runs.usual_run: twil, 30 s, seed 3.
"""

import warnings

import numpy as np
import pytest
from identify_command import TORQUE_COLUMNS, identify, torque_rows, write_table
from made_recordings.excited_runs import usual_run

from diffbot_description import load_robot
from diffbot_recordings.recorded_readings import ReadingOptions, read_readings

ROBOT = ("--robot", "twil")
NAMES = ("K5", "K6", "K7", "K8")


@pytest.fixture(scope="module")
def rows():
    return torque_rows(usual_run().samples)


@pytest.fixture(scope="module")
def expected(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    status, summary = identify(folder, write_table(folder / "log.csv", rows), *ROBOT)
    assert status == 0
    return values(summary)


def values(summary):
    return [summary["parameters"][name]["value"] for name in NAMES]


def by_joint(path, rows, header, names, order, others=True, apart=0.0):
    """Write a table with a row per joint, in this order of columns, with a gripper's between."""
    lines = [header]
    for at, (stamp, *numbers) in enumerate(rows.tolist()):
        joints = [(stamp - apart * (1 - i), names[i], numbers[i::2]) for i in (0, 1)]
        if others:
            joints.insert(at % 3, (stamp, "gripper_joint", [0.1, 0.0, 0.0]))
        for time, name, (position, velocity, effort) in joints:
            cells = {"t": f"{time:.9g}", "n": name, "p": f"{position:.9g}",
                     "v": f"{velocity:.9g}", "e": f"{effort:.9g}"}  # fmt: skip
            lines.append(",".join(cells[key] for key in order))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "names", "order", "words"),
    [
        (
            "time,name,position,velocity,effort",
            ("left_wheel_joint", "right_wheel_joint"),
            "tnpve",
            (),
        ),
        ("joint,position,effort,velocity,time", ("l_wheel", "r_wheel"), "npevt", ()),
        ("t,wheel,velocity,angle [rad],torque [Nm]", ("left", "right"), "tnvpe", ()),
        (
            "time,joint_name,position,velocity,effort",
            ("drive_a", "drive_b"),
            "tnpve",
            ("--left-joint", "drive_a", "--right-joint", "drive_b"),
        ),
        (
            "time,motor,position,velocity,effort",
            ("1", "2"),
            "tnpve",
            ("--left-joint", "1", "--right-joint", "2"),
        ),
    ],
)
def test_a_row_per_joint_gives_the_same_numbers(
    rows, expected, tmp_path, header, names, order, words
):
    path = by_joint(tmp_path / "log.csv", rows, header, names, order)
    status, summary = identify(tmp_path, path, *ROBOT, *words)
    assert status == 0
    assert values(summary) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("apart", [0.0, 0.0004])
def test_a_joint_that_is_lost_costs_its_reading_only(rows, expected, tmp_path, apart):
    names = ("left_wheel_joint", "right_wheel_joint")
    path = by_joint(tmp_path / "log.csv", rows, "time,name,position,velocity,effort", names,
                    "tnpve", others=False, apart=apart)  # fmt: skip
    lines = path.read_text().split("\n")
    kept = [line for i, line in enumerate(lines) if i not in (1001, 3000)]
    path.write_text("\n".join(kept))
    status, summary = identify(tmp_path, path, *ROBOT)
    assert status == 0
    assert values(summary) == pytest.approx(expected, rel=2e-3)


def test_joints_that_are_no_wheels_are_listed(rows, tmp_path, capsys):
    names = ("motor_1", "motor_2")
    path = by_joint(tmp_path / "log.csv", rows[:50], "time,name,position,velocity,effort", names,
                    "tnpve")  # fmt: skip
    status, _ = identify(tmp_path, path, *ROBOT)
    assert status == 2
    said = capsys.readouterr().err
    assert "one row per joint" in said and "--left-joint NAME --right-joint NAME" in said
    assert "motor_1" in said and "gripper_joint" in said


def test_a_calibration_reads_a_row_per_joint(rows, tmp_path):
    names = ("left_wheel_joint", "right_wheel_joint")
    path = by_joint(tmp_path / "log.csv", rows[:200], "time,name,position,velocity,effort", names,
                    "tnpve")  # fmt: skip
    robot = load_robot("twil")
    result = read_readings([path], ReadingOptions(robot=robot), robot.geometry).wheels
    np.testing.assert_allclose(result.right, rows[:200, 2], atol=1e-6)


def without_header(path, rows, delimiter=","):
    lines = [delimiter.join(f"{value:.9g}" for value in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("delimiter", [",", ";", " "])
def test_columns_without_names_are_chosen_by_number(rows, expected, tmp_path, delimiter):
    path = without_header(tmp_path / "log.csv", rows, delimiter)
    columns = (
        "time=1,left_position=2,right_position=3,left_velocity=4,right_velocity=5,left_effort=6,"
        "right_effort=7"
    )
    status, summary = identify(tmp_path, path, *ROBOT, "--columns", columns)
    assert status == 0
    assert values(summary) == pytest.approx(expected, rel=1e-9)


def test_numbers_take_factors_and_conditions(rows, expected, tmp_path):
    rows = rows.copy()
    rows[:, [1, 2]] = np.degrees(rows[:, [1, 2]])
    flagged = np.vstack((np.column_stack((rows, np.ones(len(rows)))),
                         np.column_stack((rows[-1:] + 5.0, [[0.0]]))))  # fmt: skip
    path = without_header(tmp_path / "log.csv", flagged)
    columns = "time=1,left_position=2*deg,right_position=3*deg,left_effort=6,right_effort=7"
    status, summary = identify(tmp_path, path, *ROBOT, "--columns", columns, "--where", "8!=0")
    assert status == 0
    assert values(summary) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ((), "name columns by number with --columns time=1"),
        (("--columns", "left_position=2,right_position=3"), "no column holds the time"),
        (("--columns", "time=1,left_position=99"), "left_position=99: no such column"),
    ],
)
def test_without_a_header_numbers_are_needed(rows, tmp_path, capsys, columns, said):
    path = without_header(tmp_path / "log.csv", rows[:100])
    status, _ = identify(tmp_path, path, *ROBOT, *columns)
    assert status == 2
    assert said in capsys.readouterr().err


def test_rows_of_one_time_are_refused_without_a_warning_of_a_library(rows, tmp_path, capsys):
    rows = rows[:50].copy()
    rows[:, 0] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        status, _ = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("column", [1, 6])
def test_a_column_without_a_number_is_named(rows, tmp_path, capsys, column):
    """Before: "no sample of left_position, right_position, left_effort, …", all of them."""
    rows = rows.copy()
    rows[:, column] = np.nan
    status, _ = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    said = capsys.readouterr()
    assert status == 2
    name = TORQUE_COLUMNS[column]
    assert f"none of {len(rows)} cells of {name} ({name}) holds a number" in said.out + said.err
    assert (said.out + said.err).count("holds a number") == 1


def test_times_that_are_no_numbers_are_no_decimal_commas(rows, tmp_path, capsys):
    rows = rows.copy()
    rows[1000:, 0] = np.nan
    status, summary = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 1
    (said,) = summary["recording_warnings"]
    assert "without a time" in said and "decimal commas" not in said


@pytest.mark.parametrize("rows_of", ["one time", "still"])
def test_what_a_stretch_needs_is_said(rows, tmp_path, capsys, rows_of):
    rows = rows[:500].copy()
    if rows_of == "one time":
        rows[:, 0] = 7.0
    else:
        rows[:, 1:] = 0.0
    status, _ = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 2
    assert "0.5 s or more without a gap, with times that increase" in capsys.readouterr().err
