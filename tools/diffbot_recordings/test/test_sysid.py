# SPDX-License-Identifier: Apache-2.0
"""SysId logs: reading, known gains back with intervals, clear refusals."""

import json
import math

import numpy as np
import pytest

from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sysid_log import read_sysid
from diffbot_recordings.verdict import AnalysisOutcome
from diffbot_recordings.voltage_analysis import analyse_voltages

TRACK, PER_ROTATION, T = 0.6, 0.4787, 0.02
# Mean and difference of the sides: ks V, kv V s/m, ka V s^2/m; the yaw axis has more inertia.
LINEAR, TURNING = (0.5, 2.4, 0.35), (0.6, 2.7, 0.5)


def motion(voltage, gains, dead_time=0.02, parts=4):
    """Velocity and way of V = ks sign(v) + kv v + ka dv/dt from rest, by small steps."""
    ks, kv, ka = gains
    v, x, result = 0.0, 0.0, []
    decay = math.exp(-T / parts * kv / ka)
    for k in range(len(voltage)):
        result.append((v, x))
        effort = voltage[max(k - round(dead_time / T), 0)]
        push = math.copysign(max(abs(effort) - ks, 0.0), effort)
        for _ in range(parts):
            x += 0.5 * T / parts * v
            v = push / kv + (v - push / kv) * decay
            x += 0.5 * T / parts * v
    return np.array(result).T


def log(rng, angular=False, clockwise=False):
    data = {
        "sysid": True,
        "test": "Drivetrain (Angular)" if angular else "Drivetrain",
        "units": "Meters",
        "unitsPerRotation": PER_ROTATION,
    }
    for direction, sign in (("forward", 1.0), ("backward", -1.0)):
        ramp = np.r_[0.0, sign * 0.5 * T * np.arange(350)]
        step = np.r_[0.0, np.full(75, sign * 5.0)]
        data[f"slow-{direction}"] = rows(rng, ramp, angular, clockwise)
        data[f"fast-{direction}"] = rows(rng, step, angular, clockwise)
    return data


def rows(rng, voltage, angular, clockwise):
    v, x = motion(voltage, TURNING if angular else LINEAR)
    left = -1.0 if angular else 1.0
    times = 100.0 + T * np.arange(len(voltage))
    rate = 2.0 * v / TRACK * angular * (-1.0 if clockwise else 1.0)
    noise = 0.004 * rng.standard_normal((4, len(v)))
    return np.column_stack(
        (
            times,
            left * voltage,
            voltage,
            left * x / PER_ROTATION,
            x / PER_ROTATION,
            (left * v + noise[0]) / PER_ROTATION,
            (v + noise[1]) / PER_ROTATION,
            2.0 * x / TRACK * angular * (-1.0 if clockwise else 1.0) + 0.3,
            rate + noise[2] / TRACK,
        )
    ).tolist()


def analysed(tmp_path, data):
    return {result.verdict.subject: result for result in analyse_voltages([read(tmp_path, data)])}


def check(verdict, expected):
    assert verdict.outcome is AnalysisOutcome.ESTIMATED, verdict.summary()
    for name, true in expected.items():
        value = verdict.value(name)
        # The first samples of a motion are dropped by a threshold on the noisy velocity.
        assert abs(value.value - true) < 3.5 * value.std + 0.002 * true, name
        assert 1.96 * value.std < 0.1 * true, name


def test_gains_of_both_sides_are_found_and_unseen_tests_predicted(tmp_path):
    result = analysed(tmp_path, log(np.random.default_rng(1)))
    expected = dict(zip(("ks", "kv", "ka"), LINEAR, strict=True))
    for subject in ("left side", "right side", "forward axis"):
        check(result[subject].verdict, expected)
        assert result[subject].verdict.r_squared_held_out > 0.99
        assert len(result[subject].predictions) == 4
    check(result["forward axis"].verdict, {"K7": 0.5 / LINEAR[2]})
    # No start is assumed: what remains is the row in which the first motion is seen.
    dead_time = result["forward axis"].verdict.value("dead time")
    assert abs(dead_time.value - 0.02) < 1.96 * dead_time.std < 2.0 * T
    assert result["yaw axis"].verdict.outcome is AnalysisOutcome.NOT_EXCITED
    assert "angular" in result["yaw axis"].verdict.reason


