# SPDX-License-Identifier: Apache-2.0
"""No command writes into a folder that belongs to a run (run_folder.py)."""

from pathlib import Path

import pytest

from diffbot_bringup.cli import COMMANDS as BY_NAME
from diffbot_bringup.usage import UsageError
from diffbot_description.run_folder import output_folder

SQUARES = "--side 4 --cw 0.25,0.23 0.26,0.22 --ccw -0.08,0.08 -0.06,0.07"
COMMANDS = [
    "identify {table} --robot twil --output {owned}",
    f"calibrate --umbmark --robot twil {SQUARES} --output {{owned}}",
    "reproduce 2002 --output {owned}",
    "export {owned} --to nav2 --robot twil --output {owned}",
    "study encoders --output {owned}",
    "fleet {table} --output {owned}",
    "bench --output {owned}",
    "bench --records {owned}",
    "bench --control --output {owned}",
    "view {owned} {owned} --output {owned}",
    "simulate ident results:={owned}",
    "describe cart.urdf --output {owned}/cart.yaml",
    "check {table} --output {owned}/seen.json",
    "faults --row watchdog --only in-process --output {owned}",
    "launch ident results:={owned}",
]


@pytest.fixture
def owned(tmp_path: Path) -> Path:
    """A folder that another run has, with its files."""
    with output_folder(tmp_path / "owned", "launch other") as folder:
        for name in ("summary.json", "report.html", "cart.yaml", "seen.json"):
            (folder / name).write_text('{"name": "other"}')
    return tmp_path / "owned"


@pytest.mark.parametrize("command", COMMANDS)
def test_what_belongs_to_a_run_is_refused_and_stays(command, owned, tmp_path, capfd):
    before = {path: path.read_bytes() for path in owned.iterdir()}
    (tmp_path / "table.csv").touch()
    words = command.format(owned=owned, table=tmp_path / "table.csv").split()
    try:
        status = BY_NAME[words[0]].run(words[1:])
    except UsageError as error:
        status, said = 2, str(error)
    else:
        said = capfd.readouterr().err
    assert status == 2 and "of the run (launch other) of 20" in said
    assert {path: path.read_bytes() for path in owned.iterdir()} == before


def test_the_page_of_a_folder_whose_name_acts_on_the_terminal_is_named_with_escapes(
    owned, tmp_path, capfd
):
    output = tmp_path / "a\x1b[2Jb\nc"
    assert BY_NAME["view"].run([str(owned), str(owned), "--output", str(output)]) == 0
    said = capfd.readouterr().out
    assert r"a\x1b[2Jb\nc" in said and "\x1b" not in said
    assert (output / "report.html").exists()
