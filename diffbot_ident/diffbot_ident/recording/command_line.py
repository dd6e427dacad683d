"""The command line of `identify`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from diffbot_ident.recording.bag_topics import ROLES
from diffbot_ident.recording.options import AUTO, EFFORTS, KINDS, Options
from diffbot_ident.recording.table import CHANNELS, FACTORS

_DESCRIPTION = """\
Identify a robot's dynamics from a recording: no robot, no ROS graph.

FILE is a rosbag2 recording (folder, .mcap or .db3, any ROS 2 distribution), a table (.csv), or a
WPILib SysId drivetrain log (.json). Kinds of robots:
  torque    K5..K8 and friction, from joint_states with efforts (or effort commands)
  velocity  sigma1..sigma4 and dead times, from cmd_vel and odom
  sysid     ks, kv, ka from voltages
What the recording holds decides, and topics, joints and columns are found by type and name."""

_EPILOG = f"""\
channels of tables: {", ".join(CHANNELS)}; SI units, rad, N m
factors: a number, or one of {", ".join(FACTORS)}

examples:
  diffbot identify run1/ --robot twil
  diffbot identify drive.mcap --odom /odometry/filtered
  diffbot identify log.csv --columns time=t,command_v=cmd,v=speed --where "mode=auto"
  diffbot identify log.csv --columns command_v=c,left_velocity=l*rpm,right_velocity=r*rpm \\
      --wheel-radius 0.3 --track 1.08

exit status: 0 the result may be used; 1 it may not, and why; 2 wrong usage or unreadable files;
130 interrupted by Ctrl-C"""


def parse(argv: Sequence[str] | None, program: str = "identify") -> Options:
    """The options that the arguments say; wrong ones end the process with status 2."""
    parser = argparse.ArgumentParser(
        prog=program,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="recordings")
    add = parser.add_argument
    add("--kind", choices=KINDS, default=AUTO, help="kind of robot (default: %(default)s)")
    add("--robot", metavar="NAME|FILE", help="description of the robot, such as twil")
    add("--wheel-radius", metavar="M", type=_positive, help="rolling radius of the wheels, m")
    add("--track", metavar="M", type=_positive, help="left to right contact point, m")
    group = parser.add_argument_group("what to read of a rosbag2 recording")
    for name, role in ROLES.items():
        group.add_argument(role.option, dest=f"topic_{name}", metavar="TOPIC", help=role.text)
    group.add_argument("--left-joint", metavar="NAME", help="joint of the left wheel")
    group.add_argument("--right-joint", metavar="NAME", help="joint of the right wheel")
    group.add_argument(
        "--effort-source",
        choices=EFFORTS,
        default=AUTO,
        help="whose torques act: as the joint states report, or as commanded (default: the joint "
        "states' where they report any)",
    )
    group = parser.add_argument_group("what to read of a table")
    group.add_argument(
        "--columns",
        metavar="CHANNEL=COLUMN[*FACTOR],…",
        action="append",
        default=[],
        help="which column holds what",
    )
    group.add_argument(
        "--where",
        metavar="CONDITION",
        action="append",
        default=[],
        help='rows that count, such as "mode=auto" or "cmd_v!=0 or cmd_w!=0"; repeat it for "and"',
    )
    group = parser.add_argument_group("how to read")
    group.add_argument(
        "--period", metavar="S", type=_positive, help="resample to this period, s (velocity)"
    )
    group.add_argument(
        "--hold",
        metavar="S",
        type=_positive,
        default=Options.hold,
        help="time that a velocity command holds without a new one, s (default: %(default)s)",
    )
    group.add_argument(
        "--keep",
        metavar="MINUTES",
        type=_positive,
        default=Options.keep / 60.0,
        help="motion kept in memory of a velocity robot (default: %(default)g)",
    )
    add(
        "--output",
        metavar="DIR",
        type=Path,
        help="folder of the results (default: results/<date>-identify)",
    )
    add("--no-pictures", dest="pictures", action="store_false", help="only numbers")
    found = vars(parser.parse_args(argv))
    if found["left_joint"] and found["left_joint"] == found["right_joint"]:
        parser.error(f"--left-joint and --right-joint are both {found['left_joint']}: give two")
    topics = {name: found.pop(f"topic_{name}") for name in ROLES}
    return Options(**{**found, "topics": topics, "keep": 60.0 * found["keep"]})


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text!r}: must be a number > 0")
    return value
