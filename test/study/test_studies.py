# SPDX-License-Identifier: Apache-2.0
"""`diffbot study`: plans, points, the table, and a study that is stopped and goes on."""

import json

import numpy as np
import pytest
from rich.console import Console

from diffbot_study import study as command
from diffbot_study.study_plan import READY_MADE, load_study, study_file, study_from
from diffbot_study.study_points import COLUMNS, chunks, run_chunk
from diffbot_study.study_summary import LABELS, answer, cells, draw_study, shown, study_charts
from diffbot_study.task_cluster import TaskEnd

SMALL = {
    "kind": "drive",
    "repeats": 2,
    "first_seed": 300,
    "grid": {"encoder_counts": [512, 4096], "torque_delay": [0, 1]},
    "sample": {"payload": [0.0, 0.5]},
    "fixed": {"seconds": 1.0},
    "tolerance": {"rms_position": 1000.0},
}


def changed(**more):
    return study_from({**SMALL, **more}, "small")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"kind": "drving"}, "kind = 'drving': must be one of identification, drive"),
        ({"grd": {}}, "grd: unknown; did you mean grid"),
        ({"grid": {"encoder_count": [1]}}, "did you mean grid.encoder_counts"),
        ({"grid": {"excitation": ["prbs"]}}, "grid.excitation: unknown"),
        ({"grid": {"seconds": 3.0}}, "must be a list"),
        ({"grid": {"seconds": [-1.0]}}, "must be from 0.5 to 3600"),
        ({"grid": {"torque_delay": [0.5]}}, "must be a int"),
        ({"sample": {"payload": [0.5, 0.1]}}, "the first must be <= the second"),
        ({"sample": {"torque_delay": [0, 1]}}, "both in grid and in sample"),
        ({"repeats": 0}, "repeats = 0: must be a whole number >= 1"),
        ({"tolerance": {"error_k7": 2.0}}, "tolerance.error_k7: unknown"),
        ({"tolerance": {"rms_positon": 2.0}}, "did you mean tolerance.rms_position"),
        ({"tolerance": {"rms_position": "small"}}, "must be a number"),
        ({"robot": []}, "must be random, a name or file"),
    ],
)
def test_a_wrong_study_is_refused_by_name(more, says):
    with pytest.raises(ValueError) as caught:
        changed(**more)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", READY_MADE)
def test_a_ready_made_study_has_its_name_and_points(name):
    study = load_study(study_file(name))
    assert study.name == name
    assert study.points()


def test_a_study_that_is_neither_file_nor_ready_made_is_refused_with_the_names(tmp_path):
    with pytest.raises(ValueError, match="no such file, nor a study of coverage, encoders"):
        study_file("encoder")
    mine = tmp_path / "encoder.yaml"
    mine.write_text("kind: drive")
    assert study_file(str(mine)) == mine


def test_points_are_all_combinations_with_one_sample_for_each_seed():
    points = changed().points()
    assert len({point.key for point in points}) == len(points) == 2 * 2 * 2
    payloads = {(point.seed, point.settings["payload"]) for point in points}
    assert len(payloads) == 2
    more = changed(grid={**SMALL["grid"], "torque_delay": [0, 1, 2]}).points()
    assert {point.key for point in points} < {point.key for point in more}
    # What shares a block has one delay.
    for chunk in chunks(points):
        assert len({point.settings["torque_delay"] for point in chunk}) == 1


def test_rows_do_not_depend_on_who_shares_their_block():
    points = changed(grid={}).points()
    together = run_chunk(points)
    alone = [row for point in points for row in run_chunk([point])]
    for row, other in zip(together, alone, strict=True):
        assert row["key"] == other["key"]
        assert row["rms_position"] == pytest.approx(other["rms_position"], abs=1e-9)
        assert set(row) <= {"key", *COLUMNS["drive"]}


def test_a_robot_that_cannot_be_is_a_row_with_its_reason():
    (row, other) = run_chunk(changed(grid={}, robot="nobody").points())
    assert row["failed"] and "unknown robot 'nobody'" in row["reason"] and other["failed"]


