# SPDX-License-Identifier: Apache-2.0
"""Wheels' angles that are not theirs, and counters that wrap anywhere.

The run is that of excited_runs.usual_run: twil, 30 s, seed 3.
"""

import math
import re

import numpy as np
import pytest
from identify_command import TORQUE_COLUMNS, identify, torque_rows, write_table
from made_recordings.excited_runs import RunSetting, record, usual_run
from made_recordings.recorded_bag import RecordedBag, write_run

from arc_odometry import JointSample
from diffbot_recordings import wheel_sources
from diffbot_recordings.counter_wraps import continuous
from diffbot_recordings.samples import POSITIONS
from diffbot_recordings.segments import Segment
from diffbot_recordings.wheel_sources import WheelSources

ROBOT = ("--robot", "twil")
NAMES = ("K5", "K6", "K7", "K8")
COUNT = math.tau / 4096


@pytest.fixture(scope="module")
def rows():
    return torque_rows(usual_run().samples)


@pytest.fixture(scope="module")
def expected(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    status, summary = identify(folder, write_table(folder / "log.csv", rows), *ROBOT)
    assert status == 0
    return summary["parameters"]


def wrapped(angles, size, low):
    """Angles of a counter that holds [low, low + size), rad."""
    return low + np.remainder(angles - low, size)


@pytest.mark.parametrize(
    ("wheels", "size", "low"),
    [
        ((1,), 65536 * COUNT, -65536 * COUNT),
        ((2,), 16.0 * math.tau, 0.0),
        ((2,), 10000 * COUNT, -10000 * COUNT),
        ((1,), math.tau, -math.pi),
        ((1, 2), 2048 * COUNT, 0.0),
    ],
)
def test_a_counter_may_wrap_anywhere(rows, expected, tmp_path, wheels, size, low):
    """Before: "check the torque's delay", or K7 and K8 far outside their intervals."""
    rows = rows.copy()
    for wheel in wheels:
        middle = np.median(rows[:, wheel])  # so that it wraps at least once
        rows[:, wheel] = wrapped(rows[:, wheel] - middle, size, low)
        assert np.abs(np.diff(rows[:, wheel])).max() > 0.9 * size
    status, summary = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 0
    for name in NAMES:
        whole, result = expected[name], summary["parameters"][name]
        # Over a wrap, the rotation is known to about a count.
        assert abs(result["value"] - whole["value"]) < 0.5 * whole["std"], name


@pytest.mark.parametrize("at", [5.0, 24.0])
def test_a_counter_that_is_set_anew_once_costs_nothing(rows, expected, tmp_path, capsys, at):
    """At 24 s it falls into a part that is held out."""
    rows = rows.copy()
    begin = int(np.searchsorted(rows[:, 0], at))
    rows[begin:, 1] -= rows[begin, 1] + 761.9
    status, summary = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 0
    for name in NAMES:
        whole, result = expected[name], summary["parameters"][name]
        assert abs(result["value"] - whole["value"]) < 0.2 * whole["std"], name
    said = summary["recording_warnings"]
    assert len(said) == 1 and "left_position jumps once" in said[0]
    assert said[0] in capsys.readouterr().out


def test_wraps_are_removed_exactly_and_sound_angles_are_the_same_array():
    rng = np.random.default_rng(4)
    times = 0.01 * np.arange(4000)
    turned = np.cumsum(0.1 * np.sin(0.9 * times) + 0.001 * rng.normal(size=4000))
    angles = COUNT * np.round(turned / COUNT)
    same, none = continuous(times, angles)
    assert same is angles and none is None
    for size in (5000 * COUNT, 9.0 * math.tau, 300 * COUNT + 3.0 * math.tau):
        size = COUNT * round(size / COUNT)
        back, result = continuous(times, wrapped(angles, size, 0.3 * COUNT))
        assert np.allclose(np.diff(back), np.diff(angles), atol=1e-9)
        assert result.size == pytest.approx(size, abs=1e-9)


def test_an_angle_over_a_gap_is_no_wrap():
    times = np.concatenate((0.01 * np.arange(200), 5.0 + 0.01 * np.arange(200)))
    angles = np.concatenate((np.linspace(0.0, 10.0, 200), np.linspace(90.0, 100.0, 200)))
    assert continuous(times, angles)[1] is None


def second_publisher(samples, kind, every=10):
    """Joint samples with those of a second publisher ten times a second, in logged order."""
    for at, sample in enumerate(samples):
        yield sample
        if at % every == 3 % every:
            angles = {
                "zeros": (0.0, 0.0),
                "elsewhere": (7.5, -2.0),
                "moves": (math.sin(sample.stamp), 3.0 * sample.stamp),
            }[kind]
            yield JointSample(sample.stamp + 0.003, angles, (0.0, 0.0), (0.0, 0.0))


@pytest.mark.parametrize(
    ("kind", "bag"), [("zeros", True), ("zeros", False), ("elsewhere", True), ("moves", False)]
)
def test_a_second_publisher_is_named(tmp_path, capsys, kind, bag):
    """Before: "not excited: 2772 of 2773 samples; give a longer recording"."""
    samples = list(second_publisher(usual_run().samples, kind))
    path = tmp_path / "run"
    if bag:
        write_run(path, samples)
    else:
        path = write_table(tmp_path / "run.csv", torque_rows(samples))
    status, summary = identify(tmp_path, path, *ROBOT)
    assert status == 2 and summary is None
    said = capsys.readouterr().err
    assert "a second node publishes these joints" in said
    assert ("left_wheel_joint and right_wheel_joint" if bag else "left_position") in said
    if kind == "zeros":
        often = re.search(r"jump to 0 and 0 rad (\S+) times a second", said)
        assert float(often[1]) == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize("every", [1, 100])
def test_a_second_publisher_of_any_rate_is_named(tmp_path, capsys, every):
    """Tables asked for degrees or ticks where it was as fast as the first one."""
    samples = second_publisher(usual_run().samples, "zeros", every)
    path = write_table(tmp_path / "run.csv", torque_rows(samples))
    status, _ = identify(tmp_path, path, *ROBOT)
    assert status == 2 and "a second node publishes these joints" in capsys.readouterr().err


def test_one_encoder_in_half_of_the_recording_is_named(rows, tmp_path, capsys):
    rows, half = rows.copy(), len(rows) // 2
    rows[half:, 2] = rows[half:, 1] + rows[half, 2] - rows[half, 1]
    status, _ = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 2 and "one encoder is recorded as both wheels" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("speeds", [True, False])
def test_one_encoder_recorded_twice_is_named(rows, tmp_path, capsys, speeds):
    """Before: "the robot changed 32 s after its first sample, as by a payload"."""
    rows = rows.copy()
    rows[:, 2] = rows[:, 1]
    if not speeds:
        rows[:, 4] = rows[:, 3]
    status, _ = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 2
    said = capsys.readouterr().err
    assert "turn by exactly the same angles from 0.0 to 30.0 s" in said
    assert f"their {'speeds' if speeds else 'efforts'} differ" in said


def test_a_straight_drive_is_not_taken_for_one_encoder(tmp_path):
    """Both wheels turn exactly alike, without noise: their speeds and efforts are equal, too."""
    rows = torque_rows(record(RunSetting(straight=True), 3, 30.0).samples)
    rows[:, [2, 4, 6]] = rows[:, [1, 3, 5]]
    status, summary = identify(tmp_path, write_table(tmp_path / "log.csv", rows), *ROBOT)
    assert status == 1 and "the wheels move together" in summary["reason"]


def test_motion_that_torques_do_not_explain_is_not_a_lack_of_motion(rows, tmp_path):
    """Efforts 0.15 s late, far beyond the delays that are searched. Before: "too little torque in
    common; accelerate and brake the robot straight ahead"."""
    late = rows[15:].copy()
    late[:, :5] = rows[15:, :5]
    late[:, 5:] = rows[:-15, 5:]
    early = rows[:-15].copy()
    early[:, 5:] = rows[15:, 5:]
    for some in (late, early):
        status, summary = identify(tmp_path, write_table(tmp_path / "log.csv", some), *ROBOT)
        assert status == 1
        assert "too little torque" not in summary["reason"]
        assert "the wheels move together" not in summary["reason"]


def stamped_apart(folder, apart, log_apart=0.0, count=1000):
    """A bag whose torque commands are stamped by another clock, as velocity commands in a table."""
    with RecordedBag(folder) as bag:
        for k in range(count):
            stamp = 200.0 + 0.02 * k
            v = 0.3 * math.sin(0.8 * stamp)
            bag.odometry("/odom", stamp, (v, 0.0))
            bag.stamped_twist("/cmd_vel", stamp + log_apart, (v, 0.0), stamp + apart)


@pytest.mark.parametrize("apart", [-100.0, 1.7e9, 5.0])
def test_two_clocks_are_named(tmp_path, capsys, apart):
    """Before: "no stretch of the recording can be used"; or a dead time of seconds."""
    stamped_apart(tmp_path / "bag", apart)
    status, _ = identify(tmp_path, tmp_path / "bag")
    assert status == 2
    said = capsys.readouterr().err
    assert "/cmd_vel and /odom have two clocks" in said
    assert f"stamped {abs(apart):.10g} s {'before' if apart < 0.0 else 'after'} /odom" in said


def test_commands_a_little_late_are_of_one_clock(tmp_path, capsys):
    stamped_apart(tmp_path / "bag", 0.2, count=300)
    identify(tmp_path, tmp_path / "bag")
    assert "two clocks" not in capsys.readouterr().err


def test_tables_of_two_clocks_are_named(tmp_path, capsys):
    times = 0.02 * np.arange(1000)
    speed = 0.3 * np.sin(0.8 * times)
    commands = write_table(
        tmp_path / "commands.csv", np.column_stack((times + 500.0, speed)), ("time", "command_v")
    )
    odometry = write_table(
        tmp_path / "odometry.csv", np.column_stack((times, speed)), ("time", "v")
    )
    status, _ = identify(tmp_path, commands, odometry)
    assert status == 2
    assert "as if of two clocks" in capsys.readouterr().err


def values(summary):
    return [summary["parameters"][name]["value"] for name in NAMES]


@pytest.mark.parametrize("lacking", [slice(None), slice(100, 101)])
def test_a_velocity_that_is_no_number_does_not_matter(rows, tmp_path, lacking):
    """Before: every sample was lost. As if there were no velocities, whichever are missing."""
    none = [0, 1, 2, 5, 6]
    header = [TORQUE_COLUMNS[i] for i in none]
    path = write_table(tmp_path / "none.csv", rows[:, none], header)
    status, without = identify(tmp_path / "none", path, *ROBOT)
    assert status == 0
    rows = rows.copy()
    rows[lacking, 3:5] = math.nan
    status, result = identify(tmp_path / "nan", write_table(tmp_path / "nan.csv", rows), *ROBOT)
    assert status == 0 and values(result) == values(without)
    samples = [
        JointSample(stamp, tuple(angles), tuple(speeds), tuple(efforts))
        for stamp, angles, speeds, efforts in zip(
            rows[:, 0], rows[:, 1:3], rows[:, 3:5], rows[:, 5:7], strict=True
        )
    ]
    write_run(tmp_path / "bag", samples)
    status, result = identify(tmp_path / "of_bag", tmp_path / "bag", *ROBOT)
    assert status == 0
    for name in NAMES:  # stamps begin 1 s later, so that other samples may be held out
        apart = result["parameters"][name]["value"] - without["parameters"][name]["value"]
        assert abs(apart) < 0.5 * without["parameters"][name]["std"], name


def test_cells_that_are_not_used_may_be_empty(rows, tmp_path):
    """A battery voltage, once a second, beside columns of the wheels; before, 1 % was used."""
    volts = np.full((len(rows), 1), math.nan)
    volts[::100] = 24.0
    table = np.hstack((rows, volts, volts))
    header = (*TORQUE_COLUMNS, "left_voltage", "v")
    path = write_table(tmp_path / "log.csv", table, header)
    status, result = identify(tmp_path, path, *ROBOT)
    plain = write_table(tmp_path / "plain.csv", rows)
    _, expected = identify(tmp_path / "plain", plain, *ROBOT)
    assert status == 0 and values(result) == values(expected)


def faulty_motion(random, kind):
    """A motion of 8 s, with faults of a kind at three random places; times and angles."""
    times = 0.01 * np.arange(800) + random.uniform(0.0, 1e-3, 800)
    speeds = random.uniform(2.0, 6.0, 2) * np.sin(times[:, None] + random.uniform(0.0, 6.0, 2))
    angles = COUNT * np.round(np.cumsum(0.01 * speeds, axis=0) / COUNT)
    for at in random.integers(5, 780, 3).tolist():
        if kind == "spikes":
            angles[at] += random.uniform(0.2, 3.0, 2)
        elif kind == "set":
            angles[at:] += random.uniform(-20.0, 20.0, 2)
        elif kind == "two sources":
            angles[at : at + 40 : 2] += random.uniform(-2.0, 2.0, 2)
        elif kind == "gaps":
            times[at:] += random.uniform(0.0, 0.5)
    return times, angles


@pytest.mark.parametrize("kind", ["none", "spikes", "set", "two sources", "gaps"])
def test_only_readings_that_matter_are_judged_one_by_one(monkeypatch, kind):
    """The same is found as if every reading were judged; seeds 0 to 4."""
    judged = {False: 0, True: 0}
    for seed in range(5):
        times, angles = faulty_motion(np.random.default_rng(seed), kind)
        channels = dict(zip(POSITIONS, angles.T, strict=True))
        outcomes = []
        for every in (False, True):
            sources = WheelSources()
            update = sources._watch.update

            def counted(*message, update=update, every=every):
                judged[every] += 1
                return update(*message)

            monkeypatch.setattr(sources._watch, "update", counted)
            with monkeypatch.context() as patch:
                if every:
                    patch.setattr(
                        wheel_sources, "_notable", lambda times, *_: np.ones(len(times), bool)
                    )
                for part in (slice(None, 300), slice(300, None)):
                    own = {name: channel[part] for name, channel in channels.items()}
                    sources.check(Segment(times[part], 0.01, own), POSITIONS)
            outcomes.append((sources._sign, sources.alternating()))
        assert repr(outcomes[0]) == repr(outcomes[1]), seed
    assert judged[True] == 5 * 800 > 1.5 * judged[False]
    assert kind != "none" or judged[False] < 0.1 * judged[True]
