# SPDX-License-Identifier: Apache-2.0
"""``diffbot view RESULTS ...``: the page of a run, or one page that compares several."""

from __future__ import annotations

import argparse
import shlex
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from diffbot_bringup.usage import UsageError
from diffbot_description.files import RECORDING, dated_folder

REPORT = "report.html"

_EPILOG = """\
RESULTS are result folders of runs (or a file in them). One is shown as it is; for several, the page
lists significant differences and overlays the curves. Runs without report.html (--png) are
compared by their summary.json. Results that cannot be read are reported.
exit status: 0 the page is written; 2 wrong arguments, or nothing in RESULTS can be read."""


def main(argv: list[str]) -> int:
    """Write or find the page and print its path; return the exit status."""
    try:
        options = parser().parse_args(argv)
    except SystemExit as error:
        return int(error.code or 0)
    for path in options.results:
        if not path.exists():
            raise UsageError(f"view: {path}: there is no such folder; give results of runs")
    return _results(options, argv)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        "diffbot view",
        description="Show the results of a run, or compare runs, on one page.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("results", metavar="RESULTS", nargs="+", type=Path, help="folders of runs")
    made.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="folder, created if missing (default: results/<date>-view)",
    )
    made.add_argument("--open", action="store_true", help="open the page in a browser")
    return made


def _results(options: argparse.Namespace, argv: Sequence[str]) -> int:
    from diffbot_report.compare_page import compare_page, read_run
    from diffbot_report.page import write_page

    runs = [read_run(path) for path in options.results]
    for run in runs:
        if not run.summary:
            print(f"diffbot view: {run.problem}", file=sys.stderr)
    if not any(run.summary or run.charts for run in runs):
        for recording in (run.path / RECORDING for run in runs):
            if recording.is_dir():
                print(f"there is a recording: ./diffbot view {recording}", file=sys.stderr)
        return 2
    page = runs[0].path / REPORT
    if len(runs) > 1 or not page.exists():
        command = shlex.join(["./diffbot", "view", *argv])
        try:
            folder = options.output or dated_folder("view")
            folder.mkdir(parents=True, exist_ok=True)
            page = write_page(compare_page(runs, command), folder / REPORT)
        except (OSError, ModuleNotFoundError) as error:
            print(f"diffbot view: --output {options.output or 'results'}: {error}", file=sys.stderr)
            return 2
    print(page)
    if options.open:
        webbrowser.open(page.resolve().as_uri())
    return 0
