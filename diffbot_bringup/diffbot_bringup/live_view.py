# SPDX-License-Identifier: Apache-2.0
"""``diffbot view`` without results: shows the active run, or a recording, in the browser."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from diffbot_bringup import domains
from diffbot_bringup.xml_launch.resolver import find_executable

EPILOG = """\
Without arguments it shows the active `diffbot launch`, or the run in ROS_DOMAIN_ID, with a stop
button. With a rosbag2 recording (folder or file) it plays the recording. Ctrl-C ends it.
exit status: 0 ended by Ctrl-C; 2 wrong arguments, nothing to show, or no port to listen on."""
RECORDINGS = (".mcap", ".db3")
METADATA = "metadata.yaml"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="diffbot view",
        description="Show a running robot, or a recording, in the browser.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "recording", metavar="RECORDING", nargs="?", type=Path, help="e.g. my_run/recording"
    )
    made.add_argument("--robot", metavar="R", help="default: that of the nodes; recordings: twil")
    made.add_argument(
        "--address",
        metavar="A",
        default="127.0.0.1",
        help="IP address to listen on; 0.0.0.0: all networks, with a token (default: %(default)s)",
    )
    made.add_argument("--port", metavar="N", type=int, default=8765, help="default: %(default)s")
    return made


def is_recording(path: Path) -> bool:
    """Whether a path is a rosbag2 folder or one of its files."""
    return path.suffix in RECORDINGS or (path / METADATA).exists()


def takes(argv: list[str]) -> bool:
    """Whether the arguments ask for a live view or a recording, not for results of runs."""
    if {"-h", "--help"} & set(argv):
        return False
    try:
        known, rest = parser().parse_known_args(argv)
    except SystemExit:  # argparse has reported an error in one of our options
        return True
    return not rest and (known.recording is None or is_recording(known.recording))


def main(argv: list[str]) -> int:
    """Show the view until Ctrl-C; return the exit status (see EPILOG)."""
    try:
        options = parser().parse_args(argv)
    except SystemExit as error:
        return int(error.code or 0)
    try:
        return _live(options) if options.recording is None else _play(options)
    except (ValueError, OSError, ImportError, domains.DomainError) as error:
        print(f"diffbot view: {error}", file=sys.stderr)
        return 2


def _live(options: argparse.Namespace) -> int:
    """Become the node live_view in the domain of the run; does not return."""
    run = domains.join(os.environ)
    if run:
        print(f"diffbot view: in domain {run.domain} of the run {run.name}", file=sys.stderr)
    parameters = {"leave_when_alone": "false", "address": options.address, "port": options.port}
    if options.robot:
        parameters["robot"] = options.robot
    words = [word for item in parameters.items() for word in ("-p", "{}:={}".format(*item))]
    program = find_executable("diffbot_view", "live_view")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [program, "--ros-args", *words])


def _play(options: argparse.Namespace) -> int:
    from diffbot_view.playback import play

    ends = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ends.set())
    play(
        options.recording,
        options.robot or "twil",
        options.address,
        options.port,
        ends,
        lambda text: print(f"diffbot view: {text}", flush=True),
    )
    return 0