def test_identification_covers_the_truth_and_says_what_it_does_not_know():
    study = study_from(
        {"kind": "identification", "repeats": 3, "first_seed": 300, "fixed": {"seconds": 4.0}}, "i"
    )
    rows = run_chunk(study.points())
    for row in rows:
        assert row["failed"] or abs(row["error_k7"]) < 20.0
        half = 1.959963984540054 * row["std_k7"]
        assert row["covered_k7"] == (abs(row["k7"] - row["true_k7"]) <= half)
    (cell,) = cells(study, rows)
    assert cell["runs"] == 3
    assert answer(study, [cell]) == ""


def test_cells_are_in_the_grids_order_and_have_units_and_shares():
    study = changed()
    rows = quick_chunk(study.points())[::-1]
    for row in rows:
        row |= {"settled": row["encoder_counts"] == 512}
    result = cells(study, rows)
    order = [(cell["encoder_counts"], cell["torque_delay"]) for cell in result]
    assert order == [(512, 0), (512, 1), (4096, 0), (4096, 1)]
    assert [cell["unsettled"] for cell in result] == [0.0, 0.0, 1.0, 1.0]
    assert all(name in LABELS for name in shown(study))
    assert LABELS["error_k7_95"].text == "error of K7, 95th percentile, %"


def test_reasons_are_counted_without_their_numbers():
    reasons = ("K5, K6 are not identifiable: 3", "12 of 15 windows", "7.5 of 15 windows", None)
    rows = [{"failed": True, "reason": reason} for reason in reasons]
    assert command._reasons([*rows, {"failed": False, "reason": "1"}]) == {
        "… of … windows": 2, "K5, K6 are not identifiable": 1, "": 1,
    }  # fmt: skip


def test_the_table_is_as_wide_as_the_terminal_and_cuts_no_word(capsys):
    study = changed(grid={"known_couplings": [0.5, 1.0], "encoder_counts": [512, 4096]})
    result = cells(study, quick_chunk(study.points()))
    for width in (80, 50):
        command._print(study, result, Console(width=width))
        printed = capsys.readouterr().out
        assert "…" not in printed and max(map(len, printed.splitlines())) <= width
        assert printed.count("known_couplings 0.5") == 2
        assert printed.count("encoder_counts 4096") == 2


class InProcess:
    """A cluster of this process, whose task `lost` fails and which is interrupted after `most`."""

    dashboard = "none"

    def __init__(self, *_arguments, lost=None, most=None):
        self._lost, self._most = lost, most

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        pass

    def run(self, function, tasks, seconds):
        for number, task in enumerate(tasks):
            if number == self._most:
                raise KeyboardInterrupt
            if number == self._lost:
                yield TaskEnd(number, None, "took longer than 1 s")
            else:
                yield TaskEnd(number, function(task), None)


def test_a_studys_charts_have_a_point_per_cell_and_a_gap_without_a_value():
    label = {"name": "coverage of K7", "unit": "%", "factor": 100.0}
    summary = {"axes": ["law", "speed"], "shown": {"coverage_k7": label}, "cells": [
        {"law": "a", "speed": 0.5, "coverage_k7": 0.9}, {"law": "b", "speed": 0.5,
         "coverage_k7": None}, {"law": "a", "speed": 1.0, "coverage_k7": 0.7},
    ]}  # fmt: skip
    (chart,) = study_charts(summary)
    slow, fast = chart.curves
    assert (slow.name, slow.x, fast.name, fast.x) == ("speed 0.5", [0.0, 1.0], "speed 1", [0.0])
    assert slow.y == pytest.approx([90.0, np.nan], nan_ok=True) and fast.y == pytest.approx([70.0])
    assert fast.marks  # a line of one point would not be seen
    assert chart.x_unit == "law (0: a, 1: b)"
    assert chart.limits == (95.0,) and chart.y_range == pytest.approx((69.0, 101.0))
    summary |= {"axes": [], "cells": [{"coverage_k7": 1.0}]}
    (alone,) = study_charts(summary)
    assert [(curve.name, curve.x, curve.y) for curve in alone.curves] == [
        ("coverage of K7", [0.0], [100.0])
    ]


