# SPDX-License-Identifier: Apache-2.0
"""Export parameters of ros2_control: diff_drive_controller, chained to wheel pid_controllers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diffbot_description.spoken_commands import spoken
from diffbot_export.curvature_limits import CurveFollower
from diffbot_export.known_robot import (
    TORQUE,
    VELOCITY,
    AxisLimits,
    KnownRobot,
    WheelModel,
    joints_of,
    velocity_plant,
    wheel_model,
)
from diffbot_export.loop_design import RIPPLE, LoopGains, design
from diffbot_export.plant import BAND, Pid, StepResponse, predicted_step
from diffbot_export.sourced_value import Entry, SourcedValue, Tree, product, to_yaml

FILE = "ros2_control.yaml"
CHECKED = "ros2_controllers 6.9.0, 5.17.0 and 4.42.1"
BASE = "diffbot_base_controller"
PIDS = ("left_wheel_pid", "right_wheel_pid")
BROADCASTER = "joint_state_broadcaster"
# Largest shares of the clamp that p alone takes, and of the top speed, in predicted steps.
UNCLAMPED, OF_TOP_SPEED = 0.6, 0.5
# Longest prediction, in integral times and in periods.
LONG, MOST_PERIODS = 10.0, 5000
# Variance of components that planar motion does not have, m^2 and rad^2, or per s^2.
PLANAR = 1e-6
# Distance after which the pose has the exported covariance, m.
DIRECTION = 1.0


@dataclass(frozen=True)
class WheelControl:
    """The exported wheel loops; `step`: wheel speed of the predicted steps, rad/s."""

    model: WheelModel
    gains: LoopGains
    pid: Pid
    step: float
    responses: tuple[StepResponse, StepResponse]

    def summary(self) -> dict[str, Any]:
        """Return the content for export.json; SI units."""
        return {
            "p": self.pid.p,
            "i": self.pid.i,
            "feedforward": self.pid.feedforward,
            "clamp": self.pid.clamp if math.isfinite(self.pid.clamp) else None,
            "unit": self.model.unit,
            "phase_margin": self.gains.margins.phase,
            "gain_margin": self.gains.margins.gain,
            "crossover": self.gains.margins.crossover,
            "bound": self.gains.bound,
            "step": self.step,
            "predicted": {
                name: {"settling": _plain(result.settling), "overshoot": result.overshoot}
                for name, result in zip(("forward", "turning"), self.responses, strict=True)
            },
            "band": BAND,
        }


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def wheel_control(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> WheelControl:
    """Design the wheel loops and predict their responses, forward and turning on the spot.

    Raises ValueError if something is missing for them, or no gains are suitable.
    """
    model = wheel_model(robot)
    period = 1.0 / robot.settings.loop_rate
    limit, fastest = robot.effort_limit, _fastest_wheel(robot, limits)
    feedforward = model.feedforward.value
    clamp = math.inf if limit is None else limit.value - feedforward * fastest
    if not clamp > 0.0:
        raise ValueError(
            f"feed-forward at {fastest:.3g} rad/s takes all of the {limit and limit.value:g} "
            f"{model.unit}; lower the limit of speed in the robot's description"
        )
    gains = design(
        model.corners(),
        period,
        feedforward=feedforward,
        margin=robot.settings.margin,
        largest=_largest_gain(robot, limit),
    )
    pid = Pid(gains.p, gains.i, feedforward, clamp)
    step = _step(model, pid, fastest)
    times = min(LONG * gains.p / gains.i, MOST_PERIODS * period)
    responses = tuple(
        predicted_step(model.plant, pid, period, axis, step, times) for axis in (0, 1)
    )
    return WheelControl(model, gains, pid, step, (responses[0], responses[1]))


def _fastest_wheel(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> float:
    """Return the largest wheel speed at the limit of one axis alone, rad/s; 0: not known."""
    geometry = robot.geometry
    if geometry is None:
        return 0.0
    v, omega = (0.0 if axis.velocity is None else axis.velocity.value for axis in limits)
    fastest = max(*geometry.wheel_velocity(v, 0.0), geometry.wheel_velocity(0.0, omega)[1])
    return fastest if robot.description is None else min(fastest, robot.description.wheel_speed)


def _largest_gain(robot: KnownRobot, limit: SourcedValue | None) -> float:
    """Return the p at which one encoder count changes the effort by RIPPLE of its limit."""
    if robot.description is None or limit is None or robot.description.encoder.counts == 0:
        return math.inf
    count = math.tau / robot.description.encoder.counts * robot.settings.loop_rate
    return RIPPLE * limit.value / count


def _step(model: WheelModel, pid: Pid, fastest: float) -> float:
    if math.isfinite(pid.clamp):
        most = UNCLAMPED * pid.clamp / pid.p
        return min(most, OF_TOP_SPEED * fastest) if fastest > 0.0 else most
    dry = max(model.plant.dry)
    return 10.0 * dry / pid.p if dry > 0.0 else 1.0


def follower_of(
    robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits], control: WheelControl | None
) -> CurveFollower:
    """Return the robot as curvature_limits.py simulates it. Raises ValueError."""
    linear, angular = limits
    needed = (linear.velocity, angular.velocity, angular.acceleration)
    if any(quantity is None for quantity in needed):
        raise ValueError("limits of speed and yaw acceleration are not all known")
    v, w, alpha = (quantity.low for quantity in needed if quantity is not None)
    period = 1.0 / robot.settings.loop_rate
    if robot.kind == VELOCITY:
        return CurveFollower(velocity_plant(robot), None, period, v, w, alpha)
    if control is None:
        raise ValueError("there are no wheel loops")
    return CurveFollower(control.model.plant, control.pid, period, v, w, alpha)


def ros2_control_yaml(
    robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits], control: WheelControl | None
) -> str:
    """Return the file for a controller manager and its controllers.

    Raises ValueError if the joints are not known, or have a sign that these controllers lack.
    """
    left, right = joints_of(robot)
    _check_signs(robot)
    tree: dict[str, Any] = {"controller_manager": _manager(robot, control)}
    if control is not None:
        tree[PIDS[0]] = {"ros__parameters": _pid(robot, control, left)}
        tree[PIDS[1]] = {"ros__parameters": _uncommented(_pid(robot, control, right))}
    tree[BASE] = {"ros__parameters": _diff_drive(robot, limits, control)}
    chained = [] if control is None else list(PIDS)
    head = [
        f"{robot.head('ros2_control')}; names, types and bounds of {CHECKED}.",
        "Load it: give this file to ros2_control_node (controller_manager) as parameters, then run",
        f"ros2 run controller_manager spawner {' '.join([BROADCASTER, *chained, BASE])}",
        *(["(in this order: the last one writes to the two before it)."] if chained else []),
        f"Give it to controllers that run already: {spoken('apply', FILE)}",
        "Each value: what it is, its 95 % interval [lower, upper], and where it comes from.",
        *robot.gaps(),
        "",
    ]
    return to_yaml(tree, head)


def _manager(robot: KnownRobot, control: WheelControl | None) -> Tree:
    types: dict[str, Any] = {
        "update_rate": Entry(round(robot.settings.loop_rate), "Hz, from --loop-rate"),
        BROADCASTER: {"type": Entry(f"{BROADCASTER}/JointStateBroadcaster")},
    }
    if control is not None:
        for name in PIDS:
            types[name] = {"type": Entry("pid_controller/PidController")}
    types[BASE] = {"type": Entry("diff_drive_controller/DiffDriveController")}
    return {"ros__parameters": types}


def _check_signs(robot: KnownRobot) -> None:
    described = robot.description
    if described is not None and -1 in described.joints.directions:
        names = [
            name
            for name, sign in zip(described.joints.names, described.joints.directions, strict=True)
            if sign < 0
        ]
        raise ValueError(
            f"joints.signs of {described.path.name} is -1 for {', '.join(names)}, but "
            "diff_drive_controller has no sign of a wheel: let the hardware interface publish and "
            "take forward as positive, and take the sign out"
        )


def _pid(robot: KnownRobot, control: WheelControl, joints: Sequence[str]) -> Tree:
    fraction = 1.0 / len(joints)
    gains, model, pid = control.gains, control.model, control.pid
    unit, margins = model.unit, control.gains.margins
    slow = max(model.inertia, key=lambda inertia: inertia.value)
    p = product(f"{unit} s/rad", "", (slow, 1.0), scale=fraction * gains.p / slow.value)
    of_each = "" if fraction == 1.0 else f"one of {len(joints)} equal parts of a side's; "
    forward, turning = control.responses
    tuned = (
        f"for a phase margin of {margins.phase:.0f} degrees, a gain margin of {margins.gain:.1f} "
        f"at {robot.settings.loop_rate:g} Hz anywhere in the intervals of the inertias (highest "
        f"crossover {margins.crossover:.3g} rad/s); bounded by {gains.bound}"
    )
    answers = (
        f"predicted for a step to {control.step:.3g} rad/s: forward {_response_text(forward)}, "
        f"turning {_response_text(turning)}"
    )
    values: dict[str, Any] = {
        "p": Entry(
            fraction * pid.p,
            f"{of_each}{unit} s/rad: {_interval(p)} with the inertia {slow.source}, "
            f"{slow.text()}; {tuned}; {answers}",
        ),
        "i": Entry(
            fraction * pid.i, f"{unit}/rad: p over an integral time of {pid.p / pid.i:.3g} s"
        ),
        "d": Entry(0.0),
        "feedforward_gain": Entry(
            fraction * pid.feedforward,
            f"{of_each}{model.feedforward.source}, {model.feedforward.text()}",
        ),
    }
    if math.isfinite(pid.clamp):
        limit = robot.effort_limit
        assert limit is not None
        values["u_clamp_max"] = Entry(
            fraction * pid.clamp,
            f"{of_each}{unit}: limit {limit.text()} of {limit.source} less the feed-forward at "
            "top speed, which the controller adds after its clamp",
        )
        values["u_clamp_min"] = Entry(-fraction * pid.clamp)
    values["antiwindup_strategy"] = Entry("conditional_integration")
    values["save_i_term"] = Entry(False)
    interface = "effort" if robot.kind == TORQUE else "voltage"
    dry = (
        f"dry friction of {max(model.plant.dry):.4g} {unit}"
        + (f", and {model.plant.scrub:.4g} {unit} in turns," if model.plant.scrub else "")
        + " is not fed forward: the controller "
        "has no parameter for it, its integral compensates it"
    )
    return {
        "dof_names": Entry(list(joints)),
        "command_interface": Entry(
            interface,
            "N m"
            if robot.kind == TORQUE
            else ("volts; use the name of that interface in your hardware"),
        ),
        "reference_and_state_interfaces": Entry(["velocity"]),
        "enable_feedforward": Entry(
            True, (f"needed by 4.x only, later versions always feed forward; {dry}")
        ),
        "gains": {joints[0]: values, **{name: _uncommented(values) for name in joints[1:]}},
    }


def _uncommented(tree: Tree) -> Tree:
    return {
        key: Entry(node.value) if isinstance(node, Entry) else _uncommented(node)
        for key, node in tree.items()
    }


def _response_text(response: StepResponse) -> str:
    if not math.isfinite(response.settling):
        return f"overshoot {100 * response.overshoot:.0f} %, not settled"
    return (
        f"within {100 * BAND:g} % after {response.settling:.3g} s, overshoot "
        f"{100 * response.overshoot:.0f} %"
    )


def _interval(quantity: SourcedValue) -> str:
    if quantity.lower is None:
        return "no interval"
    return f"[{quantity.low:.4g}, {quantity.high:.4g}]"


def _diff_drive(
    robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits], control: WheelControl | None
) -> Tree:
    left, right = ([*side] for side in joints_of(robot))
    if control is not None:
        left, right = (
            [f"{pid}/{name}" for name in side]
            for pid, side in zip(PIDS, (left, right), strict=True)
        )
    tree: dict[str, Any] = {
        "left_wheel_names": Entry(left, "" if control is None else "the chained controller"),
        "right_wheel_names": Entry(right),
        **_lengths(robot),
    }
    if control is not None:
        tree["position_feedback"] = Entry(
            False, "the chained controllers pass on velocities only: odometry integrates them"
        )
    tree |= _covariances(robot, limits)
    for name, inner, axis in (("linear", "x", limits[0]), ("angular", "z", limits[1])):
        result = _limits(axis)
        if result:
            tree[name] = {inner: result}
    return tree


def _lengths(robot: KnownRobot) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    radii = [robot.radius(side) for side in (0, 1)]
    known = [radius for radius in radii if radius is not None]
    described = None if robot.description is None else robot.description.wheels
    if len(known) == 2:
        nominal = 0.5 * (known[0].value + known[1].value)
        words = f"m, mean of {known[0].source} and {known[1].source}"
        if described is not None:
            nominal, words = described.radius, "m, as described; the multipliers correct it"
        tree["wheel_radius"] = Entry(nominal, words)
        for side, radius in zip(("left", "right"), known, strict=True):
            tree[f"{side}_wheel_radius_multiplier"] = _multiplier(radius, nominal)
    track = robot.track
    if track is not None:
        nominal = track.value if described is None else described.separation
        tree["wheel_separation"] = Entry(
            nominal,
            f"m, {track.source}" if described is None else "m, as described",
        )
        tree["wheel_separation_multiplier"] = _multiplier(track, nominal)
    calibration = robot.results.calibration
    if calibration is not None and calibration.multipliers:
        # They correct the lengths that the driver used, which need not be the described ones.
        for name, value in calibration.multipliers.items():
            tree[name] = Entry(
                value.value, f"{value.cited()}; of the lengths during the calibration"
            )
        for name in ("wheel_radius", "wheel_separation"):
            if name in tree:
                tree[name] = Entry(
                    tree[name].value,
                    f"{tree[name].comment}; keep your driver's own: the multipliers are of that",
                    assumed=True,
                )
    return tree


def _multiplier(length: SourcedValue, nominal: float) -> Entry:
    if not length.identified:
        why = f"{length.source}, not calibrated: run diffbot calibrate"
        return Entry(1.0, why, assumed=True)
    ratio = length.times(1.0 / nominal, "1", length.source)
    return Entry(ratio.value, f"{ratio.text()}: {length.cited()}")


def _covariances(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> dict[str, Any]:
    calibration = robot.results.calibration
    noise = None if calibration is None else calibration.path_noise
    track, speed = robot.track, limits[0].velocity
    if noise is None or track is None or speed is None:
        robot.missing.append(
            "covariances of the odometry: no noise of the wheels' paths was calibrated"
            if noise is None
            else "covariances of the odometry: track or top speed are not known"
        )
        return {}
    k, period = noise.value, 1.0 / robot.settings.loop_rate
    # Path noise k of each wheel: variances k ds / 2 along, 2 k ds / track^2 of heading.
    along, turning = 0.5 * k, 2.0 * k / track.value**2
    across = turning * DIRECTION**2 / 3.0
    words = f"{noise.source}, {noise.text()}"
    rates = [along * speed.value / period, turning * speed.value / period]
    return {
        "pose_covariance_diagonal": Entry(
            [along * DIRECTION, across * DIRECTION, PLANAR, PLANAR, PLANAR, turning * DIRECTION],
            f"m^2, rad^2 after {DIRECTION:g} m straight ahead ({words}): the controller publishes "
            "a constant, but the true covariance grows; fuse only the twist in filters",
        ),
        "twist_covariance_diagonal": Entry(
            [rates[0], PLANAR, PLANAR, PLANAR, PLANAR, rates[1]],
            f"m^2/s^2, rad^2/s^2 of a reading over one period at {speed.value:g} m/s ({words})",
        ),
    }


def _limits(axis: AxisLimits) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    if axis.velocity is not None:
        assumed = axis.velocity.assumed
        tree["max_velocity"] = Entry(axis.velocity.value, _text(axis.velocity), assumed)
        tree["min_velocity"] = Entry(-axis.velocity.value, assumed=assumed)
    if axis.acceleration is not None and axis.deceleration is not None:
        up, down = axis.acceleration, axis.deceleration
        tree["max_acceleration"] = Entry(up.low, _text(up), up.assumed)
        tree["max_deceleration"] = Entry(-down.low, _text(down), down.assumed)
        tree["max_acceleration_reverse"] = Entry(-up.low, assumed=up.assumed)
        tree["max_deceleration_reverse"] = Entry(down.low, assumed=down.assumed)
    return tree


def _text(quantity: SourcedValue) -> str:
    end = ", the lower end" if quantity.identified else ""
    return f"{quantity.text()}{end}; {quantity.source}"
