#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Latency from a joint state to its command: each commanding node and an empty relay in one run.

Node and relay are separate processes with the same executor; the relay only answers each joint
state with zero torque. The simulated robot publishes its state for the node, and half a period
later the same message for the relay, so that other load affects both equally. Prints, for each node
and rate, first the ratios node / relay, then the figures:

    p50, p99, p99.9, largest    time from sending the state to the command's arrival, ms
    CPU                         time of the whole process per state, without waiting, us
    missed                      states without an answer before the next state

If the node has stopped the robot, because it takes a busy machine for a broken driver, few commands
differ from 0: such a run is invalid, and must be repeated on a less busy machine.

    ./diffbot python benchmarks/round_trip.py [--nodes backstepping ident] [--rates 100 500]
        [--seconds 10] [--watchdog] [--real-time]

With `--watchdog` commands pass through the effort_watchdog, a process between node and robot. Nodes
that command velocities get odometry instead of joint states. With `--real-time` this process, node
and relay have real-time priority, which needs the permission (docs/safety.md).
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from benchmark_tables import options
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffbot_bringup import domains
from diffbot_description import load_robot
from diffbot_description.sigma import Sigma
from diffbot_msgs.msg import PoseReference
from diffbot_node import Node, to_stamp
from diffbot_sim.engines import make_simulator
from diffbot_sim.velocity_robot import VelocityRobot
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot

RATES = (100.0, 500.0, 1000.0)  # Hz
ENCODER = 4096  # counts per turn
SIGMA = (0.35, 0.25, 1.0, 1.0)
WARM_UP = 2.0  # s, not measured
PATIENCE = 30.0  # s, timeout of the first answer of a node
# Reference motion: v = SPEED sin(2 pi t / TIMES[0]), omega = TURN sin(2 pi t / TIMES[1]).
SPEED, TURN, TIMES = 0.25, 0.8, (2.0, 1.4)


@dataclass(frozen=True)
class Subject:
    """A commanding node.

    Attributes:
        name: Name in the table.
        entry: module:function that runs it.
        node: Node name.
        parameters: Parameters of the node.
        reference: Topic and type of its reference; None: none.
        velocity: Whether it commands velocities.
    """

    name: str
    entry: str
    node: str
    parameters: tuple[str, ...] = ()
    reference: tuple[str, type] | None = None
    velocity: bool = False


def _ident(estimator: str) -> Subject:
    parameters = ("duration:=100000.0", f"estimator:={estimator}")
    return Subject(f"ident {estimator}", "diffbot_ident.executables:ident", "ident", parameters)


def _driving(name: str, executable: str, kind: type, topic: str = "", **more: Any) -> Subject:
    entry = f"diffbot_controllers.executables:{executable}"
    return Subject(
        name, entry, executable, reference=(topic or f"{executable}/reference", kind), **more
    )


SUBJECTS = (
    _ident("integral"),
    _ident("rls"),
    _driving("backstepping", "backstep_controller", PoseReference),
    _driving("pose", "pose_controller", PoseReference),
    _driving("linearizing", "linearizing_controller", TwistStamped, "cmd_vel"),
    _driving(
        "velocity tracking",
        "velocity_tracking_controller",
        PoseReference,
        parameters=(f"sigma:={list(SIGMA)}", "dead_time:=0.0", "robot:=turtlebot2"),
        velocity=True,
    ),
)


def relay(velocity: bool) -> int:
    """Run a node that answers each state with zero; return the exit status."""
    from diffbot_node.node_process import run_node

    class Relay(Node):
        def __init__(self) -> None:
            super().__init__("relay")
            self.exit_code: int | None = None
            states = (Odometry, "odom") if velocity else (JointState, "joint_states")
            commands = (
                (TwistStamped, "cmd_vel")
                if velocity
                else (Float64MultiArray, "effort_controller/commands")
            )
            self._zero = commands[0]() if velocity else commands[0](data=[0.0, 0.0])
            self._topic = self.create_publisher(*commands, 10)
            self.create_subscription(*states, self._answer, 10)

        def _answer(self, message: Any) -> None:
            self._topic.publish(self._zero)

        def close(self) -> None:
            pass

    return run_node(Relay)


class TorqueRobot:
    """A simulated robot that holds the last torque and produces joint states."""

    states, commands = (
        (JointState, "joint_states"),
        (Float64MultiArray, "effort_controller/commands"),
    )

    def __init__(self, period: float) -> None:
        robot = load_robot("twil")
        self._names = list(robot.joints.names)
        self._virtual = VirtualRobot(
            make_simulator("ideal", robot),
            Actuator(robot.limits.torque),
            Encoders(ENCODER, period),
            period,
        )
        self._kept = (0.0, 0.0)

    def take(self, message: Float64MultiArray) -> tuple[float, float]:
        """Hold a torque from now on, and return it."""
        self._kept = (float(message.data[0]), float(message.data[1]))
        return self._kept

    def step(self) -> JointState:
        """The state a period later."""
        sample = self._virtual.advance(self._kept)
        message = JointState(name=self._names)
        message.position, message.velocity = list(sample.position), list(sample.velocity)
        message.effort = list(sample.effort)
        return message


