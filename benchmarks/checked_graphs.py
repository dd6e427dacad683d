#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diffbot check` of running graphs, each with one beginner's fault, and of sound ones.

Each is a stand-in of a driver in a DDS domain of its own, which is looked at for some seconds. A
fault is named if a finding has the words of its row; a sound robot is blamed if it has a finding of
severity fault, or a warning about anything but this computer. The rows of `--moving` turn the
wheels of stand-ins that have some; their wheels and bodies may turn by FARTHEST at most.

    ./diffbot python benchmarks/checked_graphs.py --seconds 3
    ./diffbot python benchmarks/checked_graphs.py --seconds 2 --moving
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Transform, TransformStamped, Twist, TwistStamped
from moving_plant import Wiring
from moving_stand_in import ROBOTS, moving
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, JointState
from stand_in_robot import BEST_EFFORT, NAMES, StandIn
from std_msgs.msg import Float64MultiArray, String
from tf2_msgs.msg import TFMessage

from diffbot_bringup import domains
from diffbot_check.command import main as check
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.loading import urdf

EFFORTS = "effort_controller/commands"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT: dict[str, Any] = {"child_frame_id": "base_link"}

Make = Callable[[Any], None]


def torque(states: dict[str, Any] | None = None, commands: bool = True, more: Make | None = None):
    """A robot that takes torques; `states` changes its joint states, None: publishes none."""

    def make(robot):
        if states is not None:
            robot.joint_states(**states)
        if commands:
            robot.takes(Float64MultiArray, EFFORTS)
        if more is not None:
            more(robot)

    return make


def velocity(odom: dict[str, Any] | None = None, kinds=(Twist,), timeout: float | None = 0.5):
    """A robot that takes velocities."""

    def make(robot):
        if odom is not None:
            odometry(robot, **odom)
        for kind in kinds:
            robot.takes(kind, "cmd_vel")
        if timeout is not None:
            robot.node.declare_parameter("cmd_vel_timeout", timeout)

    return make


def odometry(robot, topic="odom", frame="odom", v=0.0, omega=0.0, **more):
    """Publish odometry of a constant velocity, m/s and rad/s."""

    def change(message, _now):
        message.header.frame_id = frame
        message.twist.twist.linear.x, message.twist.twist.angular.z = v, omega

    robot.publishes(Odometry, topic, change=change, **{**ROBOT, **more})


def turning(factor=1.0, left=2.0, right=2.0, stuck=False):
    """Change joint states to those of wheels that turn, with speeds in another unit."""

    def change(message, now):
        t = now % 1000.0
        message.position = [left * t, 0.0 if stuck else right * t]
        message.velocity = [factor * left, factor * right]

    return {"change": change}


def beside(left, right, v, omega):
    """Wheels that turn with these speeds, rad/s, beside odometry of a velocity, m/s and rad/s."""
    return torque(turning(left=left, right=right), more=lambda r: odometry(r, v=v, omega=omega))


def described(text):
    """A robot with this text on /robot_description."""

    def publish(robot):
        robot.node.create_publisher(String, "robot_description", LATCHED).publish(String(data=text))

    return torque({}, more=publish)


def publisher(kind, topic):
    """Publish a topic without any message."""
    return lambda robot: robot.node.create_publisher(kind, topic, 10)


def parents(robot):
    """Publish a frame with two parents."""

    def change(message, _now):
        message.transforms = [
            TransformStamped(child_frame_id="base_link", transform=Transform()) for _ in range(2)
        ]
        for each, frame in zip(message.transforms, ("odom", "map"), strict=True):
            each.header.frame_id = frame

    robot.publishes(TFMessage, "/tf", change=change)


def swapped_urdf():
    """Return the URDF of twil with the wheels' joints exchanged."""
    names = dict(zip(NAMES, reversed(NAMES), strict=True))
    pieces = urdf(load_robot("twil")).split('"')
    return '"'.join(names.get(piece, piece) for piece in pieces)


def wheel_speed(v, omega):
    """Speeds [left, right] of twil's wheels, rad/s."""
    return load_robot("twil").geometry.wheel_velocity(v, omega)


