# SPDX-License-Identifier: Apache-2.0
"""Who publishes and who takes: topics, types, quality of service, rivals, controllers, timeouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diffbot_check.check_finding import CheckFinding, Part, Severity
from diffbot_check.observation import CheckedRobot
from diffbot_description.spoken_commands import spoken
from diffbot_node.endpoints import Endpoint, EndpointRole, elsewhere, instead, named, unmatched
from diffbot_node.topic_types import ARRAY, IMU, JOINT_STATE, ODOMETRY, POSES, TWISTS

SUITE = "a node of the suite"
# Types of ros2_control's controllers by the part that they serve.
CONTROLLERS = {
    "JointStateBroadcaster": Part.WHEELS,
    "JointGroupEffortController": Part.TORQUE_COMMANDS,
    "ForwardCommandController": Part.TORQUE_COMMANDS,
    "DiffDriveController": Part.VELOCITY_COMMANDS,
}
ACTIVE = "active"
# Longest time for which a driver may drive on by itself after the last command, s.
LONGEST_TIMEOUT = 1.0


def publishers(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield which inputs of the tasks nobody publishes, or are silent."""
    topics = subject.topics
    for topic, part, types in (
        (topics.joint_states, Part.WHEELS, (JOINT_STATE,)),
        (topics.odom, Part.ODOMETRY, (ODOMETRY,)),
    ):
        yield from _publisher(subject, topic, part, types)
    sensors = [
        topic
        for topic, types in ((topics.imu, (IMU,)), (topics.pose, POSES))
        if (stream := subject.stream(topic)) is not None and stream.type in types
    ]
    if not sensors:
        yield CheckFinding(
            Severity.FAULT,
            Part.SENSOR,
            f"no gyro on {topics.imu} and no pose on {topics.pose}",
            "calibration compares the wheels with a gyro or a pose source",
            spoken("check", subject.seen.recording, "--imu", "TOPIC")
            if subject.seen.recording
            else spoken("launch", "calibrate", "sim:=none", "imu_topic:=TOPIC"),
        )


def _publisher(
    subject: CheckedRobot, topic: str, part: Part, types: Sequence[str]
) -> Iterator[CheckFinding]:
    seen = subject.seen
    stream = subject.stream(topic)
    if seen.recording:
        if stream is None or stream.type not in types:
            kinds = sorted({each.topic for each in seen.streams.values() if each.type in types})
            yield CheckFinding(
                Severity.FAULT,
                part,
                f"the recording has no {types[0]} on {topic}",
                f"it has {', '.join(kinds) or 'no topic'} of that type",
                "ros2 bag record -s mcap -a",
            )
        return
    there = seen.partners(topic, EndpointRole.PUBLISHES)
    if not there or all(each.type not in types for each in there):
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"no node publishes {topic} as {types[0]}"
            f"{instead(EndpointRole.PUBLISHES, topic, types, seen.endpoints)}",
            "nothing can be measured without it",
            _named_instead(subject, EndpointRole.PUBLISHES, topic, types)
            or f"ros2 topic list -t | grep {types[0].rpartition('/')[2]}",
        )
    elif stream is None:
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{topic}: {named(there)} publishes it, and no message came in {seen.seconds:g} s",
            "the driver waits for its hardware or its controller is not active; or a network "
            "passes discovery but no data",
            "ros2 control list_controllers",
        )


def _named_instead(
    subject: CheckedRobot, role: EndpointRole, topic: str, types: Sequence[str]
) -> str:
    """Return the command that looks at the only other topic of the type; empty without one."""
    others = {each.topic for each in elsewhere(role, topic, types, subject.seen.endpoints)}
    if len(others) != 1:
        return ""
    other, given = others.pop(), [f"robot:={subject.given}"] * bool(subject.given)
    if topic in (subject.topics.odom, subject.topics.cmd_vel):
        argument = "odom" if topic == subject.topics.odom else "cmd_vel"
        return f"{spoken('check', *given, f'{argument}:={other}')}   (launch takes it, too)"
    if other.endswith(topic):
        return spoken("check", *given, "--namespace", other.removesuffix(topic).strip("/"))
    return ""


