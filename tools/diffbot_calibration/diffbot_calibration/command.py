# SPDX-License-Identifier: Apache-2.0
"""The command `calibrate`: from recordings, or from the ends of squares measured with a tape."""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import (
    GYRO_SCALE_STD,
    Calibration,
    CalibrationOutcome,
    calibrate,
)
from diffbot_calibration.calibration_page import answer, calibration_notes
from diffbot_calibration.results import draw_pictures, next_step, summary_of, write_results
from diffbot_calibration.umbmark import Squares, calibrate_umbmark, read_squares
from diffbot_description import Robot, load_robot
from diffbot_description.command_parser import CommandParser
from diffbot_description.run_folder import output_folder
from diffbot_description.spoken_commands import spoken
from diffbot_description.terminal_text import complain, printable
from diffbot_recordings.options import check_wheels
from diffbot_recordings.recorded_readings import TABLE_CHANNELS, ReadingOptions, read_readings
from diffbot_recordings.sensor_readings import Subject
from diffbot_recordings.sensor_turns import CalibrationError
from diffbot_recordings.table_columns import parse_columns
from diffbot_report.display import make_console, printed
from diffbot_report.progress import Progress
from diffbot_report.summary import not_yet_written, note_unwritten, noted

USAGE, INTERRUPTED = 2, 128 + signal.SIGINT
ALL, NONE, RATIOS = 0, 1, 3

_DESCRIPTION = """\
Calibrate odometry: left and right wheel radius and track with 95 % intervals, and proof.

RECORDING is a rosbag2 recording (folder, .mcap, .db3) or a table (.csv) with angles of both wheels,
or the odometry of a robot that takes cmd_vel (its linear and angular scale are calibrated), and
  a gyro         sensor_msgs/Imu: ratio of the radii, and of track to radius
  a pose source  PoseWithCovarianceStamped, PoseStamped, Odometry of SLAM, or tf: all sizes
  a laser        LaserScan of a planar laser in a room: all sizes
or several. With a tape: drive squares of --side by odometry, both ways; type in where they end."""

_EPILOG = """\
examples:
  diffbot calibrate drive/ --robot my_robot.yaml
  diffbot calibrate drive.mcap --robot twil --tf map base_link
  diffbot calibrate log.csv --robot twil \\
      --columns time=t,left_position=l,right_position=r,gyro_z=w*deg
  diffbot calibrate --umbmark --robot twil --side 4 --cw 0.25,0.23 0.26,0.22 \\
      --ccw -0.08,0.08 -0.06,0.07 --straight 4.000,4.061 4.000,4.058

exit status: 0 radii and track (or all scales) may be used; 3 only ratios; 1 nothing, and why; 2
wrong usage or unreadable files; 130 interrupted by Ctrl-C."""


