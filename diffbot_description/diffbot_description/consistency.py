"""Checks of a robot that concern several of its values at once."""

from __future__ import annotations

from itertools import product

from diffbot_description.robot import Robot

# Masses and inertias are often rounded in a file; this much excess is no error.
ROUNDING = 1e-3


def check_consistency(robot: Robot) -> None:
    """Raise ValueError, naming the fields and what to change, if the robot cannot exist."""
    _check_wheels(robot)
    _check_body(robot)
    _check_casters(robot)
    _check_support(robot)
    _check_names_and_limits(robot)


def _check_wheels(robot: Robot) -> None:
    wheels = robot.wheels
    if wheels.separation <= wheels.width:
        raise ValueError(
            f"wheels.separation = {wheels.separation} m must be above wheels.width = "
            f"{wheels.width} m, or the wheels overlap. Give the full track, not half of it."
        )
    rim = wheels.mass * wheels.radius**2
    if wheels.inertia_spin > rim * (1 + ROUNDING):
        raise ValueError(
            f"wheels.inertia_spin = {wheels.inertia_spin} kg m^2 must be at most "
            f"wheels.mass wheels.radius^2 = {rim:.6g} kg m^2, the inertia of a thin rim. "
            "Check its unit (kg m^2), wheels.mass and wheels.radius."
        )
    _check_triangle(
        "wheels.inertia_spin", wheels.inertia_spin, "2 wheels.inertia_yaw", 2 * wheels.inertia_yaw
    )


def _check_triangle(name: str, value: float, sum_name: str, total: float) -> None:
    if value > total * (1 + ROUNDING):
        raise ValueError(
            f"{name} = {value} kg m^2 must be at most {sum_name} = {total:.6g} kg m^2: in a solid "
            f"body no inertia is above the sum of the other two. Lower {name} or raise the others."
        )


def _check_body(robot: Robot) -> None:
    inertia = robot.body.inertia
    axes = {"roll": inertia.roll, "pitch": inertia.pitch, "yaw": inertia.yaw}
    for axis, value in axes.items():
        others = [name for name in axes if name != axis]
        _check_triangle(
            f"body.inertia.{axis}",
            value,
            " + ".join(f"body.inertia.{name}" for name in others),
            sum(axes[name] for name in others),
        )
    shape = robot.body.shape
    for high, low in (("front", "rear"), ("top", "bottom")):
        if getattr(shape, high) <= getattr(shape, low):
            raise ValueError(
                f"body.shape.{high} = {getattr(shape, high)} m must be above body.shape.{low} = "
                f"{getattr(shape, low)} m. Exchange them if they are mixed up."
            )


def _check_casters(robot: Robot) -> None:
    for index, caster in enumerate(robot.casters):
        if caster.clearance >= caster.radius:
            raise ValueError(
                f"casters[{index}].clearance = {caster.clearance} m must be below its radius = "
                f"{caster.radius} m. Lower the caster."
            )


def support_span(robot: Robot) -> tuple[float, float]:
    """Return the rearmost and the foremost x [m] on which the robot's middle line is supported.

    The contact points are the two wheels and all casters; the polygon around them is cut along
    y = 0, where the centre of mass lies.
    """
    half = robot.wheels.half_track
    points = [(0.0, half), (0.0, -half), *((c.x, c.y) for c in robot.casters)]
    left = [p for p in points if p[1] >= 0]
    right = [p for p in points if p[1] <= 0]
    crossings = [
        (a[0] * -b[1] + b[0] * a[1]) / (a[1] - b[1]) if a[1] > b[1] else a[0]
        for a, b in product(left, right)
    ]
    return min(crossings), max(crossings)


def _check_support(robot: Robot) -> None:
    body = robot.body
    total = body.mass + 2 * robot.wheels.mass
    x = body.mass * body.center_of_mass.x / total
    rear, front = support_span(robot)
    if not rear < x < front:
        way = "forwards" if x >= front else "backwards"
        raise ValueError(
            f"body.center_of_mass.x = {body.center_of_mass.x} m puts the robot's centre of mass at "
            f"x = {x:.4g} m, but wheels and casters carry it only from {rear:.4g} to {front:.4g} m:"
            f" it would tip {way}. Change body.center_of_mass.x or casters."
        )


def _check_names_and_limits(robot: Robot) -> None:
    if robot.joints.left == robot.joints.right:
        raise ValueError(
            f"joints.right = {robot.joints.right} must differ from joints.left. Rename one."
        )
    most, excitation = robot.limits, robot.excitation
    for name, value, limit_name, limit, unit in (
        ("limits.traction", most.traction, "limits.torque", most.torque, "N m"),
        ("excitation.amplitude", excitation.amplitude, "limits.traction", most.traction, "N m"),
        (
            "excitation.linear_velocity",
            excitation.linear_velocity,
            "limits.linear_velocity",
            most.linear_velocity,
            "m/s",
        ),
        (
            "excitation.angular_velocity",
            excitation.angular_velocity,
            "limits.angular_velocity",
            most.angular_velocity,
            "rad/s",
        ),
    ):
        if value > limit:
            raise ValueError(
                f"{name} = {value} {unit} must be at most {limit_name} = {limit} {unit}. Lower it."
            )
