# SPDX-License-Identifier: Apache-2.0
"""Detection of the driven wheels of a URDF by their properties, with names as a hint.

A wheel's joint turns without limits about the root link's y axis, has no swivel between it and the
body, and carries something round. Commanded joints are driven, also where they are cambered; those
with names such as caster are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from diffbot_description.findings import DescriptionFindings
from diffbot_description.urdf_shapes import Shape, ShapeReader
from diffbot_description.urdf_tree import ROLLING_TYPES, Array, Joint, PlacedLink, UrdfTree

# Largest slope of an axle; an rpy of 1.57 tilts it by 0.0008.
SLOPE = 0.02
# Largest slope of a commanded, cambered axle: 20 degrees.
CAMBER = math.sin(math.radians(20.0))
# Share of y in the axis of a commanded joint that is meant to roll forward.
ROLLS = 0.7
# Wheels whose radius is below this share of the largest one are those of casters.
CASTER_FRACTION = 0.67
UNEVEN = 0.01  # relative difference from which a note is made
FULL_TURN = 2 * math.pi * 0.99
# A caster that turns by no more than this cannot trail when the robot reverses: it steers.
HALF_TURN = math.pi * 1.01
_NOT_DRIVEN = re.compile(r"cast[eo]r|idler|ball|swivel|trail|roller|passive|support", re.I)
_STEERS = re.compile(r"wheel|steer", re.I)
_DRIVE_TAGS = ("left_joint", "right_joint", "leftJoint", "rightJoint")
_TRACK_TAGS = {"wheel_separation", "wheelSeparation"}
_RADIUS_TAGS = {"wheel_radius", "wheelRadius"}
_DIAMETER_TAGS = {"wheel_diameter", "wheelDiameter"}
_WIDTH_FRACTION = 0.4  # width of a wheel without a suitable shape, as a share of its radius


@dataclass(frozen=True, eq=False)
class Wheel:
    """A wheel with its joint; positions in the root link's frame.

    Attributes:
        sign: 1 if a positive joint angle rolls forward, -1 if backward.
        radius, width: m, and their sources.
        center: Point of the wheel's plane above the contact point, as high as the radius, (3,), m.
        links: Everything that turns with it.
        axis: Direction of the axle, forward, (3,).
        rotor: Inertia of its motor's rotor, reflected through the gear, kg m^2.
    """

    joint: Joint
    sign: int
    radius: float
    radius_from: str
    width: float
    width_from: str
    center: Array
    links: tuple[PlacedLink, ...]
    axis: Array
    rotor: float = 0.0

    @property
    def camber(self) -> float:
        """Slope of the axle, degrees; 0 for the rounding of an angle in the URDF."""
        slope = abs(float(self.axis[2]))
        return math.degrees(math.asin(min(slope, 1.0))) if slope > SLOPE else 0.0


@dataclass(frozen=True, eq=False)
class Sides:
    """The driven wheels, from front to rear on each side, and how they were chosen.

    Attributes:
        sliding: Joints of wheels beside the axle that neither drive nor swivel, nor roll freely:
            they slide sideways when the robot turns, unlike casters.
    """

    left: tuple[Wheel, ...]
    right: tuple[Wheel, ...]
    chosen_by: str
    sliding: tuple[str, ...] = ()


def commanded_joints(tree: UrdfTree) -> set[str]:
    """Return joints that ros2_control, a transmission or a simulator's drive plugin commands."""
    names = {
        joint.get("name", "")
        for control in tree.element.findall("ros2_control")
        for joint in control.findall("joint")
        if joint.find("command_interface") is not None
    }
    for transmission in tree.element.findall("transmission"):
        names |= {joint.get("name", "") for joint in transmission.findall("joint")}
    for plugin in tree.element.iter("plugin"):
        for tag in _DRIVE_TAGS:
            names |= {(result.text or "").strip() for result in plugin.findall(tag)}
    return names & set(tree.joints)


