# SPDX-License-Identifier: Apache-2.0
"""Export parameters of Nav2: the same limits for velocity smoother, MPPI, RPP and DWB."""

from __future__ import annotations

import math
from typing import Any

from diffbot_export.known_robot import AxisLimits, KnownRobot
from diffbot_export.results import VelocityAxis
from diffbot_export.sourced_value import Entry, SourcedValue, Tree, product, to_yaml

# Time constants after which a first-order robot has lost 95 % of its speed.
SETTLED = 3.0


def stopping_distance(robot: KnownRobot, linear: AxisLimits) -> SourcedValue | None:
    """Return the distance from the top speed v, m; None: not a velocity robot, or not known.

    gain (v (dead time + time constant) + v^2 / (2 a)), with the driver's limit of deceleration a.
    """
    axis, speed = robot.results.velocity.get("v"), linear.velocity
    if axis is None or speed is None:
        return None
    gain = product("1", "1 / sigma3", (axis.drag, -1.0))
    lag = _lag(axis, 1.0)
    v = speed.value

    def travelled(at: float, late: float, brake: float) -> float:
        return at * v * (late + 0.5 * v / brake)

    down = axis.deceleration
    brakes = (math.inf,) * 3 if down is None else (down.value, down.low, down.high)
    ramp = "" if down is None else f", and {down.cited()}"
    return SourcedValue(
        travelled(gain.value, lag.value, brakes[0]),
        "m",
        f"from {v:g} m/s ({speed.source}) by time constant, gain and dead time{ramp}",
        travelled(gain.low, lag.low, brakes[2]) if lag.identified else None,
        travelled(gain.high, lag.high, brakes[1]) if lag.identified else None,
        speed.assumed,
    )


def stopping_time(robot: KnownRobot, linear: AxisLimits) -> SourcedValue | None:
    """Return the time in which 95 % of the top speed is lost, s; None as stopping_distance."""
    axis, speed = robot.results.velocity.get("v"), linear.velocity
    if axis is None or speed is None:
        return None
    lag, down = _lag(axis, SETTLED), axis.deceleration
    ends = (lag.value, lag.low, lag.high)
    if down is not None:
        brakes = (down.value, down.high, down.low)
        ends = tuple(end + speed.value / b for end, b in zip(ends, brakes, strict=True))  # type: ignore[assignment]
    return SourcedValue(
        ends[0],
        "s",
        f"dead time and {SETTLED:g} time constants of v"
        + ("" if down is None else ", and the driver's ramp from the top speed"),
        ends[1] if lag.identified else None,
        ends[2] if lag.identified else None,
        speed.assumed and down is not None,
    )


def _lag(axis: VelocityAxis, constants: float) -> SourcedValue:
    tau = product("s", "time constant", (axis.inertia, 1.0), (axis.drag, -1.0))
    late = axis.dead_time
    return SourcedValue(
        late.value + constants * tau.value,
        "s",
        "dead time and time constant",
        late.low + constants * tau.low if tau.identified else None,
        late.high + constants * tau.high if tau.identified else None,
    )


FILE = "nav2.yaml"
CHECKED = "navigation2 1.5.1 and 1.3.13"
MPPI, RPP, DWB = "FollowPathMPPI", "FollowPathRPP", "FollowPathDWB"
STOP_ZONE, APPROACH = "StopZone", "FootprintApproach"
# Smallest speed to command, as a multiple of the dead band.
ABOVE = 1.05


