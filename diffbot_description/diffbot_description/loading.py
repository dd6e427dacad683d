"""Finding and reading of robot files."""

from __future__ import annotations

import functools
import os
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import get_package_share_directory

from diffbot_description.files import read_regular
from diffbot_description.robot import Robot, read_section

# ---
# Reading of YAML that somebody else wrote, without silent surprises.

LARGEST = 1_000_000  # characters; the suite's own files have some thousand
DEEPEST = 50  # values inside one another
# What PyYAML's constructors raise for values such as `!!int ""` and `2001-99-99`.
_VALUE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class _StrictLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; a robot file must not.

    Aliases are refused, as ROS's own reader of parameter files does: ten lines of them can stand
    for more values than any memory holds.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            line = event.start_mark.line + 1
            raise ValueError(f"line {line}: aliases (*{event.anchor}) are not read. Write it out.")
        self._depth = getattr(self, "_depth", 0) + 1
        if self._depth > DEEPEST:
            line = self.peek_event().start_mark.line + 1
            raise ValueError(f"line {line}: is nested deeper than {DEEPEST}. Remove brackets.")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        # `!!set [1]` comes with a list.
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            key = key_node.value
            if key in seen:
                line = key_node.start_mark.line + 1
                raise ValueError(f"line {line}: the key '{key}' is there twice. Remove one.")
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, int) and abs(value) >= 2**63:
                raise ValueError("a whole number of more than 64 bits: write it with a point")
            return value
        except _VALUE_ERRORS as error:
            if isinstance(error, ValueError) and str(error).startswith("line "):
                raise
            line = node.start_mark.line + 1
            raise ValueError(f"line {line}: a value is not of its kind ({error}).") from None


def parse_yaml(text: str) -> Any:
    """Return the content of a YAML text.

    Raises ValueError, in one line, when it is no YAML, too large or nested too deeply, repeats a
    key or holds an alias.
    """
    if len(text) > LARGEST:
        raise ValueError(f"holds {len(text)} characters, the limit is {LARGEST}. Shorten it.")
    try:
        return yaml.load(text, Loader=_StrictLoader)
    except OverflowError:  # PyYAML's, of "\\U99999999"
        raise ValueError("is no valid YAML: an escaped character does not exist.") from None
    except yaml.YAMLError as error:
        raise ValueError(f"is no valid YAML: {_one_line(error)}") from None


def read_text(path: Path) -> str:
    """Return the text of a file of at most LARGEST characters.

    Raises ValueError naming the file when it cannot be read, or is no such file.
    """
    try:
        return read_regular(path, LARGEST)
    except ValueError as error:
        raise ValueError(f"{path}: cannot be read: {error}.") from error


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises ValueError naming the file when it cannot be read, or for what `parse_yaml` raises it.
    """
    text = read_text(path)
    try:
        return parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _one_line(error: yaml.YAMLError) -> str:
    """What is wrong and where; PyYAML's own text draws a picture of several lines."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{' '.join(problem.split())}"


# ---
# Checks of a robot that concern several of its values at once.

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


PACKAGE = "diffbot_description"
SUFFIXES = (".yaml", ".yml")


def share_directory() -> Path:
    """Return the directory with config/, urdf/, launch/ and rviz/ of the installed package."""
    return Path(get_package_share_directory(PACKAGE))


def known_robots() -> list[str]:
    """Return the names of the robots that come with the package."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.yaml"))


def load_robot(robot: str | os.PathLike[str]) -> Robot:
    """Return the robot of that name or file.

    ``robot`` is the name of a robot of the package ("twil", "agv") or the path of a YAML file
    that ends in .yaml or .yml. Raises ValueError for an unknown robot (lists the known ones) and
    for every fault of a file: names file, field, value, limit and what to change.
    """
    path = _find(robot)
    return _parsed(path, read_text(path))


@functools.lru_cache(maxsize=32)
def _parsed(path: Path, text: str) -> Robot:
    """The robot, made once per text: robots cannot be changed, and YAML is slow to read."""
    try:
        result = read_section(Robot, parse_yaml(text), path=path)
        check_consistency(result)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return result


def _find(robot: str | os.PathLike[str]) -> Path:
    text = os.fspath(robot)
    path = Path(text).expanduser().absolute()
    if text.endswith(SUFFIXES):
        if path.exists():
            return path
        raise ValueError(f"robot file {path} does not exist. Check the path.")
    if text in known_robots():
        return share_directory() / "config" / f"{text}.yaml"
    what = f"robot '{text}' is a folder" if path.is_dir() else f"unknown robot '{text}'"
    raise ValueError(
        f"{what}. Known robots: {', '.join(known_robots())}; "
        "or give the path of your own file, ending in .yaml."
    )
