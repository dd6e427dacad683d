"""Parameters of the trajectory_publisher node, and what they say to make_trajectory."""

from __future__ import annotations

from types import SimpleNamespace

from pose2d_trajectories.catalogue import OPTIONS, TRAJECTORIES
from pose2d_trajectories.limits import UNITS, Limits
from pose2d_trajectories.node_parameters import Entry

# What an option of a trajectory is when it is not given. No option has these values.
_NOT_GIVEN = {"laps": -1, "points": (), "corners": ""}
_NUMBER_NOT_GIVEN = -1.0
_FORM = {
    "points": " [x0, y0, x1, y1, ...]; empty: the trajectory's own",
    "corners": "; empty: the trajectory's own",
}


def _option(name: str) -> Entry:
    default = _NOT_GIVEN.get(name, _NUMBER_NOT_GIVEN)
    return Entry(default, OPTIONS[name] + _FORM.get(name, "; -1: the trajectory's own"))


PARAMETERS = {
    "trajectory": Entry("figure_eight", f"one of {', '.join(TRAJECTORIES)}"),
    "driven_by": Entry(
        "joint_states",
        "what a reference is published for: each message on joint_states, or ticks of the clock",
        choices=("joint_states", "clock"),
    ),
    "rate": Entry(100.0, "references per s with driven_by = clock, Hz, > 0"),
    "lead": Entry(
        0.0,
        "how far stamp and content of a reference are ahead of the joint state that it answers, "
        "s, >= 0; with one control period the reference is there before the state that it is for",
    ),
    "listeners": Entry(1, "subscribers of command or of reference to wait for before starting"),
    "frame": Entry("odom", "frame of the trajectory, for the header of reference"),
    "x": Entry(0.0, "where the origin of the trajectory's own frame is, m"),
    "y": Entry(0.0, "where the origin of the trajectory's own frame is, m"),
    "theta": Entry(0.0, "direction of the x axis of the trajectory's own frame, rad"),
    "backwards": Entry(False, "same points at the same times, the robot facing the other way"),
    **{
        f"max_{name}": Entry(0.0, f"largest {name.replace('_', ' ')}, {unit}; 0: no limit")
        for name, unit in UNITS.items()
    },
    **{name: _option(name) for name in OPTIONS},
}


def limits(values: SimpleNamespace) -> Limits:
    """The limits that the parameters give."""
    given = {name: getattr(values, f"max_{name}") for name in UNITS}
    return Limits(**{name: value for name, value in given.items() if value != 0.0})


def options(values: SimpleNamespace) -> dict[str, object]:
    """The options that the parameters give, for make_trajectory.

    Raises:
        ValueError: points are not pairs.
    """
    given = {name: getattr(values, name) for name in OPTIONS}
    found = {name: value for name, value in given.items() if value != PARAMETERS[name].default}
    if "points" in found:
        numbers = found["points"]
        if len(numbers) % 2:
            raise ValueError(
                f"points = {list(numbers)}: must be pairs x, y in m, and are {len(numbers)} numbers"
            )
        found["points"] = list(zip(numbers[::2], numbers[1::2], strict=True))
    return found
