# SPDX-License-Identifier: Apache-2.0
"""`identify` on rosbag2 recordings of two motors: voltage, current and speed as people record them.

Each is the same log of made motors, 1 kHz for 0.7 s, in another form.
"""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from identify_command import identify
from made_recordings.motor_logs import FAULTS, drawn, make_log
from made_recordings.recorded_bag import RecordedBag

from arc_odometry import JointSample

NONE = (0.0, 0.0)
RPM = 60.0 / (2.0 * np.pi)


def log(fault=None):
    """Motors, and rows of stamp and pairs of voltage, current and speed."""
    rng = np.random.default_rng(12)
    motors = drawn(rng)
    columns = make_log(motors, rng, fault)
    pairs = [
        list(zip(columns[f"left_{name}"].tolist(), columns[f"right_{name}"].tolist(), strict=True))
        for name in ("voltage", "current", "velocity")
    ]
    return motors, list(zip((columns["time"] + 1.0).tolist(), *pairs, strict=True))


def joints(bag, topic, stamp, velocity=NONE, effort=NONE, position=NONE):
    bag.joint_state(topic, JointSample(stamp, position, velocity, effort))


def arrays(bag, stamp, volts, amps, speed):
    bag.torques("/motor_voltages", stamp, volts)
    bag.torques("/motor_currents", stamp, amps)
    bag.joint_state("/joint_states", JointSample(stamp, NONE, speed, NONE), effort=False)


def ros2_control(bag, stamp, volts, amps, speed):
    values = {
        f"{side}_wheel_joint": {"velocity": speed[i], "voltage": volts[i], "current": amps[i]}
        for i, side in enumerate(("left", "right"))
    }
    bag.interfaces("/dynamic_joint_states", stamp, values)


def joint_states_of_each(bag, stamp, volts, amps, speed):
    joints(bag, "/motor/voltage_states", stamp, effort=volts)
    joints(bag, "/motor/current_states", stamp, effort=amps)
    bag.joint_state("/joint_states", JointSample(stamp, NONE, speed, NONE), effort=False)


def numbers(bag, stamp, volts, amps, speed):
    for i, side in enumerate(("left", "right")):
        bag.number(f"/{side}_motor/voltage", stamp, volts[i])
        bag.number(f"/{side}_motor/current", stamp, amps[i])
        bag.number(f"/{side}_motor/speed", stamp, speed[i])


def efforts_in_ampere(bag, stamp, volts, amps, speed):
    bag.torques("/motor_voltages", stamp, volts)
    joints(bag, "/joint_states", stamp, velocity=speed, effort=amps)


def one_array(bag, stamp, volts, amps, speed):
    """All in one, with names that say nothing; speeds in turns a minute."""
    rpm = [RPM * value for value in speed]
    bag.torques("/status", stamp, (*volts, *amps, *rpm))


NAMED = (
    "left_voltage=/status.data[0],right_voltage=status.data[1],left_current=/status.data[2],"
    "right_current=/status.data[3],left_velocity=/status.data[4]*rpm,"
    "right_velocity=/status.data[5]*rpm"
)


def recorded(folder, form, rows):
    with RecordedBag(folder, "mcap") as bag:
        for stamp, volts, amps, speed in rows:
            form(bag, stamp, volts, amps, speed)
    return folder


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (arrays, ()),
        (ros2_control, ()),
        (joint_states_of_each, ()),
        (numbers, ()),
        (efforts_in_ampere, ("--effort-unit", "ampere")),
        (one_array, ("--columns", NAMED)),
    ],
)
def test_motors_are_found_in_what_people_record(tmp_path, capsys, form, words):
    motors, rows = log()
    status, summary = identify(tmp_path, recorded(tmp_path / "bag", form, rows), *words)
    assert status == 0, summary["reason"]
    for side, motor in zip(("left", "right"), motors, strict=True):
        result = summary["motors"][f"{side} motor"]["parameters"]
        for name, true in (("R", motor.resistance), ("Ke", motor.constant)):
            assert abs(result[name]["value"] - true) < 4.0 * result[name]["std"] + 0.02 * true
    said = capsys.readouterr().out
    assert "left_voltage = " in said
    assert "kind of robot: motor" in said


