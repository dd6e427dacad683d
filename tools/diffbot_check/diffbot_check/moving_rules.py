# SPDX-License-Identifier: Apache-2.0
"""What the motion of `diffbot check --moving` says of wheels, unit, delay and the driver's stop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from diffbot_check.check_finding import COMMANDS, CheckFinding, Part, Severity
from diffbot_check.joint_rules import file_of
from diffbot_check.motion_record import CommandResponse, MovingResult
from diffbot_check.moving_test import MovingTest, obeys
from diffbot_check.observation import CheckedRobot
from diffbot_description.command_kind import CommandKind
from diffbot_description.dynamics import closed_form
from diffbot_description.robot import Joints
from diffbot_description.spoken import spoken
from diffbot_description.spoken_commands import spoken as spoken_line

SIDES = ("left", "right")
UNITS = {CommandKind.EFFORT: ("N m", "N m"), CommandKind.VELOCITY: ("m/s", "rad/s")}
AWAY = "a controller would drive the robot away from where it should go, faster and faster"
# A wheel that turns by less than this part of the other one's turn stands.
STANDS = 0.25
# Turn of the body by a gyro that has a direction, rad.
TURNED = 0.008
# Range of reported efforts for 1 N m commanded; of the acceleration over the described one.
ALIKE, LIKELY = (0.7, 1.4), 4.0
# Longest time after which a driver should stop by itself, s.
LONGEST = 1.0


@dataclass(frozen=True)
class MovingJudgement:
    """The findings, and the joints that the robot's file should have; None: as they are."""

    findings: tuple[CheckFinding, ...]
    joints: Joints | None = None


def judged(subject: CheckedRobot, test: MovingTest, encoders_known: bool) -> MovingJudgement:
    """Return what a test has shown of a robot that has a file.

    `encoders_known`: whether a person has shown, by pushing, that the encoders are right.
    """
    result = test.result
    findings: list[CheckFinding] = []
    joints: Joints | None = None
    if test.kind is CommandKind.EFFORT:
        for finding, mended in _torque_wheels(subject, result, encoders_known):
            findings.append(finding)
            joints = joints or mended
        if not findings:
            findings += _efforts(subject, result)
            findings += _unit(subject, test)
    else:
        findings += _velocity_wheels(subject, result)
    if result.ended:
        findings.append(
            CheckFinding(
                Severity.FAULT,
                COMMANDS[test.kind],
                f"stopped: {result.ended}",
                "the test ends at once, with zero, at what it does not expect",
                "mend what it names, then repeat it",
            )
        )
    findings += _stop(subject, test)
    return MovingJudgement(tuple(sorted(findings, key=lambda each: -each.severity)), joints)


def _fault(part: Part, what: str, why: str, line: str) -> CheckFinding:
    return CheckFinding(Severity.FAULT, part, what, why, line)


def _turned(response: CommandResponse | None) -> bool:
    return response is not None and response.least is not None


def _torque_wheels(
    subject: CheckedRobot, result: MovingResult, encoders_known: bool
) -> Iterator[tuple[CheckFinding, Joints | None]]:
    responses = [result.of(0), result.of(1)]
    tried = [each for each in responses if each is not None]
    if not tried:
        return
    if result.ended and not all(map(_turned, responses)):
        return  # what did not turn may only not have been tried hard enough
    if not any(map(_turned, tried)):
        most = max(each.most for each in tried)
        yield (
            _fault(
                Part.TORQUE_COMMANDS,
                f"no wheel turned, up to {spoken(most)} N m",
                "the motors have no power, the driver takes no commands, or its unit is larger",
                "enable the motors and release the emergency stop; then drive.effort_unit in "
                f"{file_of(subject)}",
            ),
            None,
        )
        return
    both = [each for each in responses if each is not None and each.least is not None]
    if len(both) < 2:
        if len(tried) == 2:
            yield _still_wheel(subject, result, int(_turned(responses[0]))), None
        return
    leading = [int(abs(each.turns[1]) > abs(each.turns[0])) for each in both]
    silent = [side for side in (0, 1) if _stands(both, side)]
    if silent:
        for side in silent:
            yield _sticks(subject, side), None
        return
    if leading == [1, 0]:
        yield _swapped(subject, result, encoders_known)
    elif leading[0] == leading[1]:
        yield (
            _fault(
                Part.WHEELS,
                f"both commands turn mainly the {SIDES[leading[0]]} wheel",
                "one motor is not driven by its own command",
                "the order of joints in the controller, and the motors' cables",
            ),
            None,
        )
        return
    yield from _directions(subject, result, both, leading)


