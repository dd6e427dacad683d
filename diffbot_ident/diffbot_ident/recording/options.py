"""What a user asks of `identify`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from diffbot_ident.recording.bag_topics import ROLES

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