def nav2_yaml(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> str:
    """Return the file, to be merged into the user's own; ValueError without any limit."""
    linear, angular = limits
    if all(axis.velocity is None and axis.acceleration is None for axis in limits):
        raise ValueError("no limit of speed or acceleration is known: give --robot FILE")
    tree: dict[str, Any] = {}
    smoother = _smoother(linear, angular)
    if smoother:
        tree["velocity_smoother"] = {"ros__parameters": smoother}
    else:
        robot.missing.append("velocity_smoother: needs the limits of both axes")
    plugins = {
        MPPI: _mppi(robot, linear, angular),
        RPP: _rpp(linear, angular),
        DWB: _dwb(linear, angular),
    }
    tree["controller_server"] = {"ros__parameters": plugins}
    corners = _footprint(robot)
    if corners:
        assert robot.description is not None
        silhouette = Entry(
            _points(corners),
            f"m, hull and wheels as described in {robot.description.path.name}; not identified",
        )
        zone = _collision_monitor(robot, linear, corners)
        if zone:
            tree["collision_monitor"] = {"ros__parameters": zone}
        for costmap in ("local_costmap", "global_costmap"):
            tree[costmap] = {costmap: {"ros__parameters": {"footprint": silhouette}}}
    for axis, name in ((linear, "v"), (angular, "omega")):
        if axis.dead_band is None:
            robot.missing.append(f"dead band of {name}: {_no_band(robot)}")
    head = [
        f"{robot.head('Nav2 limits')}; names, types and bounds of {CHECKED}.",
        "Each value: what it is, its 95 % interval [lower, upper], and where it comes from. Merge "
        f"it into your own parameters: of {MPPI}, {RPP} and {DWB} take the one whose plugin you "
        "use, under the name of your plugin.",
        *robot.gaps(),
        "",
    ]
    return to_yaml(tree, head)


def _no_band(robot: KnownRobot) -> str:
    if robot.kind == "velocity":
        return "not identifiable"
    return "the wheel loops overcome dry friction, commands have none"


def _pair(first: SourcedValue, second: SourcedValue) -> str:
    return f"x: {first.cited()}; theta: {second.cited()}"


def _smoother(linear: AxisLimits, angular: AxisLimits) -> dict[str, Any]:
    v, w = linear.velocity, angular.velocity
    a, alpha = linear.acceleration, angular.acceleration
    down, yaw_down = linear.deceleration, angular.deceleration
    if not (v and w and a and alpha and down and yaw_down):
        return {}
    guessed = v.assumed or w.assumed
    tree: dict[str, Any] = {
        "max_velocity": Entry([v.value, 0.0, w.value], _pair(v, w), guessed),
        "min_velocity": Entry([-v.value, 0.0, -w.value], assumed=guessed),
        "max_accel": Entry(
            [a.low, 0.0, alpha.low],
            f"lower ends of {_pair(a, alpha)}",
            a.assumed or alpha.assumed,
        ),
        "max_decel": Entry(
            [-down.low, 0.0, -yaw_down.low],
            f"lower ends of {_pair(down, yaw_down)}",
            down.assumed or yaw_down.assumed,
        ),
    }
    bands = [axis.dead_band for axis in (linear, angular)]
    if any(bands):
        widths = [0.0 if band is None else band.high for band in bands]
        words = "; ".join(
            f"{name}: {'not identified' if band is None else band.cited()}"
            for name, band in zip(("x", "theta"), bands, strict=True)
        )
        tree["deadband_velocity"] = Entry(
            [widths[0], 0.0, widths[1]],
            f"smaller commands do not move the robot and are sent as 0; upper ends of {words}",
        )
    return tree


def _mppi(robot: KnownRobot, linear: AxisLimits, angular: AxisLimits) -> Tree:
    tree: dict[str, Any] = {"plugin": Entry("nav2_mppi_controller::MPPIController")}
    tree |= _speeds(linear, {"vx_max": 1.0, "vx_min": -1.0})
    tree |= _speeds(angular, {"wz_max": 1.0})
    tree |= _ramps(linear, "ax_max", "ax_min")
    if angular.acceleration is not None:
        tree["az_max"] = _end(angular.acceleration)
    for axis, name in (("v", "model_delay_vx"), ("omega", "model_delay_wz")):
        result = robot.results.velocity.get(axis)
        if result is not None:
            tree[name] = Entry(
                result.dead_time.value, f"read from 1.5 on; {result.dead_time.cited()}"
            )
    return tree


def _speeds(axis: AxisLimits, names: dict[str, float]) -> dict[str, Any]:
    if axis.velocity is None:
        return {}
    first = next(iter(names))
    return {
        name: Entry(
            sign * axis.velocity.value,
            axis.velocity.cited() if name == first else "",
            axis.velocity.assumed,
        )
        for name, sign in names.items()
    }


def _ramps(axis: AxisLimits, up: str, down: str) -> dict[str, Any]:
    if axis.acceleration is None or axis.deceleration is None:
        return {}
    return {
        up: _end(axis.acceleration),
        down: _end(axis.deceleration, -1.0),
    }


def _end(limit: SourcedValue, sign: float = 1.0) -> Entry:
    return Entry(sign * limit.low, limit.cited(), limit.assumed)


def _slowest(axis: AxisLimits) -> Entry | None:
    """Return the smallest command that surely moves the robot; None without a dead band."""
    if axis.dead_band is None or not axis.dead_band.high > 0.0:
        return None
    return Entry(
        ABOVE * axis.dead_band.high, f"{ABOVE:g} times the dead band, {axis.dead_band.cited()}"
    )


def _rpp(linear: AxisLimits, angular: AxisLimits) -> Tree:
    tree: dict[str, Any] = {
        "plugin": Entry("nav2_regulated_pure_pursuit_controller::RegulatedPurePursuitController")
    }
    tree |= _speeds(linear, {"desired_linear_vel": 1.0})
    tree |= _speeds(angular, {"rotate_to_heading_angular_vel": 1.0})
    slowest = _slowest(linear)
    if slowest is not None:
        tree["min_approach_linear_velocity"] = slowest
        tree["regulated_linear_scaling_min_speed"] = slowest
    if angular.acceleration is not None:
        tree["max_angular_accel"] = _end(angular.acceleration)
    newer: dict[str, Any] = {}
    if linear.velocity is not None:
        newer["min_linear_vel"] = Entry(
            -linear.velocity.value, "this and below: read from 1.5 on", linear.velocity.assumed
        )
    newer |= _ramps(linear, "max_linear_accel", "max_linear_decel")
    newer |= _speeds(angular, {"max_angular_vel": 1.0, "min_angular_vel": -1.0})
    if angular.deceleration is not None:
        newer["max_angular_decel"] = _end(angular.deceleration, -1.0)
    return tree | newer


def _dwb(linear: AxisLimits, angular: AxisLimits) -> Tree:
    tree: dict[str, Any] = {"plugin": Entry("dwb_core::DWBLocalPlanner")}
    tree |= _speeds(linear, {"max_vel_x": 1.0, "min_vel_x": -1.0, "max_speed_xy": 1.0})
    tree |= _speeds(angular, {"max_vel_theta": 1.0})
    for name, axis in (("min_speed_xy", linear), ("min_speed_theta", angular)):
        slowest = _slowest(axis)
        if slowest is not None:
            tree[name] = slowest
    for suffix, axis in (("x", linear), ("theta", angular)):
        tree |= _ramps(axis, f"acc_lim_{suffix}", f"decel_lim_{suffix}")
    return tree


def _collision_monitor(
    robot: KnownRobot, linear: AxisLimits, corners: list[tuple[float, float]]
) -> dict[str, Any]:
    """Return zones that leave room to stop from the top speed, ahead and behind."""
    distance = stopping_distance(robot, linear)
    time = stopping_time(robot, linear)
    if distance is None or time is None:
        return {}
    half = max(abs(y) for _, y in corners)
    front, rear = (
        max(x for x, _ in corners) + distance.high,
        min(x for x, _ in corners) - distance.high,
    )
    zone = [(front, half), (rear, half), (rear, -half), (front, -half)]
    late = "add the age of your sensor's readings; list it in polygons"
    return {
        STOP_ZONE: {
            "type": Entry("polygon"),
            "action_type": Entry("stop"),
            "points": Entry(
                _points(zone),
                f"m, the footprint and the upper end of the stopping distance: {distance.cited()}; "
                f"{late}",
                distance.assumed,
            ),
        },
        APPROACH: {
            "type": Entry("polygon"),
            "action_type": Entry("approach"),
            "footprint_topic": Entry("local_costmap/published_footprint"),
            "time_before_collision": Entry(
                time.high, f"s, upper end of {time.cited()}; {late}", time.assumed
            ),
        },
    }


def _footprint(robot: KnownRobot) -> list[tuple[float, float]]:
    if robot.description is None:
        robot.missing.append("footprint: give --robot FILE")
        return []
    wheels, hull = robot.description.wheels, robot.description.body.shape
    front, rear = max(hull.front, wheels.radius), min(hull.rear, -wheels.radius)
    side = max(0.5 * hull.width, wheels.half_track + 0.5 * wheels.width)
    return [(front, side), (rear, side), (rear, -side), (front, -side)]


def _points(corners: list[tuple[float, float]]) -> str:
    inner = ", ".join(f"[{_millimetres(x)}, {_millimetres(y)}]" for x, y in corners)
    return f"[{inner}]"


def _millimetres(length: float) -> str:
    return f"{math.copysign(math.ceil(abs(length) * 1e3 - 1e-9) / 1e3, length):.3f}"
