# SPDX-License-Identifier: Apache-2.0
"""Export parameters of Nav2: the same limits for velocity smoother, MPPI, RPP and DWB."""

from __future__ import annotations

import math
from typing import Any

from diffbot_export.annotated_yaml import Entry, Tree, to_yaml
from diffbot_export.known_robot import AxisLimits, KnownRobot
from diffbot_export.sourced_value import SourcedValue

FILE = "nav2.yaml"
CHECKED = "navigation2 1.5.1 and 1.3.13"
MPPI, RPP, DWB = "FollowPathMPPI", "FollowPathRPP", "FollowPathDWB"
# Smallest speed to command, as a multiple of the dead band.
ABOVE = 1.05


def nav2_yaml(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> str:
    """Return the file, to be merged into the user's own parameters.

    Raises:
        ValueError: No limit of any axis is known.
    """
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
    silhouette = _footprint(robot)
    if silhouette is not None:
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
    tree: dict[str, Any] = {
        "max_velocity": Entry([v.value, 0.0, w.value], _pair(v, w)),
        "min_velocity": Entry([-v.value, 0.0, -w.value]),
        "max_accel": Entry([a.low, 0.0, alpha.low], f"lower ends of {_pair(a, alpha)}"),
        "max_decel": Entry(
            [-down.low, 0.0, -yaw_down.low], f"lower ends of {_pair(down, yaw_down)}"
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
        tree["az_max"] = Entry(angular.acceleration.low, angular.acceleration.cited())
    for axis, name in (("v", "model_delay_vx"), ("omega", "model_delay_wz")):
        result = robot.results.velocity.get(axis)
        if result is not None:
            tree[name] = Entry(
                result.dead_time.value, f"s, read from 1.5 on; {result.dead_time.source}"
            )
    return tree


def _speeds(axis: AxisLimits, names: dict[str, float]) -> dict[str, Any]:
    if axis.velocity is None:
        return {}
    first = next(iter(names))
    return {
        name: Entry(sign * axis.velocity.value, axis.velocity.cited() if name == first else "")
        for name, sign in names.items()
    }


def _ramps(axis: AxisLimits, up: str, down: str) -> dict[str, Any]:
    """Return acceleration and deceleration, the latter below 0, under these names."""
    if axis.acceleration is None or axis.deceleration is None:
        return {}
    return {
        up: Entry(axis.acceleration.low, axis.acceleration.cited()),
        down: Entry(-axis.deceleration.low, axis.deceleration.cited()),
    }


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
        tree["max_angular_accel"] = Entry(angular.acceleration.low, angular.acceleration.cited())
    newer: dict[str, Any] = {}
    if linear.velocity is not None:
        newer["min_linear_vel"] = Entry(-linear.velocity.value, "this and below: read from 1.5 on")
    newer |= _ramps(linear, "max_linear_accel", "max_linear_decel")
    newer |= _speeds(angular, {"max_angular_vel": 1.0, "min_angular_vel": -1.0})
    if angular.deceleration is not None:
        newer["max_angular_decel"] = Entry(-angular.deceleration.low, angular.deceleration.cited())
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


def _footprint(robot: KnownRobot) -> Entry | None:
    """Return the outline of body and wheels as described, counter-clockwise."""
    if robot.description is None:
        robot.missing.append("footprint: give --robot FILE")
        return None
    wheels, hull = robot.description.wheels, robot.description.body.shape
    front, rear = max(hull.front, wheels.radius), min(hull.rear, -wheels.radius)
    side = max(0.5 * hull.width, wheels.half_track + 0.5 * wheels.width)
    corners = [(front, side), (rear, side), (rear, -side), (front, -side)]
    text = ", ".join(f"[{_millimetres(x)}, {_millimetres(y)}]" for x, y in corners)
    return Entry(
        f"[{text}]",
        f"m, hull and wheels as described in {robot.description.path.name}; not identified",
    )


def _millimetres(length: float) -> str:
    return f"{math.copysign(math.ceil(abs(length) * 1e3 - 1e-9) / 1e3, length):.3f}"