def reflected_rotor(tree: UrdfTree, name: str) -> float:
    """Return the inertia of a joint's rotors times the square of their gears' ratios, kg m^2.

    They are in its <transmission>, as Drake writes them: rotor_inertia and gear_ratio in any
    namespace, or mechanicalReduction. ValueError: One of them is no positive number.
    """
    total = 0.0
    for transmission in tree.element.findall("transmission"):
        if all(joint.get("name") != name for joint in transmission.findall("joint")):
            continue
        for actuator in transmission.findall("actuator"):
            results = {}
            for child in actuator:
                tag = child.tag.rpartition("}")[2]
                results[_RATIOS.get(tag, tag)] = child.get("value") or (child.text or "").strip()
            if "rotor_inertia" not in results:
                continue
            inertia, ratio = (
                _positive(results.get(key, "1")) for key in ("rotor_inertia", "gear_ratio")
            )
            if inertia is None or ratio is None:
                raise ValueError(
                    f"transmission of joint '{name}': rotor_inertia {results['rotor_inertia']!r} "
                    f"and gear_ratio {results.get('gear_ratio', '1')!r} must be positive numbers "
                    "(kg m^2, and turns of the motor per turn of the wheel)."
                )
            total += inertia * ratio**2
    return total


_RATIOS = {"mechanicalReduction": "gear_ratio", "mechanical_reduction": "gear_ratio"}


def compare_with_drives(tree: UrdfTree, pair: WheelPair, findings: DescriptionFindings) -> None:
    """Note radius and track of drive plugins and <ros2_control> that differ from the wheels'."""
    for element in tree.element.iter():
        if element.tag not in ("plugin", "ros2_control"):
            continue
        name = element.get("name") or element.get("filename", "")
        reported = {
            (child.get("name", "") if child.tag == "param" else child.tag): child.text or ""
            for child in element.iter()
        }
        for tags, factor, measured, what in (
            (_TRACK_TAGS, 1.0, pair.track, "the middles of the wheels are {:.4g} m apart"),
            (_RADIUS_TAGS, 1.0, pair.radius, "the wheels' shapes have a radius of {:.4g} m"),
            (_DIAMETER_TAGS, 2.0, pair.radius, "the wheels' shapes have a diameter of {:.4g} m"),
        ):
            for tag in sorted(reported.keys() & tags):
                value = _positive(reported[tag])
                if value is not None and abs(value / factor - measured) > UNEVEN * measured:
                    findings.replaced(
                        f"<{element.tag}> '{name}'",
                        f"{tag} is {value:.4g} m, but {what.format(factor * measured)}",
                        "the latter; measure your robot, or calibrate it",
                    )


