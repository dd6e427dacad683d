# SPDX-License-Identifier: Apache-2.0
"""Runs the tutorials as a reader would: each command in turn, and compares what it says.

A block of a page in docs/tutorials/ is a command (sh), a file (its first line is a comment with its
name) or what the command before it says (text). Numbers may be others, lines may be between, and
… stands for anything: figures differ between machines, sentences do not.

    ./diffbot python docs/run_tutorials.py                 # all
    ./diffbot python docs/run_tutorials.py first_robot     # one
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diffbot_description.command_parser import CommandParser

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "tutorials"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
TIMEOUT = 1200.0
"""Longest time of a page, s."""
_CODE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)
_FILE = re.compile(r"(?:#|<!--) ([\w./-]+\.\w+)(?: -->)?\n")
_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_MARK = "@@ block {} @@"


@dataclass(frozen=True)
class Step:
    """Commands of a page, or a file that it has the reader write, and what they have to say.

    Attributes:
        script: For the shell.
        expected: Lines of the page, in their order.
        installs: Whether the commands install something; another installation may replace them.
    """

    script: str
    expected: tuple[str, ...] = ()
    installs: bool = False


def steps(page: str) -> Iterator[Step]:
    """Yield the steps of a page's text."""
    blocks = _CODE.findall(page)
    for number, (language, word, text) in enumerate(blocks):
        following = blocks[number + 1] if number + 1 < len(blocks) else ("", "", "")
        expected = tuple(following[2].splitlines()) if following[0] == "text" else ()
        if name := _FILE.match(text):
            yield Step(f"cat > {shlex.quote(name[1])} <<'@@ end @@'\n{text}@@ end @@\n")
        elif language == "sh":
            yield Step(text, expected, "install" in word)
        elif language != "text":
            raise ValueError(f"a block of {language} is neither a command nor a file: {text[:60]}")


def missing(expected: tuple[str, ...], said: str) -> str | None:
    """Return the first expected line that is not among those said, after the ones before it."""
    lines = iter([_plain(line) for line in said.splitlines()])
    for line in expected:
        pattern = ".*".join(re.escape(part) for part in _plain(line).split("…"))
        if pattern and not any(re.fullmatch(pattern, each) for each in lines):
            return line
    return None


def _plain(line: str) -> str:
    return " ".join(_NUMBER.sub("#", line.replace("─", " ")).split())


def run(page: str, folder: Path, installed: Path | None = None) -> list[str]:
    """Run a page; return what went wrong, a line each.

    Args:
        page: Its text.
        folder: Where the reader is; `checkout` and `diffbot` there are the suite.
        installed: Folder of programs that stand for what the page installs; None: install it.
    """
    command = (installed or ROOT) / "diffbot"
    for name, there in (("checkout", ROOT), ("diffbot", command)):
        (folder / name).symlink_to(there)
    done = [step for step in steps(page) if installed is None or not step.installs]
    parts = [f"echo '{_MARK.format(i)}'\n{step.script}" for i, step in enumerate(done)]
    program = (
        "set -eo pipefail\nexec 2>&1\n" + "\n".join(parts) + f"\necho '{_MARK.format('end')}'\n"
    )
    environment = dict(os.environ)
    if installed is not None:
        environment["PATH"] = f"{installed}{os.pathsep}{environment['PATH']}"
    else:  # the suite's own environment is not that of a reader
        for name in ("PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH"):
            environment.pop(name, None)
        environment["PATH"] = os.pathsep.join(
            place for place in environment["PATH"].split(os.pathsep) if ".diffbot" not in place
        )
    with subprocess.Popen(
        ["bash", "-c", program], cwd=folder, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
    ) as shell:  # fmt: skip
        try:
            said, _ = shell.communicate(timeout=TIMEOUT)
        finally:
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGTERM)
    outputs = re.split(r"^@@ block \w+ @@\n", said, flags=re.M)[1:]
    wrong = [
        f"{done[number].script.strip()}: says nothing like {line!r}"
        for number, output in enumerate(outputs[:-1])
        if (line := missing(done[number].expected, output)) is not None
    ]
    if len(outputs) <= len(done):
        last = done[len(outputs) - 1].script.strip() if outputs else program
        wrong.append(
            f"{last}: status {shell.returncode}:\n{outputs[-1][-2000:] if outputs else said}"
        )
    return wrong


def main() -> int:
    """Run the pages that are named; return 1 if one of them is wrong."""
    parser = CommandParser("run_tutorials.py", (__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"of {', '.join(PAGES)}")
    wanted = parser.parse_args().pages or PAGES
    if unknown := sorted({*wanted} - {*PAGES}):
        parser.error(f"there is no page {unknown[0]!r}; choose from {', '.join(PAGES)}")
    status = 0
    for name in wanted:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            wrong = run((FOLDER / f"{name}.md").read_text(encoding="utf-8"), Path(folder))
        status |= bool(wrong)
        print(
            f"{name}: {'; '.join(wrong) or 'right'} ({time.monotonic() - begun:.0f} s)", flush=True
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