def test_a_fault_is_named_in_a_bag_too(tmp_path):
    fault = "three times the friction"
    _, rows = log(fault)
    status, summary = identify(tmp_path, recorded(tmp_path / "bag", arrays, rows))
    assert status == 1
    assert FAULTS[fault] in summary["reason"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kind", "motor"), "name them by --columns"),
        (("--columns", "left_voltage=/status.data[0]"), "right_voltage"),
        (("--columns", NAMED.replace("/status.data[0]", "/state.data[0]")), "has no topic /state"),
        (("--columns", NAMED.replace("/status.data[0]", "/status")), "must be TOPIC.FIELD"),
        (("--columns", NAMED.replace("/status.data[0]", "/status.data[9]")), "no number there"),
        (("--columns", NAMED.replace("/status.data[0]", "/status.date[0]")), "layout, data"),
        (("--columns", "v=/status.data[0]"), "there is no channel 'v'"),
        (("--columns", NAMED, "--kind", "torque"), "for tables"),
        (("--where", "mode=1"), "for tables"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, capsys, words, said):
    bag = recorded(tmp_path / "bag", one_array, log()[1][:20])
    assert identify(tmp_path, bag, *words) == (2, None)
    message = capsys.readouterr().err
    assert said in message
    assert "Traceback" not in message


def test_two_topics_of_one_quantity_are_asked_about(tmp_path, capsys):
    _, rows = log()
    with RecordedBag(tmp_path / "bag", "mcap") as bag:
        for row in rows[:20]:
            arrays(bag, *row)
            bag.torques("/battery_voltages", row[0], (12.0, 12.0))
    assert identify(tmp_path, tmp_path / "bag")[0] == 2
    message = capsys.readouterr().err
    assert "which fields are the motors' voltage" in message
    assert "/battery_voltages.data[0]" in message


def test_torques_beside_voltages_stay_a_torque_robot(tmp_path, capsys):
    """Efforts that act tell the robot's dynamics; --kind motor asks for the motors."""
    _, rows = log()
    with RecordedBag(tmp_path / "bag", "mcap") as bag:
        for row in rows:
            bag.torques("/motor_voltages", row[0], row[1])
            bag.torques("/motor_currents", row[0], row[2])
            joints(bag, "/joint_states", row[0], velocity=row[3], effort=row[2])
    identify(tmp_path, tmp_path / "bag", "--robot", "twil")
    assert "kind of robot: torque" in capsys.readouterr().out
    status, _ = identify(tmp_path, tmp_path / "bag", "--kind", "motor")
    assert status == 0
    # Currents whose torque is known, or to be found, are a robot's efforts.
    capsys.readouterr()
    words = ("--robot", "twil", "--effort-unit", "ampere", "--torque-constant", "0.3")
    identify(tmp_path, tmp_path / "bag", *words)
    assert "kind of robot: torque" in capsys.readouterr().out


def as_humble_writes(folder, kind=""):
    """Remove the definitions that newer recorders add to SQLite files; change a type's name."""
    file = next(folder.glob("*.db3"))
    with closing(sqlite3.connect(file)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
        for name in tables:
            if name in ("message_definitions", "schema"):
                database.execute(f"DROP TABLE {name}")
        if kind:
            database.execute("UPDATE topics SET type = ?", (kind,))
        database.commit()
    (folder / "metadata.yaml").unlink()
    return file


def test_interfaces_are_read_without_definitions(tmp_path):
    """Before: "nothing to identify"."""
    motors, rows = log()
    with RecordedBag(tmp_path / "bag", "sqlite3") as bag:
        for row in rows:
            ros2_control(bag, *row)
    status, summary = identify(tmp_path, as_humble_writes(tmp_path / "bag"))
    assert status == 0
    for side, motor in zip(("left", "right"), motors, strict=True):
        result = summary["motors"][f"{side} motor"]["parameters"]["Ke"]["value"]
        assert result == pytest.approx(motor.constant, rel=0.02)


def test_a_type_that_is_not_known_is_not_damage(tmp_path, capsys):
    _, rows = log()
    with RecordedBag(tmp_path / "bag", "sqlite3") as bag:
        for row in rows[:50]:
            ros2_control(bag, *row)
    file = as_humble_writes(tmp_path / "bag", "my_msgs/msg/Motors")
    words = (
        "--columns",
        NAMED.replace("=status", "=/status").replace("/status", "/dynamic_joint_states"),
    )
    status, _ = identify(tmp_path, file, *words)
    assert status == 2
    said = capsys.readouterr()
    assert "the type my_msgs/msg/Motors is not known here" in said.out + said.err
    assert "damaged" not in said.out + said.err


def test_stamps_since_1970_give_the_values_of_stamps_since_0(tmp_path):
    """Before, the rounding of the period added up over the samples: Ke 4 deviations too large."""
    rng = np.random.default_rng(3)
    period, count = 0.005, 2000
    volts = np.repeat(rng.uniform(-8.0, 8.0, count // 40), 40)
    speed, current = np.zeros(count), np.zeros(count)
    for k in range(count - 1):
        current[k] = (volts[k] - 0.35 * speed[k]) / 1.2
        torque = 0.35 * current[k] - 0.01 * speed[k]
        speed[k + 1] = speed[k] + period * torque / 0.02
    current[-1] = (volts[-1] - 0.35 * speed[-1]) / 1.2
    current += 0.02 * rng.normal(size=count)
    results = []
    for begin in (0.0, 1.7e9):
        times = begin + period * np.arange(count)
        rows = np.column_stack((times, volts, volts, current, current, speed, speed))
        header = ("time", *(f"{s}_{q}" for q in ("voltage", "current", "velocity")
                            for s in ("left", "right")))  # fmt: skip
        path = tmp_path / f"{begin:g}.csv"
        lines = [",".join(map(repr, row)) for row in rows.tolist()]
        path.write_text("\n".join((",".join(header), *lines)))
        status, summary = identify(tmp_path / f"out {begin:g}", path)
        assert status == 0
        results.append(summary["motors"]["left motor"]["parameters"])
    for name, true in (("R", 1.2), ("Ke", 0.35)):
        first, second = (each[name] for each in results)
        assert abs(first["value"] - true) < 4.0 * first["std"]
        assert abs(second["value"] - first["value"]) < 0.05 * first["std"]


@pytest.mark.parametrize("effort", [0.0, math.nan])
def test_a_bag_without_efforts_says_what_it_has(tmp_path, capsys, effort):
    """NaN efforts are none, and interfaces of ros2_control are read for motors alone."""
    with RecordedBag(tmp_path / "bag", "sqlite3") as bag:
        for k in range(200):
            sample = JointSample(0.01 * k, (k, k), (1.0, 1.0), (effort, effort))
            bag.joint_state("/joint_states", sample)
            values = {
                f"{side}_wheel_joint": {"position": k, "effort": 1.0} for side in ("left", "right")
            }
            bag.interfaces("/dynamic_joint_states", sample.stamp, values)
    status, _ = identify(tmp_path, tmp_path / "bag", "--robot", "twil")
    assert status == 2
    said = capsys.readouterr().err
    assert "the efforts of its joint states are all zero or no number" in said
    assert "only voltages and currents are read: record joint states, too" in said
