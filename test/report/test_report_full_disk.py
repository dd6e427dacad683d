# SPDX-License-Identifier: Apache-2.0
"""A report on a disk that is full: a sentence for each file, none of them half."""

import json
import os
import subprocess
import sys

import pytest
from PIL import Image
from rich.console import Console

from diffbot_description import write_atomically
from diffbot_report.drawing import Drawing, Picture
from diffbot_report.run_end import Ending, Outcome
from diffbot_report.summary import ReportWriter, RunDescription, RunFindings

ROOM = 64  # kB


@pytest.fixture
def small_disk(tmp_path):
    """A folder on a disk of ROOM; left out where none can be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def save(path, side):
    noise = os.urandom(3 * side * side)
    write_atomically(path, Image.frombytes("RGB", (side, side), noise).save)


def pictures():
    """Two, of which the first is too large."""
    return [
        Picture("large.png", lambda path: save(path, 300)),
        Picture("small.png", lambda path: save(path, 20)),
    ]


def written(folder, results):
    console, drawing = Console(width=400, record=True), Drawing("diffbot_report.panels")
    drawing.start()
    writer = ReportWriter(RunDescription(), folder, console, drawing)
    findings = RunFindings(1.0, lambda title: title, results, {}, (), pictures)
    well = writer.write(findings, Ending(Outcome.COMPLETED), None, float("inf"))
    return well, console.export_text()


def test_what_finds_room_is_written_and_the_rest_is_named(small_disk):
    well, said = written(small_disk, {"found": "short"})
    assert not well
    assert {path.name for path in small_disk.iterdir()} == {"summary.json", "small.png"}
    large = small_disk / "large.png"
    assert f"{large} was not written: No space left on device; free space there" in said
    (named,) = json.loads((small_disk / "summary.json").read_text())["missing_files"]
    assert named.startswith(f"{large} was not written: No space left on device")
    assert "Traceback" not in said


def test_the_summary_of_a_killed_report_names_what_is_missing(tmp_path):
    class Killed(BaseException):
        pass

    def die(path):
        raise Killed

    console, drawing = Console(width=400, record=True), Drawing("diffbot_report.panels")
    writer = ReportWriter(RunDescription(), tmp_path, console, drawing)
    findings = RunFindings(1.0, lambda title: title, {}, {}, (), lambda: [Picture("a.png", die)])
    with pytest.raises(Killed):
        writer.write(findings, Ending(Outcome.COMPLETED), None, float("inf"))
    assert json.loads((tmp_path / "summary.json").read_text())["missing_files"] == [
        "pictures: not written"
    ]
    assert written(tmp_path, {})[0] is True
    assert json.loads((tmp_path / "summary.json").read_text())["missing_files"] == []


def test_a_summary_that_finds_no_room(small_disk):
    (small_disk / "summary.json").write_text("old")
    well, said = written(small_disk, {"found": 2000 * ROOM * "x"})
    assert not well
    assert "summary.json was not written: No space left on device" in said
    assert (small_disk / "summary.json").read_text() == "old"
    assert (small_disk / "small.png").exists()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from diffbot_description import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(Path(sys.argv[1]), 5000 * "x")
except OSError as error:
    sys.exit(str(error))
"""


def test_a_file_that_may_not_grow_leaves_nothing(tmp_path):
    path = tmp_path / "results" / "file.yaml"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{path} was not written: File too large; free space there" in done.stderr
    assert list(path.parent.iterdir()) == []


def test_the_old_file_or_the_whole_new_one(tmp_path):
    path = write_atomically(tmp_path / "file.txt", "first")

    def half(partial):
        partial.write_text("half")
        raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="file.txt was not written: Input/output error"):
        write_atomically(path, half)
    assert path.read_text() == "first"
    write_atomically(path, lambda partial: partial.write_text("second"))
    assert path.read_text() == "second" and list(tmp_path.iterdir()) == [path]