def _stands(both: list[CommandResponse], side: int) -> bool:
    """Whether a wheel's angle stands while its own command, too, moves the robot."""
    turns = [abs(each.turns[side]) for each in both]
    others = [abs(each.turns[1 - side]) for each in both]
    return max(turns) < STANDS * min(others) or max(turns) == 0.0


def _still_wheel(subject: CheckedRobot, result: MovingResult, side: int) -> CheckFinding:
    """A command that turned nothing, while the other one turned a wheel."""
    name, own, other = SIDES[side], result.of(side), result.of(1 - side)
    assert own is not None and other is not None
    what = (
        f"the {name} command turned no wheel up to {spoken(own.most)} N m; the "
        f"{SIDES[1 - side]} one did at {spoken(other.most)} N m"
    )
    if abs(other.turns[side]) > abs(other.turns[1 - side]):
        return _fault(
            Part.TORQUE_COMMANDS,
            f"{what}, and it turned the {name} wheel",
            "left and right are exchanged, and one motor is dead or one encoder sticks",
            f"the cables of both motors; then {spoken_line('check', '--by-hand')}",
        )
    counted = abs(other.turns[side]) > 2e-3
    why = (
        "its encoder counts, so its motor has no power, or the wheel is blocked"
        if counted
        else "its motor is dead, the wheel is blocked, or its encoder sticks"
    )
    return _fault(
        Part.TORQUE_COMMANDS,
        what,
        why,
        f"look whether it turns; by hand: {_by_hand(subject)}",
    )


def _by_hand(subject: CheckedRobot) -> str:
    return spoken_line("check", f"robot:={subject.given}", "--by-hand")


def _sticks(subject: CheckedRobot, side: int) -> CheckFinding:
    name = (subject.robot.joints if subject.robot else Joints(("left",), ("right",))).first[side]
    return _fault(
        Part.WHEELS,
        f"the {SIDES[side]} command moved the robot, and the angle of '{name}' stood still",
        "its encoder sticks or is not connected",
        f"the encoder's cable; by hand: {_by_hand(subject)}",
    )


def _exchanged(joints: Joints) -> Joints:
    left, right = joints.side_signs
    return Joints(joints.right, joints.left, (*right, *left) if joints.signs else ())


def _line(joints: Joints, subject: CheckedRobot) -> str:
    left, right = ", ".join(joints.left), ", ".join(joints.right)
    signs = f", signs: {list(joints.signs)}" if joints.signs else ""
    return f"joints: {{left: [{left}], right: [{right}]{signs}}}   ({file_of(subject)})"


def _swapped(
    subject: CheckedRobot, result: MovingResult, encoders_known: bool
) -> tuple[CheckFinding, Joints | None]:
    """Each command turns the other wheel; a gyro or a person knows which of the two is wrong."""
    assert subject.robot is not None
    what = "the left command turns the right wheel, and the right one the left"
    controller = "in the driver or controller: the order of the joints of its commands"
    turns = [_yaw_as_commanded(result, channel) for channel in (0, 1)]
    if encoders_known or all(turn < -TURNED for turn in turns):
        return _fault(Part.TORQUE_COMMANDS, what, AWAY, controller), None
    mended = _exchanged(subject.robot.joints)
    if all(turn > TURNED for turn in turns):
        return _fault(Part.WHEELS, what, AWAY, _line(mended, subject)), mended
    return _fault(
        Part.WHEELS,
        what,
        f"{AWAY}; the motors are exchanged, or the encoders' names",
        f"{_by_hand(subject)}   (it decides which)",
    ), None


def _yaw_as_commanded(result: MovingResult, channel: int) -> float:
    """Turn of the body by a gyro, rad, > 0 where it is that of the commanded wheel; may be NaN."""
    return sum(
        each.sign * each.yaw * (1 if channel else -1)
        for each in result.responses
        if each.channel == channel and each.least is not None
    )