LEFT, RIGHT = wheel_speed(0.1, 0.5)
BATCH, SLOW = 0.1, 0.2  # s

FAULTS: dict[str, tuple[Make, str, str]] = {
    "nothing runs": (lambda robot: None, "twil", "no node of any robot"),
    "other joint names": (
        torque({"names": ("wheel_left", "wheel_right")}), "twil", "may be 'wheel_left'"),
    "one other name": (torque({"names": (NAMES[0], "wheel_r")}), "twil", "may be 'wheel_r'"),
    "names without a side": (torque({"names": ("m1", "m2")}), "twil", "has m1, m2"),
    "a joint twice": (torque({"names": (NAMES[0], *NAMES)}), "twil", "no message holds all"),
    "no joint states": (torque(None), "twil", "no node publishes /joint_states"),
    "states in a namespace": (
        torque({"topic": "/one/joint_states"}), "twil", "there is /one/joint_states"),
    "states of another type": (
        torque(None, more=publisher(String, "joint_states")), "twil", "it as std_msgs/msg/String"),
    "silent driver": (
        torque(None, more=publisher(JointState, "joint_states")), "twil", "no message came"),
    "no efforts": (torque({"effort": []}), "twil", "no effort of"),
    "efforts not a number": (torque({"effort": [math.nan] * 2}), "twil", "no effort of"),
    "no speeds": (torque({"velocity": []}), "twil", "no velocity of"),
    "no angles": (torque({"position": []}), "twil", "no position of"),
    "efforts in raw counts": (torque({"effort": [400.0] * 2}), "twil", "efforts up to 400"),
    "speeds in deg/s": (torque(turning(57.3)), "twil", "times what its angle says"),
    "speeds of another sign": (torque(turning(-1.0)), "twil", "-1 times what its angle says"),
    "stuck encoder": (torque(turning(stuck=True)), "twil", "its angle stands still"),
    "swapped wheels": (beside(RIGHT, LEFT, 0.1, 0.5), "twil", "says turning left, the wheels"),
    "reversed wheels": (beside(-LEFT, -RIGHT, 0.1, 0.5), "twil", "says forward, the wheels say"),
    "5 Hz": (torque({"period": SLOW}), "twil", "messages a second"),
    "no stamps": (torque({"stamp": lambda t: 0.0}), "twil", "header.stamp is 0"),
    "stamps of a batch": (
        torque({"stamp": lambda t: math.floor(t / BATCH) * BATCH}), "twil", "stamps repeat"),
    "stamps 0.3 s late": (torque({"stamp": lambda t: t - 0.3}), "twil", "after their stamp"),
    "clock an hour off": (torque({"stamp": lambda t: t - 3600.0}), "twil", "its clock is 3600 s"),
    "stamps in ms": (torque({"stamp": lambda t: 1e-3 * t}), "twil", "the stamps advance 0.001"),
    "nobody takes torques": (torque({}, commands=False), "twil", "no node takes /effort_contr"),
    "subscriber of latched": (
        torque({}, False, lambda robot: robot.takes(Float64MultiArray, EFFORTS, LATCHED)),
        "twil", "demands transient local"),
    "another commander": (
        torque({}, more=publisher(Float64MultiArray, EFFORTS)), "twil", "commands the robot al"),
    "left is right in the URDF": (described(swapped_urdf()), "twil", "and on the right in"),
    "URDF of another robot": (described(urdf(load_robot("agv")).replace(
        NAMES[0], "left_hub")), "twil", "has no joint left_wheel_joint"),
    "track of another robot": (described(urdf(load_robot("agv"))), "twil", "the track is 0.5 m"),
    "frame with two parents": (torque({}, more=parents), "twil", "has 2 parents"),
    "no odometry": (velocity(None), "turtlebot2", "no node publishes /odom"),
    "odometry elsewhere": (
        velocity({"topic": "/diff/odom"}), "turtlebot2", "there is /diff/odom"),
    "slow odometry": (velocity({"period": SLOW}), "turtlebot2", "messages a second"),
    "no frame of the robot": (
        velocity({"child_frame_id": ""}), "turtlebot2", "child_frame_id ''"),
    "no timeout": (velocity({}, timeout=0.0), "turtlebot2", "cmd_vel_timeout = 0 s"),
    "torque robot, velocity file": (torque({}), "turtlebot2", "states drive.command = velocity"),
    "nobody takes velocities": (velocity({}, kinds=()), "turtlebot2", "no node takes /cmd_vel"),
}  # fmt: skip
SOUND: dict[str, tuple[Make, str]] = {
    "at rest": (torque({}), "twil"),
    "best effort": (torque({"qos": BEST_EFFORT}), "twil"),
    "200 Hz": (torque({"period": 0.005}), "twil"),
    "with an arm": (torque({"names": ("arm", *NAMES)}), "twil"),
    "turned by hand": (torque(turning()), "twil"),
    "with its URDF": (described(urdf(load_robot("twil"))), "twil"),
    "with odometry": (beside(LEFT, RIGHT, 0.1, 0.5), "twil"),
    "own clock": (torque({"stamp": lambda t: t % 1e6}), "twil"),
    "with a gyro": (torque({}, more=lambda robot: robot.publishes(Imu, "imu/data")), "twil"),
    "takes Twist": (velocity({}), "turtlebot2"),
    "takes TwistStamped": (velocity({}, (TwistStamped,)), "turtlebot2"),
}


