# SPDX-License-Identifier: Apache-2.0
"""``diffbot docs``: the site of docs/, for a browser without a network."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from diffbot_bringup.site_links import broken_links
from diffbot_bringup.usage import UsageError
from diffbot_description.command_parser import CommandParser

_EPILOG = """\
exit status: 0 the site is written; 1 a link leads nowhere, or a page cannot be read."""


def main(argv: list[str]) -> int:
    """Build the site; return the exit status."""
    root = Path(os.environ.get("DIFFBOT_ROOT", ""))
    parser = CommandParser("diffbot docs", "Build the site of docs/.", _EPILOG)
    parser.add_argument(
        "--output", metavar="DIR", type=Path, default=root / ".diffbot" / "site",
        help="folder of the site (default: .diffbot/site in the checkout)",
    )  # fmt: skip
    options = parser.parse_args(argv)
    if not (root / "docs" / "conf.py").is_file():
        raise UsageError("the site is built from a checkout: ./diffbot docs")
    missing = [name for name in ("sphinx", "myst_parser", "furo") if not _is_there(name)]
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not installed; install with: "
            "pip install -r requirements-docs.txt"
        )
    sphinx = [
        "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--quiet",
        "-j", "2", "-d", str(root / ".diffbot" / "site-cache"), "-c", str(root / "docs"), str(root),
    ]  # fmt: skip
    status = subprocess.run([sys.executable, *sphinx, str(options.output)]).returncode
    if status:
        return 1
    broken = broken_links(options.output)
    for link in broken:
        print(link, file=sys.stderr)
    if broken:
        return 1
    print(f"open {options.output / 'index.html'} in a browser")
    return 0


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
