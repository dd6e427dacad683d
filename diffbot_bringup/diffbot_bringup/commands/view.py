# SPDX-License-Identifier: Apache-2.0
"""``diffbot view``: the active run, a recording, or results of runs, in the browser."""

from __future__ import annotations

import argparse
import os
import signal
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from diffbot_bringup.usage import UsageError, need_ros
from diffbot_description.command_parser import CommandParser
from diffbot_description.spoken_commands import spoken

_EPILOG = """\
Without PATH it shows the active `diffbot launch`, or the run in ROS_DOMAIN_ID, with a stop button.
A rosbag2 recording (folder or file) is played. Ctrl-C ends either.
Of other paths, result folders of runs (or a file in them), one is shown as it is; for several, the
page lists significant differences and overlays the curves. Runs without report.html (--png) are
compared by their summary.json. Results that cannot be read are reported.
exit status: 0 ended by Ctrl-C, or the page is written; 2 wrong arguments, nothing to show, or no
port to listen on."""
_RECORDINGS = (".mcap", ".db3")
_METADATA = "metadata.yaml"
_REPORT = "report.html"
_OF_A_VIEW, _OF_RESULTS = ("robot", "address", "port"), ("output", "open")


def _parser() -> argparse.ArgumentParser:
    description = "Show a running robot, a recording, or the results of runs in the browser."
    parser = CommandParser("diffbot view", description, _EPILOG)
    parser.add_argument(
        "paths", metavar="PATH", nargs="*", type=Path,
        help="a recording, e.g. my_run/recording, or result folders of runs",
    )  # fmt: skip
    live = parser.add_argument_group("of a running robot and of a recording")
    live.add_argument("--robot", metavar="R", help="default: that of the nodes; recordings: twil")
    live.add_argument(
        "--address",
        metavar="A",
        default="127.0.0.1",
        help="IP address to listen on; 0.0.0.0: all networks, with a token (default: %(default)s)",
    )
    live.add_argument("--port", metavar="N", type=int, default=8765, help="default: %(default)s")
    results = parser.add_argument_group("of results")
    results.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="folder, created if missing (default: results/<date>-view)",
    )
    results.add_argument("--open", action="store_true", help="open the page in a browser")
    return parser


def main(argv: list[str]) -> int:
    """Show what the arguments name; return the exit status. Raises as Command.run does."""
    parser = _parser()
    options = parser.parse_intermixed_args(argv)
    paths: list[Path] = options.paths
    served = not paths or (len(paths) == 1 and _is_recording(paths[0]))
    for name in _OF_RESULTS if served else _OF_A_VIEW:
        if getattr(options, name) != parser.get_default(name):
            parser.error(f"unrecognized arguments: --{name} (see --help for what it is of)")
    if not served:
        return _results(options, argv)
    try:
        return _play(options, paths[0]) if paths else _live(options)
    except (ValueError, OSError, ImportError) as error:
        raise UsageError(str(error)) from error


def _is_recording(path: Path) -> bool:
    return path.suffix in _RECORDINGS or os.path.exists(path / _METADATA)


def _live(options: argparse.Namespace) -> int:
    """Become the node live_view in the domain of the run; does not return."""
    need_ros()
    from diffbot_bringup import domains
    from diffbot_bringup.xml_launch.resolver import find_executable

    domains.join_launch("view")
    parameters = {"leave_when_alone": "false", "address": options.address, "port": options.port}
    if options.robot:
        parameters["robot"] = options.robot
    words = [word for item in parameters.items() for word in ("-p", "{}:={}".format(*item))]
    program = find_executable("diffbot_view", "live_view")
    os.execv(program, [program, "--ros-args", *words])


def _play(options: argparse.Namespace, recording: Path) -> int:
    from diffbot_view.playback import play

    ends = threading.Event()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows lacks the last one
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: ends.set())
    play(
        recording,
        options.robot or "twil",
        options.address,
        options.port,
        ends,
        lambda text: print(f"diffbot view: {text}", flush=True),
    )
    return 0


def _results(options: argparse.Namespace, argv: Sequence[str]) -> int:
    for path in options.paths:
        if not os.path.exists(path):  # nor does a name that is too long
            raise UsageError(f"{path}: there is no such folder; give results of runs")
    from diffbot_description.files import RECORDING
    from diffbot_description.run_folder import output_folder
    from diffbot_description.terminal_text import complain, printable
    from diffbot_report.compare_page import compare_page, read_run
    from diffbot_report.page import write_page

    runs = [read_run(path) for path in options.paths]
    for run in runs:
        if not run.summary:
            complain("diffbot view", run.problem)
    if not any(run.summary or run.charts for run in runs):
        for recording in (run.path / RECORDING for run in runs):
            if recording.is_dir():
                complain("there is a recording", spoken("view", str(recording)))
        return 2
    page = runs[0].path / _REPORT
    if len(runs) > 1 or not page.exists():
        command = spoken("view", *argv)
        try:
            with output_folder(options.output, "view") as folder:
                page = write_page(compare_page(runs, command), folder / _REPORT)
        except (OSError, ModuleNotFoundError) as error:
            raise UsageError(f"--output {options.output or 'results'}: {error}") from error
        except ValueError as error:
            raise UsageError(str(error)) from error
    print(printable(page))
    if options.open:
        webbrowser.open(page.resolve().as_uri())
    return 0
