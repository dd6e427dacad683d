# SPDX-License-Identifier: Apache-2.0
"""Fleets of robots whose recordings tell motors, voltages or velocities, not K5..K8."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from made_recordings.motor_logs import drawn, make_log

from diffbot_study.fleet_analysis import analyse_fleet
from diffbot_study.fleet_page import write_fleet_pages
from diffbot_study.fleet_quantities import GYRO, TORQUE, choose_quantities
from diffbot_study.fleet_rows import COLUMNS, FleetRecording, read_recording

VOLTAGE = {"ks": 0.6, "kv": 2.4, "ka": 0.3, "dead time": 0.02}
VELOCITY = {"time constant": 0.3, "gain": 0.98, "dead time": 0.05}
MOTOR = {"R": 2.0, "Ke": 0.58, "inertia": 5e-3, "viscous friction": 8e-3, "Coulomb friction": 0.13}
SIDES = {f"{side} side: {name}": v for side in ("left", "right") for name, v in VOLTAGE.items()}
AXES = {f"{axis} axis: {name}": v for axis in ("forward", "yaw") for name, v in VELOCITY.items()}
MOTORS = {f"{side} motor: {name}": v for side in ("left", "right") for name, v in MOTOR.items()}


def made_rows(healthy, changes=None, robots=30, recordings=4, seed=0):
    """Rows of robots that differ by 2 %, with 1 % of scatter; some changed by factors."""
    generator = np.random.default_rng(seed)
    rows = []
    for robot in range(robots):
        own = {n: v * math.exp(0.02 * generator.standard_normal()) for n, v in healthy.items()}
        for end, factor in (changes or {}).get(robot, {}).items():
            own |= {name: factor * value for name, value in own.items() if name.endswith(end)}
        for run in range(recordings):
            reported = {
                name: [value * math.exp(0.01 * generator.standard_normal()), 0.01 * value, "unit"]
                for name, value in own.items()
            }
            row = {"robot": f"r{robot:02d}", "usable": "all", "values": json.dumps(reported)}
            rows.append({**dict.fromkeys(COLUMNS), **row, "path": f"{robot}/{run}"})
    return rows


def causes(rows):
    return {robot.name: robot.cause for robot in analyse_fleet(rows, 0.01).robots if robot.alarm}


def test_faults_of_motors_are_named():
    changes = {
        0: {"left motor: R": 1.4},
        1: {"right motor: Ke": 0.7},
        2: {"right motor: Coulomb friction": 1.7},
        3: {"left motor: R": 1.5, "left motor: inertia": 1 / 1.5, "left motor: viscous friction":
            1 / 1.5, "left motor: Coulomb friction": 1 / 1.5},
        4: {"inertia": 1.4},
        5: {"left motor: R": 1.5, "right motor: Ke": 0.6},
    }  # fmt: skip
    assert causes(made_rows(MOTORS, changes)) == {
        "r00": "windings left",
        "r01": "magnets right",
        "r02": "brake right",
        "r03": "current sensor left",
        "r04": "load",
        "r05": "no known cause",
    }


def test_faults_of_voltages_are_named():
    changes = {
        0: {"left side: ks": 1.6},
        1: {"ks": 1.4, "kv": 1.4, "ka": 1.4},
        2: {"ka": 1.4},
        3: {"right side: ks": 1.4, "right side: ka": 1.4},
        4: {"right side: ks": 1.2, "right side: kv": 0.8, "right side: ka": 1.25},
    }
    assert causes(made_rows(SIDES, changes)) == {
        "r00": "brake left",
        "r01": "battery",
        "r02": "load",
        "r03": "motor right",
        "r04": "motor right",
    }


def test_faults_of_velocities_are_named():
    changes = {0: {"time constant": 1.5}, 1: {"gain": 0.75}, 2: {"dead time": 1.8}}
    assert causes(made_rows(AXES, changes)) == {
        "r00": "load",
        "r01": "velocity scale",
        "r02": "delay",
    }


@pytest.mark.parametrize("healthy", [MOTORS, SIDES, AXES], ids=["motors", "voltages", "velocities"])
def test_a_healthy_fleet_gets_alarms_as_seldom_as_was_asked_for(healthy):
    # 40 fleets: 4 are expected to have any alarm, and 11 or more have a chance of 0.15 %.
    fleets = (analyse_fleet(made_rows(healthy, None, 15, 2, seed), 0.1) for seed in range(40))
    assert sum(any(robot.alarm for robot in fleet.robots) for fleet in fleets) < 11


def test_what_most_recordings_tell_well_is_compared():
    rows = made_rows({**SIDES, "forward axis: ks": 0.6, "forward axis: K7": 1.0})
    # The axis says no more than its sides; K7 is made of ka.
    assert {*choose_quantities(rows).names} == {
        name if name.endswith(("ks", "dead time")) else f"log_{name}" for name in SIDES
    }
    for row in rows[::3]:
        reported = json.loads(row["values"])
        reported["left side: ks"] = [None, None, "V"]
        row["values"] = json.dumps(reported)
    assert "left side: ks" not in choose_quantities(rows).names
    for row in rows:
        row["usable"] = "none"
    assert choose_quantities(rows) is None


def test_torque_recordings_of_a_type_go_before_a_few_of_another_kind():
    known = {name: 1.0 for name in COLUMNS if name not in ("values", "usable")}
    known |= dict.fromkeys(GYRO)
    torque = [{**known, "k8": -1.0, "usable": "all", "values": "{}"} for _ in range(6)]
    assert choose_quantities([*torque, *made_rows(AXES, None, 1)]).names == TORQUE


def motor_rows(folder):
    """12 robots of one type with 3 logs of 1.5 s each; one has a third more resistance."""
    generator = np.random.default_rng(3)
    motors = drawn(generator)
    rows = []
    for robot in range(12):
        own = [
            replace(motor, resistance=motor.resistance * math.exp(0.01 * spread))
            for motor, spread in zip(motors, generator.standard_normal(2), strict=True)
        ]
        if robot == 4:
            own[1] = replace(own[1], resistance=1.33 * own[1].resistance)
        for run in range(3):
            log = make_log((own[0], own[1]), generator, seconds=1.5)
            path = folder / f"r{robot}-{run}.csv"
            np.savetxt(path, np.array([*log.values()]).T, delimiter=",", header=",".join(log),
                       comments="")  # fmt: skip
            row = read_recording(path.stem, FleetRecording(path, f"r{robot}", None, {}))
            rows.append({**dict.fromkeys(COLUMNS), **row})
    return rows


def test_motors_from_their_logs_to_their_pages(tmp_path):
    rows = motor_rows(tmp_path)
    assert causes(rows) == {"r4": "windings right"}
    fleet = analyse_fleet(rows, 0.01).to_dict()
    summary = json.loads(json.dumps({"recordings": {"all": len(rows)}, **fleet}))
    page = write_fleet_pages(summary, rows, tmp_path, ["in"]).read_text(encoding="utf-8")
    assert "1 of 12 robots is unlike the others." in page
    assert "Begin with r4: windings right" in page and "right motor: R" in page
    own = (tmp_path / "robots" / "r4.html").read_text(encoding="utf-8")
    assert "right motor: R, ohm" in own