@pytest.mark.parametrize("clockwise", [False, True])
def test_the_yaw_axis_and_track_width_are_found_whichever_way_the_gyro_counts(tmp_path, clockwise):
    result = analysed(tmp_path, log(np.random.default_rng(2), angular=True, clockwise=clockwise))
    ks, kv, ka = TURNING
    expected = {"ks": ks, "kv": kv * TRACK / 2.0, "ka": ka * TRACK / 2.0, "K8": 1.0 / (ka * TRACK)}
    verdict = result["yaw axis"].verdict
    check(verdict, expected)
    assert verdict.value("track width").value == pytest.approx(TRACK, rel=1e-3)
    assert any("clockwise" in note for note in verdict.notes) is clockwise
    assert result["forward axis"].verdict.outcome is AnalysisOutcome.NOT_EXCITED


def test_a_plant_without_these_gains_is_refused(tmp_path):
    rng = np.random.default_rng(3)
    data = log(rng)
    for name in new_names(data):
        table = np.array(data[name])
        # A wheel that slips: beyond 1 m/s, the motor turns as it likes.
        for column in (5, 6):
            v = table[:, column] * PER_ROTATION
            table[:, column] = np.where(np.abs(v) > 0.8, np.sign(v) * 4.0, v) / PER_ROTATION
        data[name] = table.tolist()
    assert analysed(tmp_path, data)["left side"].verdict.outcome is AnalysisOutcome.REFUSED


def read(tmp_path, data):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(data))
    return read_sysid(path)


def test_units_and_old_rows_are_understood(tmp_path):
    data = log(np.random.default_rng(4))
    new = read(tmp_path, data).tests["slow-forward"]
    table = np.array(data["slow-forward"])
    assert new.left_velocity == pytest.approx(table[:, 5] * PER_ROTATION)
    assert new.right_position == pytest.approx(table[:, 4] * PER_ROTATION)
    feet = read(tmp_path, {**data, "units": "Feet", "unitsPerRotation": PER_ROTATION / 0.3048})
    assert feet.tests["slow-forward"].left_velocity == pytest.approx(new.left_velocity)
    assert feet.unit == "m"
    old = {key: value for key, value in data.items() if key != "sysid"}
    for name in new_names(data):
        old[name] = [[r[0], 12.0, 0.1, *r[1:7], r[7]] for r in data[name]]
    result = read(tmp_path, old).tests["slow-forward"]
    for name in ("left_voltage", "right_voltage", "left_velocity", "right_position", "yaw"):
        assert getattr(result, name) == pytest.approx(getattr(new, name)), name
    assert np.isnan(result.yaw_rate).all()


def new_names(data):
    return [name for name in data if name.startswith(("slow", "fast"))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": "Arm"}, "test = 'Arm'"),
        ({"units": "Furlongs"}, "units = 'Furlongs'"),
        ({"unitsPerRotation": 0}, "unitsPerRotation = 0"),
        ({"slow-forward": [[1.0, 2.0]]}, r"rows have shape \(1, 2\)"),
        ({"slow-forward": [["a"] * 9]}, "lists of numbers"),
    ],
)
def test_a_strange_log_is_refused_by_name(tmp_path, change, message):
    with pytest.raises(RecordingError, match=message):
        read(tmp_path, {**log(np.random.default_rng(5)), **change})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"test": "Drivetrain"}', "\x00\x01"])
def test_what_is_no_log_is_refused(tmp_path, text):
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(RecordingError, match=r"log\.json"):
        read_sysid(path)


def test_renamed_tests_are_listed_beside_the_expected_names(tmp_path):
    path = tmp_path / "log.json"
    rows = [[0.01 * k, *[0.0] * 8] for k in range(50)]
    path.write_text(
        json.dumps(
            {"sysid": True, "test": "Drivetrain", "units": "Meters", "unitsPerRotation": 1.0}
            | {"ramp-ahead": rows, "jump-ahead": rows}
        )
    )
    with pytest.raises(RecordingError, match="slow-forward.*its entries are .*ramp-ahead, jump"):
        read_sysid(path)