class VelocityCommanded:
    """A simulated robot that holds the last velocity command and produces odometry."""

    states = (Odometry, "odom")
    commands = (TwistStamped, "cmd_vel")

    def __init__(self, period: float) -> None:
        self._robot, self._period = VelocityRobot(Sigma(*SIGMA), speed_limits=(0.7, 3.14)), period
        self._kept = (0.0, 0.0)

    def take(self, message: TwistStamped) -> tuple[float, float]:
        """Hold a command from now on, and return it."""
        self._kept = (message.twist.linear.x, message.twist.angular.z)
        return self._kept

    def step(self) -> Odometry:
        """The state a period later."""
        self._robot.step(self._kept, self._period)
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "odom"
        x, y, theta = self._robot.pose()
        message.pose.pose.position.x, message.pose.pose.position.y = x, y
        message.pose.pose.orientation.z = math.sin(0.5 * theta)
        message.pose.pose.orientation.w = math.cos(0.5 * theta)
        message.twist.twist.linear.x, message.twist.twist.angular.z = self._robot.velocity()
        return message


@dataclass
class Answers:
    """Latencies of the answers, s, and the number of states without one in time."""

    took: list[float] = field(default_factory=list)
    sent: int = 0
    missed: int = 0
    cpu: float = 0.0  # s
    _at: float | None = None

    def send(self) -> None:
        """Note that a state is sent."""
        if self._at is not None:
            self.missed += 1
        self.sent += 1
        self._at = time.perf_counter()

    def arrive(self) -> None:
        """Note that a command has arrived."""
        if self._at is not None:
            self.took.append(time.perf_counter() - self._at)
            self._at = None

    def clear(self) -> None:
        """Delete all measurements."""
        self.took.clear()
        self.sent = self.missed = 0

    def figures(self) -> list[float]:
        """Return p50, p99, p99.9 and largest in ms, CPU per state in us."""
        took = 1e3 * np.array(self.took or [math.nan])
        quantiles = np.quantile(took, (0.5, 0.99, 0.999, 1.0))
        return [*map(float, quantiles), 1e6 * self.cpu / max(self.sent, 1)]