def _positive(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value < math.inf else None


def _with_control_limits(tree: UrdfTree, joint: Joint) -> Joint:
    results: dict[str, list[float]] = {"effort": [], "velocity": []}
    for element in tree.element.findall("ros2_control/joint"):
        if element.get("name") != joint.name:
            continue
        for interface in element.findall("command_interface"):
            values = results.get(interface.get("name", ""), [])
            for parameter in interface.findall("param"):
                if parameter.get("name") in ("min", "max"):
                    values.append(_magnitude(parameter.text, joint))
    for name, own in (("effort", joint.effort), ("velocity", joint.velocity)):
        results[name] += [] if own is None else [own]
    effort, velocity = (
        min((value for value in results[name] if value > 0), default=None)
        for name in ("effort", "velocity")
    )
    return replace(joint, effort=effort, velocity=velocity)


def _magnitude(text: str | None, joint: Joint) -> float:
    try:
        return abs(float(text or ""))
    except ValueError as error:
        raise ValueError(
            f"joint '{joint.name}': a limit in <ros2_control> is {text!r}, it must be a number."
        ) from error


def find_sides(
    tree: UrdfTree,
    shapes: ShapeReader,
    names: Sequence[str] | None = None,
    radius: float | None = None,
) -> Sides:
    """Return the driven wheels of each side.

    `names` (left, right) replace the search for joints, `radius`, m, that of the wheels' shapes.

    Raises:
        ValueError: There are none, or not equally many on both sides, or a named one is no wheel.
    """
    grounded = _on_the_ground(tree, shapes)
    if names is not None:
        left, right = (_named(tree, shapes, name, radius) for name in names)
        if left.joint.name == right.joint.name:
            raise ValueError(f"--wheels has '{left.joint.name}' twice. {_turning(tree)}")
        if left.center[1] <= right.center[1]:
            raise ValueError(
                f"'{left.joint.name}' (y = {left.center[1]:.4g} m) lies to the right of "
                f"'{right.joint.name}' (y = {right.center[1]:.4g} m); y points to the left. Write "
                f"--wheels {right.joint.name} {left.joint.name}."
            )
        sides = Sides((left,), (right,), "as given by --wheels")
    else:
        commanded = commanded_joints(tree)
        candidates = _candidates(tree, grounded, commanded)
        _check_no_steering(tree, grounded, commanded)
        joints, chosen_by = _driven(candidates, commanded)
        joints = _standing(tree, shapes, grounded, joints)
        sides = _by_side(tree, [_wheel(tree, shapes, joint, radius) for joint in joints], chosen_by)
    _check_mimics(sides)
    return replace(sides, sliding=_sliding(tree, grounded, (*sides.left, *sides.right)))


def _check_mimics(sides: Sides) -> None:
    """Raise ValueError if a wheel follows another one otherwise than rolling on beside it."""
    for side, others in ((sides.left, sides.right), (sides.right, sides.left)):
        same = {wheel.joint.name: wheel for wheel in side}
        for wheel in side:
            name, mimic = wheel.joint.name, wheel.joint.mimic
            if mimic in {other.joint.name for other in others}:
                raise ValueError(
                    f"joint '{name}' mimics '{mimic}', the wheel of the other side: the robot "
                    "could not turn. Remove <mimic>, or command both joints."
                )
            if mimic not in same:
                continue
            first = same[mimic]
            needed = wheel.sign * first.sign * first.radius / wheel.radius
            if abs(wheel.joint.multiplier - needed) > UNEVEN:
                raise ValueError(
                    f"joint '{name}' mimics '{mimic}' with multiplier = "
                    f"{wheel.joint.multiplier:.4g}, and rolls along with it by {needed:.4g} only. "
                    "Correct the multiplier or <axis>."
                )


def _named(tree: UrdfTree, shapes: ShapeReader, name: str, radius: float | None) -> Wheel:
    joint = tree.joints.get(name)
    if joint is None or joint.type not in ROLLING_TYPES:
        result = f"is of type '{joint.type}'" if joint else "is not in the URDF"
        raise ValueError(f"joint '{name}' {result}. {_turning(tree)} Name two of them: --wheels.")
    if _sign(tree, joint, CAMBER) == 0:
        raise ValueError(f"{_axis_sentence(tree, joint)} {_Y_NEEDED}")
    return _wheel(tree, shapes, joint, radius)


_Y_NEEDED = (
    "A wheel must turn about the y axis of the root link, whose x points forward and z up "
    "(REP 103), with at most 20 degrees of camber. Correct <axis> or <origin rpy>, or add a root "
    "link that looks forward."
)


def _axis_sentence(tree: UrdfTree, joint: Joint) -> str:
    shown = " ".join(f"{value + 0.0:.3g}" for value in np.round(tree.axis(joint), 4))
    return f"joint '{joint.name}' turns about ({shown}) of the root link '{tree.root}'."


def _turning(tree: UrdfTree) -> str:
    names = [joint.name for joint in tree.joints.values() if joint.type in ROLLING_TYPES]
    return f"Its turning joints are: {', '.join(names) or 'none'}."


def _sign(tree: UrdfTree, joint: Joint, camber: float = SLOPE) -> int:
    """Return 1 or -1 for an axle along the root's +y or -y, 0 for any other."""
    axis = tree.axis(joint)
    if abs(axis[0]) > SLOPE or abs(axis[2]) > camber:
        return 0
    return 1 if axis[1] > 0 else -1


def _turns_freely(joint: Joint) -> bool:
    return joint.type == "continuous" or (joint.type == "revolute" and joint.travel > FULL_TURN)


def _candidates(tree: UrdfTree, grounded: list[str], commanded: set[str]) -> list[Joint]:
    free = [
        joint
        for joint in tree.joints.values()
        if _turns_freely(joint) and not _swivels(tree, joint)
    ]
    # If nothing is commanded, what stands on the ground may drive.
    may_drive = commanded & {joint.name for joint in free} or set(grounded)
    joints = [
        joint for joint in free if _sign(tree, joint, CAMBER if joint.name in may_drive else SLOPE)
    ]
    for joint in free:
        aside = joint.name in may_drive and joint not in joints
        # A wheel that is not understood must not leave the driving to the casters.
        if aside and abs(tree.axis(joint)[1]) > ROLLS:
            what = "commanded " if joint.name in commanded else ""
            raise ValueError(f"the {what}{_axis_sentence(tree, joint)} {_Y_NEEDED}")
    if joints:
        return joints
    across = [joint for joint in free if abs(tree.axis(joint)[0]) > 1 - SLOPE]
    if len(across) >= 2:
        raise ValueError(f"{_axis_sentence(tree, across[0])} {_Y_NEEDED}")
    raise ValueError(
        "the URDF has no wheel: no joint of type 'continuous' turns about the y axis of the root "
        f"link. {_turning(tree)} Make the wheels' joints continuous, or name them: "
        "--wheels LEFT RIGHT."
    )


def _swivels(tree: UrdfTree, joint: Joint) -> bool:
    """Return whether a joint between a wheel and the body swivels or steers; suspensions may."""
    return any(
        above.type in ROLLING_TYPES and (_turns_freely(above) or abs(tree.axis(above)[1]) < 0.5)
        for above in tree.joints_above(joint.name)
    )


def _driven(candidates: list[Joint], commanded: set[str]) -> tuple[list[Joint], str]:
    named = {joint.name for joint in candidates} & commanded
    if named:
        driven = [j for j in candidates if j.name in named or j.mimic in named]
        return driven, "commanded in the URDF"
    free = [j for j in candidates if not _NOT_DRIVEN.search(f"{j.name} {j.child}")]
    return free or candidates, "by their axes and places"


def _standing(
    tree: UrdfTree, shapes: ShapeReader, grounded: list[str], joints: list[Joint]
) -> list[Joint]:
    """Return those that stand on the ground, or whose shapes cannot be read; arms do not."""
    if sum(joint.name in grounded for joint in joints) < 2:  # sprockets of a track are higher
        return joints
    return [
        joint
        for joint in joints
        if joint.name in grounded or not shapes.all_shapes(_turning_with(tree, joint))
    ]


def _check_no_steering(tree: UrdfTree, grounded: list[str], commanded: set[str]) -> None:
    # What turns at the end of an arm is no wheel: wheels stand on the ground.
    above = {joint.name for wheel in grounded for joint in tree.joints_above(wheel)}
    for name, joint in sorted(tree.joints.items()):
        if joint.type not in ROLLING_TYPES or abs(tree.axis(joint)[2]) < 0.9:
            continue
        turns, hint = "turns", "If it is to roll, correct its <axis> or <origin rpy>."
        if name in commanded:
            steers, what = name in above or _STEERS.search(name) is not None, "the commanded joint"
        else:
            steers = name in above and (joint.travel <= HALF_TURN or "steer" in name.lower())
            what = "the joint"
            if joint.travel <= HALF_TURN:
                turns = f"turns by at most {math.degrees(joint.travel):.3g} degrees, and with it"
                hint = 'If it is a caster\'s swivel, make it type="continuous".'
        if steers:
            raise ValueError(
                f"{what} '{name}' {turns} a wheel about the vertical: the robot steers "
                "as a car or by swerve modules, but the suite supports only robots that turn by "
                f"two driven wheels. {hint}"
            )


def _on_the_ground(tree: UrdfTree, shapes: ShapeReader) -> list[str]:
    """Return the joints that turn freely and carry the lowest round shapes, or unreadable ones."""
    bottoms: dict[str, tuple[float, float]] = {}
    for joint in tree.joints.values():
        if not _turns_freely(joint) or abs(tree.axis(joint)[2]) > ROLLS:
            continue
        links, axle = _turning_with(tree, joint), tree.links[joint.child].translation
        shape = _round_shape(links, shapes, tree.axis(joint), axle)
        if shape is not None:
            radius = shape.radius_about(tree.axis(joint)) or 0.0
            bottoms[joint.name] = float(axle[2]) - radius, radius
        elif _STEERS.search(f"{joint.name} {joint.child}"):
            bottoms[joint.name] = float(axle[2]), math.inf
    ground = min((bottom for bottom, _ in bottoms.values()), default=0.0)
    return [name for name, (low, radius) in bottoms.items() if low <= ground + 0.5 * radius]


def _sliding(tree: UrdfTree, grounded: list[str], driven: Sequence[Wheel]) -> tuple[str, ...]:
    names = {wheel.joint.name for wheel in driven}
    middle = sum(float(wheel.center[0]) for wheel in driven) / len(driven)
    results = []
    for name in grounded:
        joint = tree.joints[name]
        called = _NOT_DRIVEN.search(f"{name} {joint.child}")
        apart = abs(float(tree.links[joint.child].translation[0]) - middle)
        if name in names or called or _swivels(tree, joint) or not _sign(tree, joint, CAMBER):
            continue
        if apart > driven[0].radius:
            results.append(name)
    return tuple(results)


def _turning_with(tree: UrdfTree, joint: Joint) -> tuple[PlacedLink, ...]:
    return tuple(tree.rigid_group(joint.child))


def _wheel(tree: UrdfTree, shapes: ShapeReader, joint: Joint, radius: float | None) -> Wheel:
    links = _turning_with(tree, joint)
    axis = tree.axis(joint)
    axle = tree.links[joint.child].translation
    round_one = _round_shape(links, shapes, axis, axle)
    if round_one is None and radius is None:
        raise ValueError(_no_radius(joint, links, shapes))
    sign = _sign(tree, joint, CAMBER) or 1
    center = axle if round_one is None else axle + axis * ((round_one.center - axle) @ axis)
    given = radius is not None
    result = radius if radius is not None else (round_one and round_one.radius_about(axis)) or 0.0
    if not 0.001 <= result <= 2.0:
        raise ValueError(
            f"link '{joint.child}': wheel radius = {result:.4g} m must be from 0.001 to 2 m. "
            'Correct it; a mesh in millimetres needs scale="0.001 0.001 0.001".'
        )
    width, width_from = _width(links, shapes, axis, result)
    forward = sign * axis
    if abs(forward[2]) > SLOPE:
        # The lowest point of a cambered wheel is not below its centre.
        low = forward * forward[2] - [0.0, 0.0, 1.0]
        center = center + result * (low / np.linalg.norm(low) + [0.0, 0.0, 1.0])
    return Wheel(
        _with_control_limits(tree, joint),
        sign,
        result,
        "--wheel-radius" if given or round_one is None else _called(round_one),
        width,
        width_from,
        center,
        links,
        forward,
        reflected_rotor(tree, joint.name),
    )


def _round_shape(
    links: Sequence[PlacedLink], shapes: ShapeReader, axis: Array, axle: Array
) -> Shape | None:
    for meshes, role in product((False, True), ("collision", "visual")):
        results = [
            shape
            for link in links
            for shape in shapes.shapes(link, role)
            if (shape.kind == "mesh") == meshes and _rolls(shape, axis, axle)
        ]
        if results:
            return max(results, key=lambda shape: shape.radius_about(axis) or 0.0)
    return None


def _rolls(shape: Shape, axis: Array, axle: Array) -> bool:
    radius = shape.radius_about(axis)
    if not radius:
        return False
    off = shape.center - axle
    return float(np.linalg.norm(off - axis * (off @ axis))) < 0.1 * radius


def _called(shape: Shape) -> str:
    return f"{shape.role} {shape.kind} of link '{shape.link}'"


def _width(
    links: Sequence[PlacedLink], shapes: ShapeReader, axis: Array, radius: float
) -> tuple[float, str]:
    for role in ("collision", "visual"):
        for link in links:
            for shape in shapes.shapes(link, role):
                width = shape.width_along(axis)
                if 0 < width < 3 * radius:
                    return width, _called(shape)
    return _WIDTH_FRACTION * radius, f"no shape gives it: {_WIDTH_FRACTION} radius"


def _no_radius(joint: Joint, links: Sequence[PlacedLink], shapes: ShapeReader) -> str:
    unread = [
        f"{name} ({why})"
        for link in links
        for mesh in link.element.iter("mesh")
        for name in [mesh.get("filename", "")]
        for why in [shapes.unread.get(name)]
        if why is not None
    ]
    meshes = f"; ignored: {', '.join(dict.fromkeys(unread))}" if unread else ""
    return (
        f"link '{joint.child}' of joint '{joint.name}' has no round shape on its axle (sphere, "
        f"cylinder along it, or a mesh with equal sides){meshes}. Give its radius: "
        "--wheel-radius METRES, or name the two joints that drive: --wheels LEFT RIGHT."
    )


def _by_side(tree: UrdfTree, wheels: list[Wheel], chosen_by: str) -> Sides:
    ys = [float(wheel.center[1]) for wheel in wheels]
    middle = (max(ys) + min(ys)) / 2
    least = 0.25 * (max(ys) - min(ys))
    largest = max(wheel.radius for wheel in wheels)

    def side(sign: int, least_radius: float) -> tuple[Wheel, ...]:
        results = [
            wheel
            for wheel in wheels
            if sign * (wheel.center[1] - middle) > least and wheel.radius >= least_radius
        ]
        return tuple(sorted(results, key=lambda wheel: -float(wheel.center[0])))

    left, right = side(1, CASTER_FRACTION * largest), side(-1, CASTER_FRACTION * largest)
    if not left or len(left) != len(right):
        shown = ", ".join(f"{wheel.joint.name} (y = {wheel.center[1]:.3g} m)" for wheel in wheels)
        results = f"{len(left)} on the left and {len(right)} on the right"
        raise ValueError(
            f"found {results if left or right else 'wheels at one side only'}: {shown}. "
            f"{_turning(tree)} Name the two that drive: --wheels LEFT RIGHT."
        )
    return Sides(left, right, chosen_by)


@dataclass(frozen=True)
class WheelPair:
    """The two driven wheels with mean radius, track and width, m.

    Attributes:
        middle: Midpoint of the axle in the root link's frame, (3,), m.
        rotor: Inertia of a motor's rotor that <transmission> gives, at the wheel, kg m^2.
    """

    left: Wheel
    right: Wheel
    middle: Array
    radius: float
    track: float
    width: float
    rotor: float

    @property
    def ground(self) -> float:
        """Height in the root link's frame, m."""
        return float(self.middle[2]) - self.radius


def wheel_pair(left: Wheel, right: Wheel, findings: DescriptionFindings) -> WheelPair:
    """Return the wheels of the left and the right side, one each, with their means."""
    middle = (left.center + right.center) / 2
    track = float(left.center[1] - right.center[1])
    say = findings.replaced
    pair = f"'{left.joint.name}' and '{right.joint.name}'"
    if abs(left.radius - right.radius) > UNEVEN * left.radius:
        say(
            f"wheels of {pair}",
            f"radii {left.radius:.5g} and {right.radius:.5g} m",
            "their mean, as the model has equal wheels",
        )
    for index, axis in ((0, "x"), (2, "z")):
        apart = abs(float(left.center[index] - right.center[index]))
        if apart > UNEVEN * track:
            say(f"axles of {pair}", f"{apart:.3g} m apart in {axis}", "the middle between them")
    for wheel, side, other in ((left, "left", "right"), (right, "right", "left")):
        name = wheel.joint.name.lower()
        if other in name and side not in name:
            say(
                f"joint '{wheel.joint.name}'",
                f"called {other}, but its wheel is at y = {wheel.center[1]:.3g} m, which is {side}",
                f"as the {side} wheel; if only the URDF is wrong, exchange joints.left and "
                "joints.right",
            )
        if wheel.camber:
            say(
                f"joint '{wheel.joint.name}'",
                f"its axle slopes by {wheel.camber:.3g} degrees (camber)",
                "upright, with the track of the contact points",
            )
    radius = (left.radius + right.radius) / 2
    findings.sources["wheels.radius"] = left.radius_from
    findings.sources["wheels.width"] = left.width_from
    findings.sources["wheels.separation"] = "between the middles of the wheels' shapes"
    width = min((left.width + right.width) / 2, 0.9 * track)
    rotor = (left.rotor + right.rotor) / 2
    return WheelPair(left, right, middle, radius, track, width, rotor)
