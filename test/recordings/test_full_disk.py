# SPDX-License-Identifier: Apache-2.0
"""A disk that is full after the numbers: the rest is tried, and the summary names what is missing.

A file name that is no UTF-8 costs nothing.
"""

import json
import os
from pathlib import Path

import pytest
from identify_command import torque_rows, write_table
from made_recordings.excited_runs import usual_run

from diffbot_calibration.command import main as calibrate
from diffbot_recordings.identify import main as identify

SQUARES = "--umbmark --robot twil --side 4 --cw 0.25,0.23 0.26,0.22 --ccw -0.08,0.08 -0.06,0.07"
FULL = "report.html was not written: No space left on device; free space there"


def full(*_):
    raise OSError(FULL)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("run") / "log.csv", torque_rows(usual_run().samples))


@pytest.fixture(params=["identify", "calibrate"])
def run(request, table, monkeypatch):
    pages = {
        "identify": "diffbot_recordings.identify_page.write_identify_page",
        "calibrate": "diffbot_calibration.calibration_page.write_calibration_page",
    }
    words = {"identify": [str(table), "--robot", "twil"], "calibrate": SQUARES.split()}

    def run(output, is_full):
        if is_full:
            monkeypatch.setattr(pages[request.param], full)
        command = {"identify": identify, "calibrate": calibrate}[request.param]
        return command([*words[request.param], "--output", str(output)])

    return run


def test_what_could_not_be_written_is_named(run, tmp_path, capsys):
    assert run(tmp_path / "out", is_full=True) == 2
    assert FULL in capsys.readouterr().err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["missing_files"] == [FULL]
    assert list((tmp_path / "out").glob("*.png"))


def test_a_name_that_is_no_text_costs_nothing(run, tmp_path):
    output = tmp_path / os.fsdecode(b"\xff\xfe")
    assert run(output, is_full=False) in (0, 3)
    summary = json.loads((output / "summary.json").read_text())
    assert summary["missing_files"] == [] and Path(output / "report.html").exists()
