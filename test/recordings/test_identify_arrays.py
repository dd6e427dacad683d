# SPDX-License-Identifier: Apache-2.0
"""identify_arrays with arrays as people have them: rows lost, wrong units, not sorted."""

import math

import numpy as np
import pytest
from identify_command import identify
from made_recordings.excited_runs import RunSetting, record, usual_run

from diffbot_recordings import identify_arrays, identify_frame
from diffbot_recordings.samples import EFFORTS, POSITIONS, WHEELS


@pytest.fixture(scope="module")
def log():
    """Time, angles, torques of a run of 10 s, and the truth."""
    run = record(RunSetting(), seed=0, seconds=10.0)
    columns = ("stamp", "position", "effort")
    return *(np.array([getattr(s, c) for s in run.samples]) for c in columns), run.truth


def identified(time, angles, torques):
    return identify_arrays(time, angles, torques, wheel_radius=0.075, wheel_separation=0.27217)


def test_lists_float32_and_encoders_that_wrap_make_no_difference(log):
    time, angles, torques, _ = log
    result = identified(time, angles, torques)
    wrapped = np.remainder(angles + np.pi, math.tau) - np.pi
    for same in (
        identified(time.tolist(), angles.tolist(), torques.tolist()),
        identified(time + 1.7e9, wrapped, torques),
        identified(time, angles.astype(np.float32), torques.astype(np.float32)),
    ):
        np.testing.assert_allclose(same.values, result.values, rtol=1e-4)
        np.testing.assert_allclose(same.variances, result.variances, rtol=1e-2)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_row_with_nan_is_left_out_and_said(log, column):
    arrays = [each.copy() for each in log[:3]]
    arrays[column][300] = math.nan
    result = identified(*arrays)
    assert result.samples == len(arrays[0]) - 2  # the torque before the first row is not known
    said = "1 of 1001 rows are ignored, the first is row 300"
    assert any(said in warning for warning in result.warnings)


def test_rows_that_are_missing_hardly_widen_the_intervals(log):
    """Ten of 1001: measured 1.07 to 1.12 times as wide; each is bridged with hardly any weight."""
    *arrays, truth = log
    complete = identified(*arrays)
    kept = np.delete(np.arange(len(arrays[0])), np.arange(60, 960, 90))
    result = identified(*(each[kept] for each in arrays))
    deviations = np.sqrt(result.variances)
    assert np.all(deviations < 1.7 * np.sqrt(complete.variances))
    assert np.all(np.abs(np.array(result.values) - truth) < 4.0 * deviations)
    assert "gaps in the time: 10" in result.warnings[0]


def test_many_missing_rows_are_bridged(log):
    *arrays, truth = log
    kept = np.delete(np.arange(len(arrays[0])), np.arange(10, 1000, 12))
    result = identified(*(each[kept] for each in arrays))
    deviations = np.sqrt(result.variances)
    assert np.all(np.isfinite(deviations))
    assert np.all(np.abs(np.array(result.values) - truth) < 4.0 * deviations)


def test_a_gap_of_a_second_does_not_refuse_the_log(log):
    *arrays, truth = log
    kept = np.delete(np.arange(len(arrays[0])), np.arange(400, 500))
    result = identified(*(each[kept] for each in arrays))
    assert np.all(np.abs(np.array(result.values) - truth) < 4.0 * np.sqrt(result.variances))


def changed(log, index, change):
    arrays = [each.copy() for each in log[:3]]
    arrays[index] = change(arrays[index])
    return arrays


def repeated(time):
    time[100] = time[99]
    return time


@pytest.mark.parametrize(
    ("index", "change", "words"),
    [
        (0, lambda time: 1e3 * time, r"increases by 10 s .* give it in s"),
        (
            0,
            repeated,
            r"time\[100\] = 0.99 s after time\[99\] = 0.99 s: must increase; sort the rows",
        ),
        (0, lambda time: time[::-1], r"time\[1\] = .* must increase"),
        (1, np.degrees, r"row \d+: angle of the (left|right) wheel jumps.*; angles must be in rad"),
        (2, lambda torque: math.nan * torque, "0 rows with a time, both angles and both torques"),
    ],
)
def test_what_cannot_be_used_is_refused_by_row_and_reason(log, index, change, words):
    with pytest.raises(ValueError, match=words):
        identified(*changed(log, index, change))


def test_a_reading_after_a_late_one_is_no_jump(log):
    """Before, a fast wheel jumped by 0.301 rad in 2.66 ms of a period of 5 ms: "must be at most 100
    rad/s"."""
    time, angles, torques = (each.copy() for each in log[:3])
    angles *= 40.0 * np.median(np.diff(time)) / np.abs(np.diff(angles, axis=0)).max()  # 40 rad/s
    fastest = int(np.argmax(np.abs(np.diff(angles, axis=0)).max(axis=1)))
    time[fastest] += 0.8 * np.median(np.diff(time))
    assert identified(time, angles, torques).samples


@pytest.mark.parametrize(
    ("radius", "separation", "words"),
    [
        (75.0, 0.27217, "wheel_radius = 75.0 m must be at most 2. Give the rolling radius"),
        (0.075, 272.17, "wheel_separation = 272.17 m must be at most 10. Give the full track"),
        (-0.075, 0.27217, "wheel_radius = -0.075 m must be above 0"),
        (0.075, math.nan, "wheel_separation = nan must be finite"),
    ],
)
def test_millimetres_are_refused(log, radius, separation, words):
    with pytest.raises(ValueError, match=words):
        identify_arrays(*log[:3], wheel_radius=radius, wheel_separation=separation)