class Bench:
    """The robot and the source of its references, in a node of this process.

    Args:
        subject: Node to measure.
        rate: Rate of the states, Hz.
    """

    def __init__(self, subject: Subject, rate: float) -> None:
        self._subject, self._period = subject, 1.0 / rate
        self.node = rclpy.create_node("round_trip")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        kind = VelocityCommanded if subject.velocity else TorqueRobot
        self._robot = kind(self._period)
        self.answers = {"node": Answers(), "relay": Answers()}
        self._topics = {}
        for name in self.answers:
            self._topics[name] = self.node.create_publisher(
                kind.states[0], f"/{name}/{kind.states[1]}", 10
            )
        commands, topic = kind.commands
        self.node.create_subscription(commands, f"/node/{topic}", self._on_command, 10)
        self.node.create_subscription(commands, f"/relay/{topic}", self._on_relay, 10)
        self._reference = None
        if subject.reference is not None:
            topic, reference = subject.reference
            self._reference = self.node.create_publisher(reference, f"/node/{topic}", 10)
        self._steps = 0
        self._begin = time.perf_counter()
        self._first = 1e-9 * self.node.get_clock().now().nanoseconds
        self.commands = self.moving = 0

    def _on_command(self, message: Any) -> None:
        self.answers["node"].arrive()
        self.commands += 1
        self.moving += self._robot.take(message) != (0.0, 0.0)

    def _on_relay(self, message: Any) -> None:
        self.answers["relay"].arrive()

    def run(self, seconds: float) -> None:
        """Publish states for a time, s, continuing from the end of the last run.

        Stamps are the nominal sending times: the motion is consistent with them even if this
        process is late.
        """
        for _ in range(round(seconds / self._period)):
            message, due = self._robot.step(), self._steps * self._period
            self._steps += 1
            message.header.stamp = to_stamp(self._first + due)
            self._ask(message.header.stamp, due)
            for name, later in (("node", 0.0), ("relay", 0.5 * self._period)):
                self._until(self._begin + due + later)
                self.answers[name].send()
                self._topics[name].publish(message)
            self._until(self._begin + due + 0.9 * self._period)

    def _ask(self, stamp: Any, t: float) -> None:
        """Publish the reference for a time."""
        if self._reference is None:
            return
        p, q = (math.tau / each for each in TIMES)
        v, omega = SPEED * math.sin(p * t), TURN * math.sin(q * t)
        message = self._subject.reference[1]()
        message.header.stamp = stamp
        if isinstance(message, TwistStamped):
            message.twist.linear.x, message.twist.angular.z = v, omega
        else:
            message.header.frame_id = "odom"
            # Straight motion: the turn would only change the direction of motion.
            message.x, message.v = SPEED / p * (1.0 - math.cos(p * t)), v
            message.dv = SPEED * p * math.cos(p * t)
        self._reference.publish(message)

    def _until(self, at: float) -> None:
        while (left := at - time.perf_counter()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait(self) -> None:
        """Publish states until both have answered.

        Raises:
            RuntimeError: They did not answer within PATIENCE.
        """
        end = time.monotonic() + PATIENCE
        while not all(len(each.took) > 20 for each in self.answers.values()):
            if time.monotonic() > end:
                raise RuntimeError(f"{self._subject.name} does not answer")
            self.run(0.2)

    def close(self) -> None:
        """Leave the graph."""
        self.node.destroy_node()


@contextmanager
def process(code: str, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a node in a separate process, which is ended afterwards."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, "--ros-args", *words], stdout=subprocess.DEVNULL
    )
    try:
        yield child
    finally:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(20.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def cpu(number: int) -> float:
    """Return the processor time of all threads of a process, s."""
    total = 0
    for task in os.listdir(f"/proc/{number}/task"):
        total += int(Path(f"/proc/{number}/task/{task}/schedstat").read_text().split()[0])
    return 1e-9 * total


def measure(
    subject: Subject, rate: float, seconds: float, watchdog: bool
) -> tuple[dict[str, Answers], float]:
    """Measure the answers of node and relay, and the share of non-zero commands."""
    module, function = subject.entry.split(":")
    code = f"from {module} import {function} as run; raise SystemExit(run())"
    here = str(Path(__file__).resolve().parent)
    empty = (
        f"import sys; sys.path.insert(0, {here!r}); from round_trip import relay; "
        f"raise SystemExit(relay({subject.velocity}))"
    )
    words = ["-r", "__ns:=/node", "-p", "robot:=twil"] if not subject.velocity else []
    words = words or ["-r", "__ns:=/node"]
    for parameter in subject.parameters:
        words += ["-p", parameter]
    guarded = watchdog and not subject.velocity
    if guarded:
        words += ["-r", "effort_controller/commands:=effort_watchdog/commands"]
    with ExitStack() as stack:
        node = stack.enter_context(process(code, words))
        beside = stack.enter_context(process(empty, ["-r", "__ns:=/relay"]))
        if guarded:
            guard = "from diffbot_node.executables import effort_watchdog as run; "
            guard += "raise SystemExit(run())"
            stack.enter_context(process(guard, ["-r", "__ns:=/node", "-p", "robot:=twil"]))
        bench = Bench(subject, rate)
        try:
            bench.wait()
            bench.run(WARM_UP)
            for answers in bench.answers.values():
                answers.clear()
            bench.commands = bench.moving = 0
            before = {"node": cpu(node.pid), "relay": cpu(beside.pid)}
            bench.run(seconds)
            for name, child in (("node", node), ("relay", beside)):
                bench.answers[name].cpu = cpu(child.pid) - before[name]
            return bench.answers, bench.moving / max(bench.commands, 1)
        finally:
            bench.close()


def main() -> None:
    """Run the measurement."""
    parser = options(__doc__)
    parser.add_argument(
        "--nodes", nargs="*", default=[], help="only names that contain these words"
    )
    parser.add_argument("--rates", nargs="*", type=float, default=RATES)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--watchdog", action="store_true")
    parser.add_argument("--real-time", action="store_true")
    asked = parser.parse_args()
    if asked.real_time:  # child processes inherit it
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    chosen = [
        subject
        for subject in SUBJECTS
        if not asked.nodes or any(word in subject.name for word in asked.nodes)
    ]
    columns = "".join(f"{name:>8}" for name in ("p50", "p99", "p99.9", "largest", "CPU"))
    print(f"{'':26}{'':8}{columns}  missed, commands that were not 0")
    with domains.claim("round_trip") as own:
        os.environ[domains.VARIABLE] = str(own.domain)
        rclpy.init()
        for subject in chosen:
            for rate in asked.rates:
                result, moving = measure(subject, rate, asked.seconds, asked.watchdog)
                figures = {name: answers.figures() for name, answers in result.items()}
                ratios = [a / b for a, b in zip(figures["node"], figures["relay"], strict=True)]
                title = f"{subject.name}, {rate:g} Hz"
                print(f"{title:26}{'ratio':8}" + "".join(f"{ratio:8.2f}" for ratio in ratios))
                for name, answers in result.items():
                    *latencies, work = figures[name]
                    said = "".join(f"{each:8.2f}" for each in latencies) + f"{work:8.0f}"
                    moved = f", {100 * moving:.0f} %" if name == "node" else ""
                    print(f"{'':26}{name:8}{said}  {answers.missed} of {answers.sent}{moved}")
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