def _directions(
    subject: CheckedRobot, result: MovingResult, both: list[CommandResponse], leading: list[int]
) -> Iterator[tuple[CheckFinding, Joints | None]]:
    """Wheels that turn against their command, or with it in the wrong direction."""
    assert subject.robot is not None
    joints = subject.robot.joints
    for each, side in zip(both, leading, strict=True):
        if each.sign * each.turns[side] < 0.0:
            yield (
                _fault(
                    Part.WHEELS,
                    f"the {SIDES[each.channel]} command forward turns '{joints.first[side]}' "
                    "backward by its angle",
                    f"the motor turns, or the encoder counts, the other way; {AWAY}",
                    "in the driver: invert the motor or the encoder, not both",
                ),
                None,
            )
            return
    if leading != [0, 1]:
        return
    against = [
        each.channel
        for each in both
        if each.sign * each.yaw * (1 if each.channel else -1) < -TURNED
    ]
    if len(against) == 2:
        yield (
            _fault(
                Part.WHEELS,
                "the gyro turns the other way than the wheels say",
                "left and right are exchanged, both wheels are reversed, or the gyro is upside "
                "down",
                f"{_by_hand(subject)}   (it decides which)",
            ),
            None,
        )
    elif against:
        side = against[0]
        sides = zip(joints.sides, joints.directions, strict=True)
        signs = [-sign if place == side else sign for place, sign in sides]
        mended = replace(joints, signs=tuple(signs))
        yield (
            _fault(
                Part.WHEELS,
                f"forward on '{joints.first[side]}' rolls backward, as the gyro says",
                AWAY,
                _line(mended, subject),
            ),
            mended,
        )


def _velocity_wheels(subject: CheckedRobot, result: MovingResult) -> Iterator[CheckFinding]:
    forward, turn = result.of(0), result.of(1)
    tried = [each for each in (forward, turn) if each is not None]
    if not tried:
        return
    if result.ended and not (_turned(forward) and _turned(turn)):
        return
    if not any(map(_turned, tried)):
        said = " and ".join(
            f"{spoken(each.most)} {UNITS[CommandKind.VELOCITY][each.channel]}" for each in tried
        )
        yield _fault(
            Part.VELOCITY_COMMANDS,
            f"nothing moved, up to {said}",
            "the motors have no power, the driver takes no commands, or odometry stands",
            "enable the motors and release the emergency stop",
        )
        return
    for each, name in ((forward, "v"), (turn, "omega")):
        if each is not None and not _turned(each) and forward is not None and turn is not None:
            yield _fault(
                Part.VELOCITY_COMMANDS,
                f"a command of {name} up to {spoken(each.most)} moved nothing, the other one did",
                "the driver does not take this axis, or its dead band is large",
                "in the driver: linear.x and angular.z, in m/s and rad/s",
            )
            return
    if forward is None or turn is None:
        return
    yield from _velocity_directions(forward, turn)


def _velocity_directions(forward: CommandResponse, turn: CommandResponse) -> Iterator[CheckFinding]:
    """Judge by what each wheel does for both axes, as it should: positive."""
    ahead = np.array(forward.turns) * forward.sign
    about = np.array(turn.turns) * turn.sign * (-1.0, 1.0)
    still = [
        side
        for side in (0, 1)
        if abs(ahead[side]) < STANDS * abs(ahead[1 - side])
        and abs(about[side]) < STANDS * abs(about[1 - side])
    ]
    wheels, commands = Part.ODOMETRY, Part.VELOCITY_COMMANDS
    if still:
        name = SIDES[still[0]]
        yield _fault(
            commands,
            f"the {name} wheel stands, in both commands of v and of omega",
            "its motor is dead or blocked, or its encoder sticks",
            f"look whether it turns; then the cables of the {name} motor and encoder",
        )
        return
    if obeys(CommandKind.VELOCITY, forward) and obeys(CommandKind.VELOCITY, turn):
        if turn.sign * turn.yaw < -TURNED:
            yield _fault(
                wheels,
                "the gyro turns the other way than odometry and command say",
                AWAY,
                "in the driver: left and right exchanged and reversed, or the gyro's z axis down",
            )
        return
    reversed_sides = [side for side in (0, 1) if ahead[side] < 0.0 and about[side] < 0.0]
    if len(reversed_sides) == 1:
        what = f"the {SIDES[reversed_sides[0]]} wheel turns backward where it should forward"
        line = f"in the driver: invert the {SIDES[reversed_sides[0]]} motor, with its encoder"
    elif (ahead > 0.0).all() and (about < 0.0).all():
        what = "commanded to turn left, odometry says right"
        line = "in the driver: exchange left and right, motors or encoders (angular.z: left)"
    elif (ahead < 0.0).all() and (about > 0.0).all():
        what = "commanded forward, odometry says backward"
        line = "in the driver: front and rear exchanged: invert v, or both motors and encoders"
    elif (ahead < 0.0).all() and (about < 0.0).all():
        what = "commanded forward, odometry says backward; commanded left, it says right"
        line = "in the driver: invert both motors, or both encoders"
    else:
        what = (
            f"v turned the wheels [left, right] by {_pair(ahead)} rad, and omega by "
            f"{_pair(about * (-1.0, 1.0))} rad"
        )
        line = "in the driver: which motor and encoder is left, and which way is forward"
    yield _fault(wheels, what, AWAY, line)


