"""What a user asks of `identify`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arc_odometry import WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_ident.recording.bag_topics import ROLES
from diffbot_ident.recording.stream import Block, RecordingError, Source, merged

AUTO, TORQUE, VELOCITY, SYSID = "auto", "torque", "velocity", "sysid"
KINDS = (AUTO, TORQUE, VELOCITY, SYSID)
EFFORTS = (AUTO, "joint_states", "commands")


@dataclass(frozen=True)
class Options:
    """Arguments of the command line; see command_line for their meaning.

    Attributes:
        files: recordings; several ones are of one robot and one clock.
        kind: of robot, one of KINDS.
        robot: name or file of its description; None: no description.
        wheel_radius: m; None: the description's.
        track: left to right contact point, m; None: the description's.
        topics: chosen topics, by the names in bag_topics.ROLES.
        left_joint: name of the left wheel's joint; None: find it.
        right_joint: the same of the right one.
        effort_source: where torques come from, one of EFFORTS.
        columns: of tables, see column_map.
        where: conditions on rows, see row_filter.
        period: of the samples after resampling, s; None: as recorded.
        hold: time for which a velocity command holds at most, s.
        keep: duration of the stretches that are kept in memory, s.
        output: folder of the results; None: a new one in results/.
        pictures: whether to draw.
    """

    files: tuple[Path, ...]
    kind: str = AUTO
    robot: str | None = None
    wheel_radius: float | None = None
    track: float | None = None
    topics: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(ROLES))
    left_joint: str | None = None
    right_joint: str | None = None
    effort_source: str = AUTO
    columns: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    period: float | None = None
    hold: float = 0.5
    keep: float = 900.0
    output: Path | None = None
    pictures: bool = True


# ---
# A recording that is ready to be read, and what was decided about it.


@dataclass(frozen=True)
class Opened:
    """Sources of one recording.

    Attributes:
        kind: of robot, "torque" or "velocity".
        sources: to read.
        channels: that the analysis needs.
        together: whether the sources share one time, as a file of commands and one of states do;
            else they are read one after another.
        samples: measured samples to expect; 0: not known.
        from_wheels: velocities that are made of wheel speeds, of "v" and "w".
        notes: what was decided, for people.
    """

    kind: str
    sources: Sequence[Source]
    channels: tuple[str, ...]
    together: bool = False
    samples: int = 0
    from_wheels: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        """All blocks."""
        if self.together:
            return merged(self.sources)
        return itertools.chain.from_iterable(source.blocks() for source in self.sources)


def robot_of(options: Options) -> Robot | None:
    """The robot's description; None where the user named none.

    Raises:
        ValueError: there is no such robot, or its description is wrong.
    """
    return None if options.robot is None else load_robot(options.robot)


def geometry_of(options: Options) -> WheelGeometry | None:
    """The wheels: as the options say, else as the robot's description does; None: unknown.

    Raises:
        RecordingError: a size is not positive.
    """
    for option, value in (("--wheel-radius", options.wheel_radius), ("--track", options.track)):
        if value is not None and not 0.0 < value < 1e3:
            raise RecordingError(f"{option} {value}: must be > 0 m")
    robot = robot_of(options)
    wheels = None if robot is None else robot.wheels
    radius = options.wheel_radius or (wheels and wheels.radius)
    track = options.track or (wheels and wheels.separation)
    return WheelGeometry(radius, radius, track) if radius and track else None


def needed_geometry(options: Options, purpose: str) -> WheelGeometry:
    """The wheels, where nothing goes without them.

    Raises:
        RecordingError: they are not known.
    """
    geometry = geometry_of(options)
    if geometry is None:
        raise RecordingError(
            f"the wheels' radius and track are needed {purpose}: give --robot NAME or FILE, or "
            "--wheel-radius M --track M"
        )
    return geometry
