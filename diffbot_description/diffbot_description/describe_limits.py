# SPDX-License-Identifier: Apache-2.0
"""Limits, friction and excitation of a robot described by a URDF.

They are those of the wheel joints if plausible, otherwise derived from the wheels' load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from diffbot_description.command_kind import CommandKind
from diffbot_description.findings import ASSUMED, DescriptionFindings
from diffbot_description.ground_loads import GRAVITY
from diffbot_description.urdf_tree import UrdfTree
from diffbot_description.urdf_wheels import Sides, WheelPair

GRIP = 0.6  # Coulomb coefficient of rubber on a floor, for the traction limit
LOAD_KEPT = 0.5  # share of the wheels' load that an acceleration may remove
CASTERS_KEPT = 0.8  # allowed share of the acceleration that lifts the casters; friction brakes too
EXCITATION_FRACTION = 0.5  # torque of the excitation, as a share of the traction limit
TORQUE_FRACTION = 2.0  # torque limit as a multiple of the traction limit, if the URDF has no limit
# Largest plausible effort limit, as a multiple of the torque at which a wheel under half of the
# weight slips; twil has 4.8.
LARGEST_TORQUE_FRACTION = 5.0
WHEEL_SPEED = 12.0  # usual speed of a geared motor, rad/s, if the URDF has no limit
RIM_SPEEDS = (0.1, 10.0)  # range of plausible velocity limits at the rim, m/s
USUAL_SPEEDS = (0.3, 1.0)  # range of the robot's speed that follows from WHEEL_SPEED, m/s
LARGEST_YAW_RATE = 2 * math.pi  # maximum of the derived limit of the yaw rate, rad/s


def whole_robot(content: dict[str, Any]) -> tuple[float, float, float]:
    """Return mass [kg] and centre of mass [m] ahead of the axle and above the ground."""
    body, wheels = content["body"], content["wheels"]
    total = body["mass"] + 2 * wheels["mass"]
    x = body["mass"] * body["center_of_mass"]["x"] / total
    z = body["mass"] * body["center_of_mass"]["z"] + 2 * wheels["mass"] * wheels["radius"]
    return total, x, z / total


def add_limits(
    content: dict[str, Any], geometry: WheelPair, rocks: bool, findings: DescriptionFindings
) -> None:
    """Add limits, friction and excitation to content with wheels, body and casters.

    `rocks`: whether casters on both sides of the axle carry, see `urdf_supports.standing`.
    """
    sources = findings.sources
    traction, reason = _traction(content, geometry, rocks)
    grip = GRIP * whole_robot(content)[0] * GRAVITY / 2 * geometry.radius
    torque, sources["limits.torque"] = _torque(geometry, traction, grip, findings)
    if torque < traction:
        traction, reason = torque, "limits.torque, which the wheels carry"
    else:
        reason = f"{ASSUMED}, {reason}"
    sources["limits.traction"] = reason
    speed, sources["limits.linear_velocity"] = _speed(geometry, findings)
    half = geometry.track / 2
    yaw_rate = min(speed / half, LARGEST_YAW_RATE)
    of_speed = f"{ASSUMED}, " if _wheel_speed(geometry) is None else ""
    sources["limits.angular_velocity"] = (
        f"{of_speed}wheels forward and backward at full speed, at most {LARGEST_YAW_RATE:.3g} rad/s"
    )
    content["friction"] = _friction(geometry, traction, speed, findings)
    sources["limits.torque_rate"] = "limits.torque in 10 ms"
    content["limits"] = {
        "torque": torque,
        "traction": traction,
        "torque_rate": 100 * torque,
        "linear_velocity": speed,
        "angular_velocity": yaw_rate,
    }
    wheel_speed = _wheel_speed(geometry)
    if wheel_speed is not None:
        content["limits"]["wheel_velocity"] = wheel_speed
        sources["limits.wheel_velocity"] = "velocity limit of the joints"
    _excitation(content, geometry, findings)


def _traction(content: dict[str, Any], geometry: WheelPair, rocks: bool) -> tuple[float, str]:
    """Return the torque of one wheel up to which nothing slips or lifts, N m, with its reason."""
    total, com_x, height = whole_robot(content)
    weight = total * GRAVITY
    if rocks:
        load = LOAD_KEPT * weight / 2
        return GRIP * load * geometry.radius, (
            f"{GRIP} x a quarter of the weight ({load:.3g} N) x radius: the grip of rubber; the "
            "casters carry the other half"
        )
    lever = max(abs(caster["x"]) for caster in content["casters"] if caster["clearance"] == 0.0)
    load = weight * (1 - abs(com_x) / lever)
    equivalent = total + 2 * content["wheels"]["inertia_spin"] / geometry.radius**2
    lever = min(abs(caster["x"]) for caster in content["casters"])
    shift = LOAD_KEPT * load * lever / (total * height)  # m/s^2
    tip = CASTERS_KEPT * GRAVITY * abs(com_x) / height  # m/s^2
    torque = equivalent * geometry.radius / 2  # torque of a wheel per acceleration, N m / (m/s^2)
    return min(
        (
            GRIP * load / 2 * geometry.radius,
            f"{GRIP} x load of the wheel ({load / 2:.3g} N) x radius: the grip of rubber",
        ),
        (
            torque * shift,
            f"acceleration {shift:.2g} m/s^2 takes {LOAD_KEPT:.0%} of the wheels' load",
        ),
        (
            torque * tip,
            f"acceleration {tip:.2g} m/s^2 is {CASTERS_KEPT:.0%} of what lifts the casters; as "
            "they fall back the wheels slip",
        ),
    )


def _torque(
    geometry: WheelPair, traction: float, grip: float, findings: DescriptionFindings
) -> tuple[float, str]:
    """Return the torque limit of a wheel, N m, and its source; at `grip`, N m, it slips."""
    limits = [wheel.joint.effort for wheel in (geometry.left, geometry.right)]
    given = [value for value in limits if value is not None and value > 0]
    fallback = TORQUE_FRACTION * traction
    rule = f"{TORQUE_FRACTION:g} x limits.traction"
    if not given:
        findings.assumed.append(f"limits.torque = {fallback:.3g} N m: no effort limit; {rule}")
        return fallback, f"assumed, {rule}; enter the motor's"
    torque = min(given)
    if torque > LARGEST_TORQUE_FRACTION * grip:
        findings.replaced(
            f"joint '{geometry.left.joint.name}'",
            f"effort limit {torque:.4g} N m is {torque / grip:.3g} times the {grip:.3g} N m at "
            "which a wheel under half of the robot's weight slips",
            f"{fallback:.3g} N m, {rule}",
        )
        return fallback, f"{ASSUMED}, {rule}; the URDF's {torque:.4g} N m is a placeholder"
    return torque, "effort limit of the wheels' joints or of <ros2_control>"


def _joint_speed(geometry: WheelPair) -> float | None:
    """Return the velocity limit of the wheels' joints, rad/s, plausible or not; None without."""
    limits = [wheel.joint.velocity for wheel in (geometry.left, geometry.right)]
    return min((value for value in limits if value is not None and value > 0), default=None)