def parser_of(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog=program,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("files", metavar="RECORDING", nargs="*", type=Path, help="recordings of one robot")
    add("--robot", metavar="NAME|FILE", help="description of the robot during the drive")
    add("--wheel-radius", metavar="M", type=float, help="radius that odometry used, instead, m")
    add("--track", metavar="M", type=float, help="track that odometry used, instead, m")
    more: dict[str, Any] = {"type": float, "default": GYRO_SCALE_STD, "metavar": "SHARE"}
    add = parser.add_argument_group("what to read of a recording").add_argument
    add("--joint-states", metavar="TOPIC", help="joint states")
    add("--odom", metavar="TOPIC", help="odometry, whose scales are calibrated instead of wheels")
    add("--left", metavar="JOINT", help="joint of the left wheel")
    add("--right", metavar="JOINT", help="joint of the right wheel")
    add("--imu", metavar="TOPIC", help="gyro; none: do not use it")
    add("--gyro-axis", default="z", metavar="AXIS", help="axis that points up: z, -z, x … (z)")
    text = "standard deviation of the gyro's scale (default: %(default)g)"
    add("--gyro-scale-std", help=text, **more)
    add("--pose", metavar="TOPIC", help="pose source; none: do not use it")
    add("--tf", nargs=2, metavar=("FIXED", "ROBOT"), help="pose source in tf, as map base_link")
    more = {"action": "append", "default": [], "metavar": "CHANNEL=COLUMN[*FACTOR],…"}
    add("--columns", help="column of each channel of a table", **more)
    more = {"nargs": "+", "default": []}
    add = parser.add_argument_group("with a tape (UMBmark)").add_argument
    add("--umbmark", action="store_true", help="driven squares instead of a recording")
    add("--side", type=float, metavar="M", help="side of the square, m")
    add("--cw", metavar="X,Y", help="ends of clockwise runs, m", **more)
    add("--ccw", metavar="X,Y", help="ends of counterclockwise runs, m", **more)
    text = "lengths of straight legs, m"
    add("--straight", metavar="BY_ODOMETRY,MEASURED", help=text, **more)
    text = "calibrate the odometry of a robot that takes cmd_vel, not its wheels"
    add("--scales", action="store_true", help=text)
    add = parser.add_argument
    text = "folder of the results (default: results/<date>-calibrate)"
    add("--output", metavar="DIR", type=Path, help=text)
    text = "numbers only, no page"
    add("--no-pictures", dest="pictures", action="store_false", help=text)
    return parser


def main(argv: Sequence[str] | None = None, program: str = "calibrate") -> int:
    """Calibrate; return the exit status."""
    parser = parser_of(program)
    words = sys.argv[1:] if argv is None else argv
    # Pairs such as -0.1,0.2 and axes such as -z must not be taken for options.
    values = re.compile(r"-[\d.][^=]*,|-[xyz]$")
    args = parser.parse_args([f" {w}" if values.match(w) else w for w in words])
    if bool(args.files) == args.umbmark:
        parser.error("give recordings, or --umbmark with --side, --cw and --ccw")
    if not 0.0 < args.gyro_scale_std < 1.0:
        parser.error(
            f"--gyro-scale-std {args.gyro_scale_std:g}: must be > 0 and < 1; 0.005 means 1 % in "
            "19 of 20"
        )
    if args.scales and not args.umbmark:
        parser.error("--scales belongs to --umbmark; a recording without joint states needs none")
    if args.umbmark and not (args.side and args.cw and args.ccw):
        parser.error("--umbmark needs --side M, --cw X,Y … and --ccw X,Y …")
    console = make_console()
    try:
        return _run(args, console, words)
    except KeyboardInterrupt:
        console.print("interrupted: nothing was written")
        return INTERRUPTED
    except CalibrationError as error:
        complain(program, error)
        return NONE
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE


def _run(result: argparse.Namespace, console: Console, words: Sequence[str]) -> int:
    began = time.monotonic()
    robot = None if result.robot is None else load_robot(result.robot)
    geometry = _given(result, robot)
    if result.umbmark:
        squares = Squares(
            result.side,
            read_squares(result.cw, "--cw"),
            read_squares(result.ccw, "--ccw"),
            read_squares(result.straight, "--straight"),
        )
        subject = Subject.ODOMETRY if result.scales else Subject.WHEELS
        calibration, _ = calibrate_umbmark(squares, geometry, subject)
    else:
        calibration = _recorded(result, robot, geometry, console)
    about = {
        "name": "calibrate",
        "robot": result.robot,
        "files": [str(path) for path in result.files],
        "outcome": "completed",
        "missing_files": not_yet_written(result.pictures, result.pictures),
        "wall_time": time.monotonic() - began,
    }
    unwritten: list[str] = []
    with output_folder(result.output, "calibrate") as folder:
        written = write_results(calibration, folder, robot=robot, about=about, pictures=False)
        paths = [*written.paths]
        if result.pictures:
            from diffbot_calibration.calibration_page import write_calibration_page  # slow

            command = spoken("calibrate", *words)
            with noted(unwritten):
                paths += draw_pictures(calibration, folder)
            try:
                with noted(unwritten):
                    paths.append(write_calibration_page(calibration, folder, command))
            except ModuleNotFoundError as error:
                _say(console, f"report.html not written: {error}; install {error.name}")
        note_unwritten(folder, unwritten)
    show(console, calibration)
    if written.refusal is not None:
        _say(console, written.refusal)
    for path in paths:
        _say(console, str(path))
    _say(console, f"Next: {next_step(calibration, paths)}")
    for each in unwritten:
        complain("calibrate", each)
    return USAGE if unwritten else status(calibration)


def status(calibration: Calibration) -> int:
    """Return the exit status of a result, see the epilogue of the help."""
    if not calibration.usable:
        return NONE
    return ALL if calibration.absolute else RATIOS


def _given(result: argparse.Namespace, robot: Robot | None) -> WheelGeometry:
    radius, track = result.wheel_radius, result.track
    check_wheels(radius, track)
    if radius is not None and track is not None:
        return WheelGeometry(radius, radius, track)
    if robot is None:
        raise ValueError(
            "the wheels' radius and track are needed as first values: give --robot NAME or FILE, "
            "or --wheel-radius M --track M"
        )
    own = robot.geometry
    left, right = radius or own.left_radius, radius or own.right_radius
    return WheelGeometry(left, right, track or own.separation)


def _recorded(
    result: argparse.Namespace, robot: Robot | None, geometry: WheelGeometry, console: Console
) -> Calibration:
    options = ReadingOptions(
        joint_states=result.joint_states,
        left=result.left,
        right=result.right,
        imu=result.imu,
        gyro_axis=result.gyro_axis.strip(),
        pose=result.pose,
        odom=result.odom,
        tf=None if result.tf is None else (result.tf[0], result.tf[1]),
        columns=parse_columns(result.columns, tuple(TABLE_CHANNELS)),
        robot=robot,
    )
    with Progress("calibrate", None, console) as progress:
        progress.show("reading")
        readings = read_readings(result.files, options, geometry)
    for note in readings.notes:
        _say(console, note)
    with Progress("calibrate", None, console) as progress:
        progress.show(f"fitting {readings.subject.words}")
        return calibrate(
            readings.wheels,
            geometry=geometry,
            gyro=readings.gyro,
            poses=readings.poses,
            subject=readings.subject,
            gyro_scale_std=result.gyro_scale_std,
            pose_errors=readings.pose_errors,
        )


STYLES = {
    CalibrationOutcome.CALIBRATED: "cyan",
    CalibrationOutcome.CONFIRMED: "green",
    CalibrationOutcome.REFUSED: "red",
}


def show(console: Console, calibration: Calibration) -> None:
    """Print the result: values with intervals, held-out drift, notes."""
    style = f"bold {STYLES[calibration.outcome]}"
    text = f"odometry by {calibration.source}: {calibration.outcome.value}: {calibration.reason}"
    console.print(printable(text), style=style, markup=False, highlight=False, soft_wrap=True)
    about, result = summary_of(calibration), calibration.held_out
    console.print(printed(answer(about)), markup=False, highlight=False)
    if result is not None:
        low, high = result.bounds
        says = "consistent" if result.consistent else "NOT consistent"
        _say(
            console,
            f"held-out drift against its covariance: NEES {result.after.nees:.2g}, "
            f"{result.expected} expected, {low:.2g} to {high:.2g} allowed: {says} "
            f"({result.windows} windows); before {result.before.nees:.3g}",
        )
    for note in calibration_notes(about):
        _say(console, note)


def _say(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
