# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines: what a terminal would act on is shown as an escape, by every command."""

import re
from pathlib import Path

import pytest

from diffbot_bringup import cli
from diffbot_description import robot_urdf, show_parameters

ROOT = Path(__file__).resolve().parents[2]
WORD = "--\x9b2Jred\u202e\x1b]0;title\x07"
SHOWN = r"--\x9b2Jred\u202e\x1b]0;title\x07"
# These run what is named, with all further words; ./diffbot checks those of test, bash gives those
# of complete.
GIVEN = {
    "export": ["a", "--to", "nav2", "--output", "b"],
    "fleet": ["a", "--output", "b"],
    "reproduce": [],
    "simulate": ["ident"],
}
OWN = ("complete", "python", "run", "test")


@pytest.mark.parametrize(
    "command", [c.name for c in cli.COMMANDS.values() if not c.of_setup and c.name not in OWN]
)
def test_every_command_shows_it_as_an_escape(command, capfd, monkeypatch):
    monkeypatch.setenv("DIFFBOT_ROOT", str(ROOT))
    assert cli.main([command, *GIVEN.get(command, ["a"]), WORD]) == 2
    said = "".join(capfd.readouterr())
    assert SHOWN in said or repr(WORD)[1:-1] in said
    assert not {"\x9b", "\u202e", "\x1b", "\x07"} & {*said}


@pytest.mark.parametrize("module", [show_parameters, robot_urdf])
def test_so_do_the_executables(module, capfd):
    with pytest.raises(SystemExit):
        module.main(["twil", WORD])
    assert SHOWN in capfd.readouterr().err


def test_there_is_no_other_parser():
    other = [
        file.relative_to(ROOT)
        for folder in ROOT.iterdir()
        if not folder.name.startswith(".") and folder.name not in ("benchmarks", "test", "build")
        for file in folder.rglob("*.py")
        if "test" not in file.relative_to(ROOT).parts
        if re.search(r"= (argparse\.)?ArgumentParser\(", file.read_text())
    ]
    assert other == []


def test_an_empty_path_as_of_an_unset_variable_is_refused(capfd):
    assert cli.main(["export", "a", "--to", "nav2", "--output", ""]) == 2
    assert "argument --output: the path is empty" in capfd.readouterr().err