def _wheel_speed(geometry: WheelPair) -> float | None:
    """Return the joints' velocity limit, rad/s; None if there is none or it is implausible."""
    given = _joint_speed(geometry)
    if given is None or not RIM_SPEEDS[0] <= given * geometry.radius <= RIM_SPEEDS[1]:
        return None
    return given


def _speed(geometry: WheelPair, findings: DescriptionFindings) -> tuple[float, str]:
    radius, given = geometry.radius, _joint_speed(geometry)
    plausible = _wheel_speed(geometry)
    low, high = USUAL_SPEEDS
    fallback = min(max(WHEEL_SPEED * radius, low), high)
    rule = f"{WHEEL_SPEED:g} rad/s of the wheel, from {low} to {high} m/s"
    if plausible is not None:
        return (
            plausible * radius,
            f"velocity limit of the joints, {plausible:.4g} rad/s, x radius",
        )
    if given is not None:
        findings.replaced(
            f"joint '{geometry.left.joint.name}'",
            f"velocity limit {given:.4g} rad/s is {given * radius:.3g} m/s",
            f"{fallback:.3g} m/s, {rule}",
        )
    else:
        findings.assumed.append(
            f"limits.linear_velocity = {fallback:.3g} m/s: no velocity limit; {rule}"
        )
    return fallback, f"assumed, {rule}; enter the robot's"


