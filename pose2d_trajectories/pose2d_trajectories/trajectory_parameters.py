"""Parameters of the trajectory_publisher node, and what they say to make_trajectory."""

from __future__ import annotations

from types import SimpleNamespace

from diffbot_node import Parameter
from pose2d_trajectories.catalogue import OPTIONS, TRAJECTORIES
from pose2d_trajectories.limit_parameters import limit_parameters
from pose2d_trajectories.limits import UNITS

# What an option of a trajectory is when it is not given. No option has these values.
_NOT_GIVEN = {"laps": -1, "points": (), "corners": ""}
_NUMBER_NOT_GIVEN = -1.0
_FORM = {
    "points": " [x0, y0, x1, y1, ...]; empty: the trajectory's own",
    "corners": "; empty: the trajectory's own",
}


def _option(name: str) -> Parameter:
    default = _NOT_GIVEN.get(name, _NUMBER_NOT_GIVEN)
    return Parameter(name, default, OPTIONS[name] + _FORM.get(name, "; -1: the trajectory's own"))


OPTION_PARAMETERS = tuple(map(_option, OPTIONS))
TRAJECTORY_PARAMETERS = (
    Parameter(
        "trajectory", "figure_eight", "what the robot is to drive", choices=tuple(TRAJECTORIES)
    ),
    Parameter("frame", "odom", "frame of the trajectory, for the header of reference"),
    Parameter("x", 0.0, "where the origin of the trajectory's own frame is, m"),
    Parameter("y", 0.0, "where the origin of the trajectory's own frame is, m"),
    Parameter("theta", 0.0, "direction of the x axis of the trajectory's own frame, rad"),
    Parameter("backwards", False, "same points at the same times, the robot facing the other way"),
    *limit_parameters(*UNITS),
    *OPTION_PARAMETERS,
)


def options(values: SimpleNamespace) -> dict[str, object]:
    """The options that the parameters give, for make_trajectory.

    Raises:
        ValueError: points are not pairs.
    """
    given = {option.name: getattr(values, option.name) for option in OPTION_PARAMETERS}
    found = {
        option.name: given[option.name]
        for option in OPTION_PARAMETERS
        if given[option.name] != option.default
    }
    if "points" in found:
        numbers = found["points"]
        if len(numbers) % 2:
            raise ValueError(
                f"points = {list(numbers)}: must be pairs x, y in m, and are {len(numbers)} numbers"
            )
        found["points"] = list(zip(numbers[::2], numbers[1::2], strict=True))
    return found
