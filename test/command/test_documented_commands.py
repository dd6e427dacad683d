# SPDX-License-Identifier: Apache-2.0
"""Each command line of the documents is one that the commands take, files of its own aside."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest

from diffbot_bringup import cli
from diffbot_bringup.workspace.packages import check_arguments, find_packages
from diffbot_bringup.xml_launch.arguments import Arguments
from diffbot_bringup.xml_launch.document import read
from diffbot_description import load_robot, urdf
from diffbot_study import study

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]
# Of a line that shows a form instead of a command.
FORM = re.compile(r"…|\.\.\.|\[|\b[A-Z]{4,}\b")
OPTION = re.compile(r"--[a-z][a-z0-9-]*")


def lines():
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8").replace("\\\n", " ")
        for result in re.finditer(r"\./diffbot ([^\n`|)]+)", text):
            line = re.split(r"\s#\s|&&|;", result[1])[0].strip()
            if line and not FORM.search(line.replace("robot:=/path/of/", "robot:=")):
                yield document.name, line


LINES = sorted(set(lines()))


def test_there_are_many():
    assert len(LINES) > 100
    assert {line.split()[0] for _, line in LINES} >= {"launch", "identify", "python", "study"}


@pytest.mark.parametrize(("document", "line"), LINES)
def test_a_command_of_the_documents_is_taken(document, line, tmp_path, monkeypatch, capsys):
    command, *words = shlex.split(line)
    assert command in cli.COMMANDS
    options = {word.split("=")[0] for word in words if OPTION.match(word)}
    if command == "launch":
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("DISPLAY", ":0")  # for gui:=true
        for file in re.findall(r":=([\w/.-]+\.(?:yaml|urdf|xacro))", line):
            path = tmp_path / file.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            twil = ROOT / "diffbot_description" / "config" / "twil.yaml"
            path.write_text(twil.read_text() if path.suffix == ".yaml" else urdf(load_robot(twil)))
        words = [word.replace(":=/path", f":={tmp_path}/path") for word in words]
        check_arguments(ROOT, "launch", words, any_package=False)
    elif command == "python" and words:
        if words[0] == "-m" or "/" not in words[0]:  # the latter are files of a reader
            return
        file = ROOT / words[0]
        assert file.is_file()
        text = file.read_text(encoding="utf-8")
        if "cluster=True" in text:
            text += Path(study.__file__).read_text("utf-8")
        if "options(__doc__, robots=" in text:
            text += " --robots --seed"
        assert options <= set(OPTION.findall(text))
    elif command == "run" and words:
        assert words[0] in {package.name for package in find_packages(ROOT)}
    elif command in ("study", "fleet") and words[0].startswith("config/"):
        assert (ROOT / words[0]).is_file()
    elif options and command != "test":
        with contextlib.suppress(SystemExit):
            cli.COMMANDS[command].run(["--help"])
        assert options <= set(OPTION.findall(capsys.readouterr().out))


CONTROLLERS = ("backstepping", "pose", "linearizing", "adaptive")


def arguments_of_the_controllers():
    """(argument, launch files that have it) in the table of control.md; without names: all."""
    text = (ROOT / "docs" / "control.md").read_text(encoding="utf-8")
    table = text[text.index("| argument | meaning | default |") :].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        for group in re.finditer(r"((?:`\w+`(?:, )?)+)(?: \(([\w, ]+)\))?", row.split(" | ")[0]):
            files = tuple(group[2].split(", ")) if group[2] else CONTROLLERS
            yield from ((name, files) for name in re.findall(r"\w+", group[1]))


def test_the_arguments_of_the_controllers_are_those_of_their_launch_files():
    files = {name: ROOT / "launch" / f"{name}.launch.xml" for name in CONTROLLERS}
    has = {
        name: {argument.name for argument in Arguments.of(read(path).root).declared}
        for name, path in files.items()
    }
    documented = dict(arguments_of_the_controllers())
    assert len(documented) > 25
    for argument, reported in documented.items():
        missing = [name for name in reported if argument not in has[name]]
        others = [name for name in CONTROLLERS if argument in has[name] and name not in reported]
        assert not missing and not others, argument