EFFORT, VELOCITY = CommandKind.EFFORT, CommandKind.VELOCITY
MOVING_FAULTS: dict[str, tuple[CommandKind, Wiring, str]] = {
    "motors swapped": (EFFORT, Wiring(motors=(1, 0)), "left command turns the right"),
    "encoders swapped": (
        EFFORT, Wiring(encoders=(1, 0), gyro=True), "left command turns the right"),
    "motor reversed": (EFFORT, Wiring(motor_signs=(1, -1)), "backward by its angle"),
    "encoder reversed": (EFFORT, Wiring(encoder_signs=(-1, 1)), "backward by its angle"),
    "joint reversed": (
        EFFORT, Wiring(motor_signs=(1, -1), encoder_signs=(1, -1), gyro=True), "rolls backward"),
    "dead motor": (EFFORT, Wiring(dead=(1,)), "the right command turned no wheel"),
    "no power": (EFFORT, Wiring(dead=(0, 1)), "no wheel turned"),
    "encoder sticks": (EFFORT, Wiring(stuck=(0,)), "the left command turned no wheel"),
    "encoder sticks, gyro": (EFFORT, Wiring(stuck=(0,), gyro=True), "stood still"),
    "amperes": (EFFORT, Wiring(reported=5.0), "reports an effort of 5"),
    "other unit": (EFFORT, Wiring(unit=0.06), "accelerates a wheel as"),
    "torque for ever": (EFFORT, Wiring(timeout=None), "still acted"),
    "stops late": (EFFORT, Wiring(timeout=1.6), "but only 1."),
    "sides swapped": (VELOCITY, Wiring(motors=(1, 0)), "odometry says right"),
    "left reversed": (VELOCITY, Wiring(motor_signs=(-1, 1)), "left wheel turns backward"),
    "drives backward": (
        VELOCITY, Wiring(motors=(1, 0), motor_signs=(-1, -1)), "odometry says backward"),
    "one wheel dead": (VELOCITY, Wiring(dead=(0,)), "left wheel stands"),
    "nothing moves": (VELOCITY, Wiring(dead=(0, 1)), "nothing moved"),
    "velocity for ever": (VELOCITY, Wiring(timeout=None), "still acted"),
}  # fmt: skip
MOVING_SOUND: dict[str, tuple[CommandKind, Wiring, dict[str, float]]] = {
    "torque": (EFFORT, Wiring(), {}),
    "torque, lifted": (EFFORT, Wiring(), {"lifted": True}),
    "torque, gyro": (EFFORT, Wiring(gyro=True), {}),
    "torque, sticky": (EFFORT, Wiring(), {"friction": 0.8, "static": 1.6}),
    "torque, late": (EFFORT, Wiring(delay=0.1), {}),
    "velocity": (VELOCITY, Wiring(), {}),
    "velocity, slow": (VELOCITY, Wiring(delay=0.1), {"lag": 0.35}),
    "velocity, gyro": (VELOCITY, Wiring(gyro=True), {}),
}
ATTEMPTS = 4
FARTHEST = 0.5 * math.pi  # rad, of a wheel of a sound robot