@pytest.mark.parametrize("rows", [0, 1])
def test_so_are_too_few_rows(log, rows):
    with pytest.raises(ValueError, match=f"{rows} rows .* must be at least 2"):
        identified(*(each[:rows] for each in log[:3]))


@pytest.mark.parametrize("case", ["whole", "from epoch", "rests", "lost", "wraps", "short"])
def test_a_table_of_the_same_rows_gives_the_same_numbers(log, tmp_path, case):
    """Before: arrays were fitted to all rows, tables to three quarters of them."""
    run = usual_run() if case != "short" else None
    if run is None:
        time, angles, torques = (each.copy() for each in log[:3])
    else:
        columns = ("stamp", "position", "effort")
        time, angles, torques = (np.array([getattr(s, c) for s in run.samples]) for c in columns)
    if case == "from epoch":
        time = time + 1.7e9
    if case == "rests":  # for 4 s in the middle
        at = len(time) // 2
        still = np.arange(1, 401)
        time = np.concatenate((time[:at], time[at - 1] + 0.01 * still, time[at:] + 4.0))
        angles = np.concatenate((angles[:at], np.tile(angles[at - 1], (400, 1)), angles[at:]))
        torques = np.concatenate((torques[:at], np.zeros((400, 2)), torques[at:]))
    if case == "lost":
        kept = np.delete(np.arange(len(time)), [*range(60, 960, 90), *range(1500, 1600)])
        time, angles, torques = time[kept], angles[kept], torques[kept]
    if case == "wraps":
        angles = np.remainder(angles, 20000 * math.tau / 4096)
    path = tmp_path / "log.csv"
    speeds = np.gradient(np.unwrap(angles, axis=0), time, axis=0)
    # A table with velocities, too, is read another way only where angles wrap or rows lack.
    without = np.empty((len(time), 0))
    for more in (without, speeds) if case in ("whole", "lost", "wraps") else (without,):
        header = ["time", *POSITIONS, *EFFORTS, *WHEELS][: 5 + more.shape[1]]
        rows = np.column_stack((time, angles, torques, more)).tolist()
        lines = [",".join(map(repr, row)) for row in rows]
        path.write_text("\n".join((",".join(header), *lines)) + "\n")
        wheels = ("--wheel-radius", "0.075", "--track", "0.27217")
        _, summary = identify(tmp_path, path, *wheels)
        result = identified(time, angles, torques)
        for i, name in enumerate(("K5", "K6", "K7", "K8")):
            own = summary["parameters"][name]
            assert result.values[i] == pytest.approx(own["value"], rel=1e-9)
            assert math.sqrt(result.variances[i]) == pytest.approx(own["std"], rel=1e-9)
        assert result.samples == summary["samples"]
        for i, name in enumerate(("viscous_left", "viscous_right")):
            own = summary["friction"][name]["value"]
            assert result.friction.values[i] == pytest.approx(own, rel=1e-9, abs=1e-12)


def test_arrays_of_one_encoder_are_refused_as_a_table_is(log):
    time, angles, torques, _ = log
    with pytest.raises(ValueError, match="one encoder is recorded as both wheels"):
        identified(time, angles[:, [0, 0]], torques)


class Columns:
    """Columns by name as pandas has them: iterating gives names, indexing what NumPy converts."""

    def __init__(self, columns):
        self._columns = columns

    def __iter__(self):
        return iter(self._columns)

    def __getitem__(self, name):
        return self._columns[name].tolist() if name != "time" else self._columns[name]


def framed(frame, columns=()):
    return identify_frame(frame, wheel_radius=0.075, wheel_separation=0.27217, columns=columns)


def test_columns_by_name_give_the_same_numbers(log):
    time, angles, torques, _ = log
    expected = identified(time, angles, torques).values
    frame = {
        "left_effort [mNm]": 1e3 * torques[:, 0],
        "note": np.array(["x"] * len(time)),
        "time": time,
        "right_angle": angles[:, 1],
        "left_position_deg": np.degrees(angles[:, 0]),
        "right_torque": torques[:, 1],
    }
    assert framed(frame).values == pytest.approx(expected, rel=1e-9)
    assert framed(Columns(frame)).values == pytest.approx(expected, rel=1e-9)
    frame["r"] = frame.pop("right_torque") / 2.0
    named = ["time=time,left_position=left_position_deg*deg,right_position=right_angle",
             "left_effort=left_effort*0.001,right_effort=r*2"]  # fmt: skip
    assert framed(frame, named).values == pytest.approx(expected, rel=1e-9)


def test_dates_of_columns_are_times(log):
    """Microseconds since 1970 are kept to 0.2 us in seconds."""
    time, angles, torques, _ = log
    dates = np.datetime64("2026-01-31T12:00:00", "ns") + np.round(1e9 * time).astype(int)
    frame = dict(zip((*POSITIONS, *EFFORTS), (*angles.T, *torques.T), strict=True))
    result = framed({**frame, "time": dates})
    expected = identified(time + 1769860800.0, angles, torques).values
    assert result.values == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"time": "stamp_of"}, "no column holds time; .*columns: "),
        ({"left_effort": "left_effort [A]"}, "is in A, but efforts are read in N m"),
        ({"left_position": "left_position_ticks"}, "is in ticks, and left_position in rad"),
    ],
)
def test_columns_that_are_not_these_are_refused(log, changed, message):
    time, angles, torques, _ = log
    names = (changed.get(name, name) for name in ("time", *POSITIONS, *EFFORTS))
    frame = dict(zip(names, (time, *angles.T, *torques.T), strict=True))
    with pytest.raises(ValueError, match=message):
        framed(frame)