def commands(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield what keeps commands from the robot: no subscriber, rivals, quality of service."""
    seen, topics = subject.seen, subject.topics
    for topic, part, types in (
        (topics.efforts, Part.TORQUE_COMMANDS, (ARRAY,)),
        (topics.cmd_vel, Part.VELOCITY_COMMANDS, TWISTS),
    ):
        if seen.recording:
            yield from _recorded_commands(subject, topic, part, types)
            continue
        subscribers = seen.partners(topic, EndpointRole.SUBSCRIBES)
        fitting = [each for each in subscribers if each.type in types]
        if not fitting:
            yield CheckFinding(
                Severity.FAULT,
                part,
                f"no node takes {topic} as {' or '.join(types)}"
                f"{instead(EndpointRole.SUBSCRIBES, topic, types, seen.endpoints)}",
                "nobody would obey",
                _named_instead(subject, EndpointRole.SUBSCRIBES, topic, types)
                or "ros2 control list_controllers",
            )
            continue
        if len({each.type for each in fitting}) > 1:
            yield CheckFinding(
                Severity.WARNING,
                part,
                f"{topic} is taken as Twist and as TwistStamped ({named(fitting)})",
                "only those that take TwistStamped get the commands",
                f"ros2 topic info -v {topic}",
            )
        yield from _unreached(topic, part, fitting)
        rivals = seen.partners(topic, EndpointRole.PUBLISHES)
        if rivals:
            yield CheckFinding(
                Severity.FAULT,
                part,
                f"{topic}: {named(rivals)} commands the robot already",
                "two commanders drive one robot in turns: nodes refuse to begin",
                f"ros2 topic info -v {topic}   (stop it, or give its topic another name)",
            )


def _unreached(topic: str, part: Part, fitting: Sequence[Endpoint]) -> Iterator[CheckFinding]:
    """Yield the subscriptions that a node of the suite, reliable and volatile, does not reach."""
    for subscriber in fitting:
        own = Endpoint(EndpointRole.PUBLISHES, topic, subscriber.type, SUITE)
        if why := unmatched(own, subscriber):
            yield CheckFinding(
                Severity.FAULT,
                part,
                f"{topic}: {why}",
                "incompatible quality of service: the commands would never arrive",
                "in the driver: subscribe with durability volatile",
            )


def _recorded_commands(
    subject: CheckedRobot, topic: str, part: Part, types: Sequence[str]
) -> Iterator[CheckFinding]:
    stream = subject.stream(topic)
    if part is Part.VELOCITY_COMMANDS and (stream is None or stream.type not in types):
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"the recording has no commands on {topic}",
            "a robot that takes velocities is identified by its answer to commands",
            "ros2 bag record -s mcap -a",
        )


def controllers(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield which of ros2_control's controllers are not active."""
    for each in subject.seen.controllers or ():
        part = CONTROLLERS.get(each.type.rpartition("/")[2])
        if part is not None and each.state != ACTIVE:
            yield CheckFinding(
                Severity.FAULT,
                part,
                f"controller '{each.name}' ({each.type}) is {each.state}",
                "it neither publishes nor obeys before it is active",
                f"ros2 control set_controller_state {each.name} active",
            )


def timeouts(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield whether the driver stops by itself when commands end, as far as it says."""
    seen, topics = subject.seen, subject.topics
    for topic, part in (
        (topics.efforts, Part.TORQUE_COMMANDS),
        (topics.cmd_vel, Part.VELOCITY_COMMANDS),
    ):
        nodes = {each.node for each in seen.partners(topic, EndpointRole.SUBSCRIBES)}
        said = {name: value for name, value in seen.timeouts.items() if name.split()[0] in nodes}
        for name, value in said.items():
            if not 0.0 < value <= LONGEST_TIMEOUT:
                still = f"for {value:g} s" if value > 0.0 else "for ever"
                yield CheckFinding(
                    Severity.WARNING,
                    part,
                    f"{name} = {value:g} s",
                    f"when the commander dies, the robot drives on {still} by its last command",
                    f"ros2 param set {name} 0.5",
                )
        if nodes and not said:
            yield CheckFinding(
                Severity.NOTE,
                part,
                f"whether {', '.join(sorted(nodes))} stops when commands end is not known",
                "when the commander dies, only the driver's own timeout stops the robot",
                "docs/first_robot.md#does-it-stop-by-itself",
            )