@pytest.mark.parametrize(
    ("values", "wide"),
    [((256, 16384), True), ((256, 2559), False), ((0.0, 1e3), False), (("few", "many"), False)],
)
def test_an_axis_over_an_order_of_magnitude_is_logarithmic(values, wide, tmp_path):
    label = {"name": "coverage of K7", "unit": "%", "factor": 100.0}
    cells = [{"counts": value, "coverage_k7": 0.9} for value in values]
    summary = {"axes": ["counts"], "shown": {"coverage_k7": label}, "cells": cells}
    charts = study_charts(summary)
    assert charts[0].logarithmic_x == wide
    draw_study(charts, "counts", tmp_path / "study.png")
    assert (tmp_path / "study.png").stat().st_size > 10_000


def quick_chunk(points):
    """Rows without driving: their figures follow of the points alone."""
    figures = ("settling_time", "rms_position", "rms_heading", "rms_torque", "torque_share")
    return [
        {"key": point.key, "robot": point.robot, "seed": point.seed, **point.settings}
        | {"failed": False, "reason": "", **dict.fromkeys(figures, point.settings["payload"])}
        | {"settled": True}
        for point in points
    ]


def test_a_study_that_lost_a_task_or_was_interrupted_goes_on(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(command, "run_chunk", quick_chunk)
    draw_study = command.draw_study
    monkeypatch.setattr(command, "draw_study", lambda *_: None)
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps(SMALL))

    def run(folder, **ends):
        monkeypatch.setattr(command, "Cluster", lambda *a: InProcess(*a, **ends))
        status = command.main([str(file), "--output", str(tmp_path / folder)])
        return status, capsys.readouterr().out

    status, text = run("a", lost=0)
    assert status == command.SOME_FAILED and "4 runs failed (took longer than 1 s)" in text
    status, text = run("a", most=0)
    assert status == command.INTERRUPTED and "4 of them are already done" in text
    assert run("a")[0] == 0
    assert "8 of them are already done" in run("a")[1]
    monkeypatch.setattr(command, "draw_study", draw_study)
    assert run("b")[0] == 0
    one, other = (json.loads((tmp_path / name / "summary.json").read_text()) for name in "ab")

    def by_cell(summary):
        return sorted(json.dumps(cell, sort_keys=True) for cell in summary["cells"])

    assert by_cell(one) == by_cell(other)
    assert one["runs"] == 8
    assert (tmp_path / "b" / "study.png").stat().st_size > 1000


def test_a_ready_made_study_runs_by_its_name(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(command, "run_chunk", quick_chunk)
    monkeypatch.setattr(command, "Cluster", InProcess)
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))
    monkeypatch.setattr("diffbot_study.study_plan.READY_MADE", ("small",))
    monkeypatch.setattr("diffbot_study.study_plan._READY_MADE", tmp_path)
    assert command.main(["small", "--output", str(tmp_path / "results")]) == 0
    page = (tmp_path / "results" / "study.html").read_text()
    assert "study small" in page and '"first_seed": 300' in page.replace("&quot;", '"')


def test_a_table_has_each_row_once_whoever_is_killed(tmp_path):
    pytest.importorskip("pyarrow")
    from diffbot_study.parquet_store import ParquetStore

    columns = {"x": "float64", "name": "string", "good": "bool"}
    store = ParquetStore(tmp_path, columns)
    store.append([{"key": "a", "x": 1.0, "name": "one", "good": True}, {"key": "b", "x": 2.0}])
    store.append([{"key": "a", "x": 3.0, "good": False}])
    (tmp_path / ".part-1.parquet").write_bytes(b"half of one")
    again = ParquetStore(tmp_path, columns)
    assert {row["key"]: row["x"] for row in again.rows()} == {"a": 3.0, "b": 2.0}
    assert again.keys(good=False) == {"a"}
    before = again.rows()
    parts = again.parts
    copies = {part.name: part.read_bytes() for part in parts}
    again.compact(2)
    assert len(again.parts) == 1 and again.rows() == before
    # As if it had been killed before the old parts went.
    for name, content in copies.items():
        (tmp_path / name).write_bytes(content)
    assert again.rows() == before
    assert not (tmp_path / ".part-1.parquet").exists()
    with pytest.raises(ValueError, match="number"):
        ParquetStore(tmp_path, {"x": "number"})