def _friction(
    geometry: WheelPair, traction: float, speed: float, findings: DescriptionFindings
) -> dict[str, list[float]]:
    joints = [wheel.joint for wheel in (geometry.left, geometry.right)]
    viscous = [joint.damping or 0.0 for joint in joints]
    coulomb = [joint.friction or 0.0 for joint in joints]
    findings.sources["friction"] = "<dynamics> of the wheels' joints"
    if not any([*viscous, *coulomb]):
        findings.sources["friction"] = "the URDF has none"
    most = max(v * speed / geometry.radius + c for v, c in zip(viscous, coulomb, strict=True))
    if most > 0.5 * traction or min([*viscous, *coulomb]) < 0:
        findings.replaced(
            f"joint '{joints[0].name}'",
            f"damping {viscous[0]:.3g} N m s/rad and friction {coulomb[0]:.3g} N m take "
            f"{most:.3g} N m at {speed:.3g} m/s, of {traction:.3g} N m that the wheel carries"
            + (", and friction below 0 drives it" if min([*viscous, *coulomb]) < 0 else ""),
            "0",
        )
        findings.sources["friction"] = "0; the URDF's cannot be"
        viscous, coulomb = [0.0, 0.0], [0.0, 0.0]
    return {"viscous": viscous, "coulomb": coulomb}


def _excitation(
    content: dict[str, Any], geometry: WheelPair, findings: DescriptionFindings
) -> None:
    limits, wheels = content["limits"], content["wheels"]
    amplitude = EXCITATION_FRACTION * limits["traction"]
    total = content["body"]["mass"] + 2 * wheels["mass"]
    acceleration = 2 * amplitude / (geometry.radius * total)
    # With more than 40 % of the limit per bit the robot would mostly reverse its motion.
    samples = 0.4 * limits["linear_velocity"] / (acceleration * 0.01)
    hold = int(min(max(round(samples), 5), 20))
    height = content["body"]["center_of_mass"]["z"]
    speed = limits["linear_velocity"]
    lift = 0.4 * GRAVITY * geometry.track / 2 / (height * speed)
    content["excitation"] = {
        "amplitude": amplitude,
        "hold": hold,
        "register": 10,
        "linear_velocity": speed,
        "angular_velocity": min(limits["angular_velocity"], lift),
    }
    findings.sources |= {
        "excitation.amplitude": f"{EXCITATION_FRACTION} x limits.traction",
        "excitation.hold": "a bit adds at most 40 % of linear_velocity",
        "excitation.register": "period of 1023 bits",
        "excitation.linear_velocity": "limits.linear_velocity",
        "excitation.angular_velocity": "limits.angular_velocity"
        if lift > limits["angular_velocity"]
        else "the inner wheel of a turn keeps 60 % of its load",
    }


SENTENCES = {
    CommandKind.EFFORT: "it takes torques of the wheels (drive.command: effort)",
    CommandKind.VELOCITY: "it takes cmd_vel (drive.command: velocity)",
    None: "no <ros2_control> says what it takes, torques or cmd_vel; torques unless you say "
    "--command velocity, or drive: {command: velocity} in its file",
}


def kind_of(
    tree: UrdfTree, sides: Sides, given: CommandKind | None, findings: DescriptionFindings
) -> CommandKind | None:
    """Return the kind of command that a robot takes, `given` or stated; None if it is not known."""
    joints = [wheel.joint.name for wheel in (*sides.left, *sides.right)]
    result = given or _commanded_kind(tree, joints)
    if result is not None:
        source = "--command" if given else "command_interface of the wheels in <ros2_control>"
        findings.sources["drive.command"] = source
    return result


def _commanded_kind(tree: UrdfTree, joints: Sequence[str]) -> CommandKind | None:
    kinds = {
        interface.get("name")
        for joint in tree.element.findall("ros2_control/joint")
        if joint.get("name") in joints
        for interface in joint.findall("command_interface")
    }
    result = [kind for kind in CommandKind if kind.value in kinds]
    return result[0] if len(result) == 1 else None