def _pair(values: np.ndarray) -> str:
    return f"[{values[0]:.2f}, {values[1]:.2f}]"


def _efforts(subject: CheckedRobot, result: MovingResult) -> Iterator[CheckFinding]:
    """Compare the efforts that are reported with those that are commanded."""
    for side in (0, 1):
        ratios = [
            each.efforts[side] for each in result.responses if each.channel == side and each.least
        ]
        ratio = float(np.median(ratios)) if ratios else math.nan
        if math.isnan(ratio) or ALIKE[0] < ratio < ALIKE[1]:
            continue
        if abs(ratio) < 0.02:
            what = f"the effort of the {SIDES[side]} wheel stays near 0 while it is commanded"
            line = "in the driver: report the effort that acts"
        else:
            what = (
                f"the {SIDES[side]} wheel reports an effort of {spoken(ratio)} for 1 N m that is "
                "commanded"
            )
            line = (
                "in the driver: efforts in the commands' unit; both in amperes: drive: "
                f"{{effort_unit: ampere, torque_constant: [K, K]}}   ({file_of(subject)})"
            )
        yield _fault(Part.EFFORTS, what, "K5 to K8 are wrong by this factor, or are refused", line)
        return


def _unit(subject: CheckedRobot, test: MovingTest) -> Iterator[CheckFinding]:
    """Compare the acceleration with the described one, on the ground and with lifted wheels."""
    robot, gain = test.robot, test.result.gain
    if gain is None or gain <= 0.0:
        return
    k, model = closed_form(robot.model), robot.model
    ground = (k.k7 - model.half_track * k.k8) / model.wheel_radius
    ratios = gain / ground, gain * model.wheel_inertia_spin
    if ratios[1] < 1.0 < ratios[0] or min(abs(math.log(each)) for each in ratios) < math.log(
        LIKELY
    ):
        return
    yield CheckFinding(
        Severity.WARNING,
        Part.EFFORTS,
        f"1 N m accelerates a wheel as {spoken(ratios[0])} N m would on the ground, and "
        f"{spoken(ratios[1])} N m with lifted wheels",
        "the unit of the efforts is another one, or the described masses are wrong",
        "drive: {effort_unit: ampere, torque_constant: [K, K]}   "
        f"({file_of(subject)}; K: N m of the wheel for 1 A)",
    )


def _stop(subject: CheckedRobot, test: MovingTest) -> Iterator[CheckFinding]:
    result = test.result
    if not result.watched or (result.timeout is not None and result.timeout <= LONGEST):
        return
    part = COMMANDS[test.kind]
    if result.timeout is not None:
        what = f"the driver stops by itself, but only {result.timeout:.1f} s after the last command"
    else:
        what = f"the driver still acted {result.watched:.1f} s after the last command"
    line = (
        "cmd_vel_timeout: 0.5 in the parameters of diff_drive_controller, or the device's own"
        if test.kind is CommandKind.VELOCITY
        else "a timeout in the motor driver; effort controllers of ros2_control have none"
    )
    yield CheckFinding(
        Severity.WARNING,
        part,
        what,
        "if the computer hangs or the network is cut, the wheels turn on; do not drive without an "
        "emergency stop within reach",
        line,
    )