def report_of(make: Make, robot: str, seconds: float, *more: str) -> tuple[dict[str, Any], StandIn]:
    """Return what the command reports of a graph, as it prints it for programs, and the robot."""
    with domains.claim("check") as own:
        os.environ[domains.VARIABLE] = str(own.domain)
        with StandIn(make) as stand_in, contextlib.redirect_stdout(io.StringIO()) as printed:
            check([f"robot:={robot}", "--json", "--seconds", str(seconds), *more], "check")
    report: dict[str, Any] = json.loads(printed.getvalue())
    return report, stand_in


def moved(
    kind: CommandKind, wiring: Wiring, seconds: float, **plant: float
) -> tuple[list[dict[str, str]], Any]:
    """Return the findings of a moving check, and the plant.

    A busy computer holds it up; it is then repeated, up to ATTEMPTS times.
    """
    make = moving(kind, wiring, **plant)
    for _ in range(ATTEMPTS):
        report, robot = report_of(make, ROBOTS[kind], seconds, "--moving", "--yes")
        if report["moving"] and not report["moving"]["ended"]:
            break
    return (report["moving"] or report)["findings"], robot.plant  # type: ignore[attr-defined]


def main_moving(seconds: float) -> None:
    """Print the rows of --moving that are missed, blamed or turned far, and the counts."""
    missed, blamed, wheel, body = 0, 0, 0.0, 0.0
    for name, (kind, wiring, words) in MOVING_FAULTS.items():
        findings, plant = moved(kind, wiring, seconds)
        body = max(body, plant.turned)
        if not any(words in each["what"] for each in findings):
            missed += 1
            print(f"MISSED {name}: {[each['what'] for each in findings]}", flush=True)
    for name, (kind, wiring, more) in MOVING_SOUND.items():
        findings, plant = moved(kind, wiring, seconds, **more)
        wheel = max(wheel, plant.farthest)
        if findings or plant.farthest > FARTHEST:
            blamed += 1
            print(f"BLAMED {name}: {[each['what'] for each in findings]}", flush=True)
    print(f"moving: {len(MOVING_FAULTS) - missed} of {len(MOVING_FAULTS)} faults named")
    print(f"moving: {blamed} of {len(MOVING_SOUND)} sound robots blamed")
    print(f"largest turn of a sound robot's wheel: {math.degrees(wheel):.0f} degrees")
    print(f"largest turn of a faulty robot's body: {math.degrees(body):.0f} degrees")


def main() -> None:
    """Print each graph in which a fault was missed, or a sound robot blamed, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each is looked at")
    parser.add_argument("--moving", action="store_true", help="the rows that turn wheels")
    options = parser.parse_args()
    seconds = options.seconds
    if options.moving:
        main_moving(seconds)
        return
    missed, blamed = 0, 0
    for name, (make, robot, words) in FAULTS.items():
        findings = report_of(make, robot, seconds)[0]["findings"]
        if not any(words in each["what"] for each in findings):
            missed += 1
            print(f"MISSED {name}: {[each['what'] for each in findings]}", flush=True)
    for name, (make, robot) in SOUND.items():
        findings = [
            each["what"]
            for each in report_of(make, robot, seconds)[0]["findings"]
            if each["severity"] == "fault"
            or (each["severity"] == "warning" and each["part"] != "this computer")
        ]
        if findings:
            blamed += 1
            print(f"BLAMED {name}: {findings}", flush=True)
    print(f"{len(FAULTS) - missed} of {len(FAULTS)} faults named")
    print(f"{blamed} of {len(SOUND)} sound robots blamed")


if __name__ == "__main__":
    main()
