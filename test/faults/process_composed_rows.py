# SPDX-License-Identifier: Apache-2.0
"""Rows in which a whole simulated run is one process, and people and processes outside meet it.

Nodes of one process lose nothing to each other, and nothing is late between them. What is left is
what comes from outside, and how the process ends. Each row starts a run of its own.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator

from sensor_msgs.msg import JointState

from diffbot_description import load_robot
from diffbot_node import to_stamp
from faults.process_attack import ENGINES, LASTING, Run
from faults.process_end_rows import LEAVING
from faults.process_failing_law import FAILURE
from faults.process_graph import PERIOD, ProcessGraph
from faults.process_group import PATIENCE
from faults.process_nodes import ONE_PROCESS, WHEELS, ComposedSpec, composed
from faults.process_probe import IN_TRANSIT
from faults.process_record import ZERO, Measured, Record, largest
from faults.row import Outcome, Promise, Row

GROUP = "One process"
SECOND = "second_process"
ENABLE = "backstep_controller/enable"
FOREIGN = (0.5, 0.5)  # N m; very different from the controller's torque in its circle
DRIVEN = 50  # control periods before the fault
REFUSED_WITHIN = 1.0  # s of wall time from a meeting to the end of the run
MEETING = 5.0  # s of wall time for a second run to start and be seen


class ComposedRun:
    """A run in one process that drives its robot, and what is found wrong with it.

    Args:
        graph: Graph of the process.

    Attributes:
        graph: As given.
        probe: Records what it sends, and publishes what the row needs.
        process: The process.
        fault: Wall time of the fault, s.
        problems: Broken promises so far.
        details: Additional measurements.
    """

    def __init__(self, graph: ProcessGraph) -> None:
        self.graph, self.probe = graph, graph.probe
        self.process = graph.process(ONE_PROCESS)
        record = self.probe.record
        if not self.probe.until(lambda: len(record.stamps) > DRIVEN, PATIENCE):
            raise RuntimeError(f"the robot is not driven within {PATIENCE:g} s:\n{graph.said()}")
        self.fault = time.time()
        self.problems: list[str] = []
        self.details: list[str] = []

    def expect(self, kept: object, otherwise: str) -> None:
        """Note a broken promise unless it is kept."""
        if not kept:
            self.problems.append(otherwise)

    def expect_end(self, status: int, words: str, within: float = LEAVING) -> None:
        """Expect that the process ends in time, with a status and a sentence, said once."""
        self.expect(self.process.wait(within), f"it has not ended {within:g} s after the fault")
        self.details.append(f"ended after {1e3 * (time.time() - self.fault):.0f} ms")
        self.expect(self.process.status == status, f"status {self.process.status}, not {status}")
        said = self.process.said()
        errors = [
            line
            for line in said.splitlines()
            # rclpy tells an exception, too.
            if ("[ERROR]" in line or "[FATAL]" in line) and "Exception in '" not in line
        ]
        reported = [line for line in errors if words in line]
        if words:
            self.expect(len(reported) == 1, f"it says {words!r} {len(reported)} times: {errors}")
        else:
            self.expect(not errors, f"it says {errors}")

    def measure(self) -> Measured:
        """Return the effect of the fault on what the process commands and its robot gets.

        Commands of the probe do not count, unless the robot obeys them.
        """
        heard, own = self.probe.record, Record(PERIOD)
        until = self.probe.hears_for(LASTING)
        for sent, torque in zip(heard.sent, heard.torques, strict=True):
            if torque != FOREIGN:
                own.add_command(sent, torque)
        for reported, stamp, effort in zip(
            heard.reported, heard.stamps, heard.efforts, strict=True
        ):
            own.add_state(reported, stamp, effort)
        self.expect(FOREIGN not in own.efforts, "the robot obeys the commands from outside")
        return own.measure(self.fault, until)

    def outcome(self, measured: Measured) -> Outcome:
        """Return the outcome of the row."""
        return Outcome(
            measured.time_to_zero,
            measured.worst_torque,
            self.graph.limit,
            tuple(self.problems),
            "; ".join(self.details),
        )


@contextlib.contextmanager
def running(engine: str, spec: ComposedSpec) -> Iterator[ComposedRun]:
    """Start a run in a domain of its own; end it at last."""
    nodes = {ONE_PROCESS: spec, SECOND: spec}
    graph = ProcessGraph(engine, nodes, (ONE_PROCESS,))
    try:
        yield ComposedRun(graph)
    finally:
        graph.close()


def emergency_stop(engine: str) -> Outcome:
    """Pressed: zero; released: still zero; enabled: it drives on."""
    with running(engine, composed()) as run:
        run.fault = run.probe.press(True)
        run.probe.hears_for(LASTING)
        enabled, why = run.probe.ask(ENABLE, True)
        run.expect(not enabled and "emergency stop" in why, f"enabled while pressed: {why!r}")
        run.probe.press(False)
        measured = run.measure()
        enabled, why = run.probe.ask(ENABLE, True)
        run.expect(enabled, f"it cannot be enabled again: {why}")
        run.expect(run.graph.resumes(), "it does not drive on")
        return run.outcome(measured)


def emergency_stop_in_wall_time(engine: str) -> Outcome:
    """As fast as the run goes, zero comes within the promised time of the person who presses."""
    with running(engine, composed(speed=0.0)) as run:
        run.fault = run.probe.press(True)
        until = run.probe.hears_for(LASTING)
        record = run.probe.record
        moving = [at for at, torque in zip(record.sent, record.torques, strict=True) if any(torque)]
        run.expect(record.torques[-1] == ZERO, "the wheels have torque at the end")
        run.expect(run.process.running, f"it ended with status {run.process.status}")
        speed = record.robot_time(run.fault) / (run.fault - record.reported[0])
        run.details.append(f"{speed:.0f} × real time; wall time")
        worst = record.measure(run.fault, until).worst_torque
        return run.outcome(Measured(max(moving[-1] - run.fault, 0.0), worst))


def ended_by(number: signal.Signals) -> Run:
    """The process is asked to end: zero first, then status 0."""

    def run_row(engine: str) -> Outcome:
        with running(engine, composed()) as run:
            run.fault = time.time()
            run.process.signal(number)
            run.expect_end(0, "")
            return run.outcome(run.measure())

    return run_row


def killed(engine: str) -> Outcome:
    """Killed outright, robot included: nothing commands any more, and nobody is left."""
    with running(engine, composed()) as run:
        run.process.signal(signal.SIGKILL)
        run.expect(run.process.wait(LEAVING), "it has not ended")
        record, at = run.probe.record, time.time()
        run.probe.hears_for(LASTING)
        later = [sent for sent in (*record.sent, *record.reported) if sent > at]
        run.expect(not later, f"{len(later)} messages after its end")
        return Outcome(None, largest(record.between(run.fault, at)), run.graph.limit,
                       tuple(run.problems), "the robot is gone, too")  # fmt: skip


def fails(spec: ComposedSpec) -> Run:
    """One node of the process raises: zero, and status 1 with the exception."""

    def run_row(engine: str) -> Outcome:
        with running(engine, spec) as run:
            run.fault = time.time()
            run.process.signal(signal.SIGUSR1)
            run.expect_end(1, FAILURE)
            return run.outcome(run.measure())

    return run_row


def second_commander(speed: float, torque: tuple[float, float] | None) -> Run:
    """A process outside commands the wheels, or could: it drives nothing, and the run ends."""

    def run_row(engine: str) -> Outcome:
        with running(engine, composed(speed=speed)) as run:
            if torque is not None:
                run.probe.answer = lambda stamp: _say(run, torque)
            run.fault = time.time()
            run.probe.appear(WHEELS)
            run.expect_end(1, "other node publishes /effort_controller/commands", REFUSED_WITHIN)
            measured = run.measure()
            if speed != 1.0:  # robot time runs away from the person who looks at it
                return Outcome(0.0, measured.worst_torque, run.graph.limit, tuple(run.problems),
                               "; ".join(run.details))  # fmt: skip
            return run.outcome(measured)

    return run_row


def _say(run: ComposedRun, torque: tuple[float, float]) -> None:
    with contextlib.suppress(KeyError):  # not yet a publisher
        run.probe.say(WHEELS, torque)


def second_source(says: bool) -> Run:
    """A process outside publishes joint states, or could: the run ends."""

    def run_row(engine: str) -> Outcome:
        with running(engine, composed()) as run:
            joints = load_robot(run.graph.robot).joints.names
            run.fault = time.time()
            publisher = run.probe.node.create_publisher(JointState, "joint_states", 10)
            standing = JointState(name=list(joints), position=[0.0, 0.0], velocity=[0.0, 0.0],
                                  effort=[0.0, 0.0])  # fmt: skip

            def say(stamp: float) -> None:
                standing.header.stamp = to_stamp(stamp + 0.5 * PERIOD)
                publisher.publish(standing)

            def answer(stamp: float) -> None:
                # It hears itself, too.
                if run.probe.record.efforts[-1] != ZERO:
                    say(stamp)

            run.probe.answer = answer if says else None
            run.expect_end(1, "/joint_states", REFUSED_WITHIN)
            return run.outcome(run.measure())

    return run_row


def second_run(engine: str) -> Outcome:
    """Two equal runs in one domain: each is refused, or drives as if it were alone."""
    with running(engine, composed()) as run:
        probe, record = run.probe, run.probe.record
        # So long that the second one, once the first has gone, is still within it.
        probe.until(lambda: len(record.stamps) > 6 * DRIVEN, PATIENCE)
        alone = dict(zip(record.stamps, record.efforts, strict=False))
        second = run.graph.start(SECOND)
        first = run.process  # which may be gone before the probe sees both
        probe.until(lambda: probe.commanders(WHEELS) > 1 or not first.running, MEETING)
        run.fault = time.time()
        run.expect(first.wait(REFUSED_WITHIN), "the first one drives on")
        run.expect(first.status == 1, f"status {first.status}, not 1")
        run.details.append(f"the first one ended after {1e3 * (time.time() - run.fault):.0f} ms")
        probe.hears_for(IN_TRANSIT)
        gone = time.time()
        said = first.said()
        run.expect("ROS_DOMAIN_ID" in said or "two sources" in said, f"it says {said[-300:]}")
        refused, since = second.wait(REFUSED_WITHIN), time.time()
        probe.hears_for(LASTING)
        if refused:
            run.expect(second.status == 1, f"status {second.status} of the second one, not 1")
            run.details.append("both refused")
            later = [sent for sent in (*record.sent, *record.reported) if sent > since]
            run.expect(not later, f"{len(later)} messages after the end of both")
        else:
            reported = zip(record.reported, record.stamps, record.efforts, strict=False)
            both = {stamp: effort for at, stamp, effort in reported if at > gone and stamp in alone}
            unlike = [stamp for stamp, effort in both.items() if effort != alone[stamp]]
            run.expect(both, "nothing that the second one drives can be compared")
            run.expect(not unlike, f"the second one drives otherwise than alone: {unlike[:3]}")
            run.details.append(f"the second one drives on as if alone ({len(both)} states)")
        return Outcome(0.0, largest(record.torques), run.graph.limit, tuple(run.problems),
                       "; ".join(run.details))  # fmt: skip


def _row(name: str, run: Run, promise: Promise = Promise.ZERO) -> Row:
    return Row(GROUP, name, promise, ENGINES, run)


FAILING = "faults/failing_controller"
ROWS: tuple[Row, ...] = (
    _row("emergency stop pressed, released, enabled", emergency_stop),
    _row("emergency stop at full speed, wall time", emergency_stop_in_wall_time),
    *(_row(f"{number.name} of the process", ended_by(number))
      for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
    _row("kill -9 of the process", killed, Promise.DRIVES_ON),
    _row("exception inside the law, in one process", fails(composed(FAILING))),
    _row("exception in a node that does not command",
         fails(composed(onlooker="faults/failing_onlooker"))),
    _row("a second commander outside, silent", second_commander(1.0, None)),
    _row("a second commander outside", second_commander(1.0, FOREIGN)),
    _row("a second commander outside, at full speed", second_commander(0.0, FOREIGN)),
    _row("a second source of joint states outside, silent", second_source(says=False)),
    _row("a second source of joint states outside", second_source(says=True)),
    _row("two runs in one domain", second_run),
)  # fmt: skip
