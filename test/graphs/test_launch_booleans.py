# SPDX-License-Identifier: Apache-2.0
"""Boolean arguments of all launch files: one truth table, whoever reads them."""

import os
from pathlib import Path

import pytest
import yaml

from diffbot_bringup.xml_launch import substitutions
from diffbot_bringup.xml_launch.arguments import Arguments
from diffbot_bringup.xml_launch.document import read
from diffbot_bringup.xml_launch.resolver import Resolver

ROOT = Path(__file__).resolve().parents[2]
TRUE = ("true", "True", "TRUE", "1")
FALSE = ("false", "False", "FALSE", "0")


def arguments_of(path):
    return Arguments.of(read(path).root).declared


def conditions_of(element):
    """Texts by which an element, or one inside it, asks for a boolean."""
    results = {element.attributes.get("if"), element.attributes.get("unless")}
    if element.attributes.get("type") == "bool":
        results.add(element.attributes["value"])
    return results.union(*(conditions_of(child) for child in element.children))


def cases():
    """(file, argument) of all that are true or false by default, or are asked as booleans."""
    files = {file.resolve() for file in ROOT.glob("*/launch/*.launch.xml")}
    for path in sorted(files):
        asked = conditions_of(read(path).root)
        for argument in arguments_of(path):
            default = argument.default or ""
            if default.lower() in ("true", "false") or f"$(var {argument.name})" in asked:
                yield pytest.param(path, argument.name, id=f"{path.name[:-11]}-{argument.name}")


CASES = list(cases())


@pytest.fixture
def everything_is_installed(monkeypatch):
    monkeypatch.setattr("diffbot_bringup.xml_launch.resolver.find_executable", "{}/{}".format)
    monkeypatch.setitem(substitutions._KNOWN, "command", (lambda *_: "now", 1, 2))


def started(path, **given):
    """The command lines; texts of parameters as values, for YAML breaks lines by their length."""
    resolver = Resolver(os.environ)
    resolver.file(path, given.items())
    return [
        [yaml.load(w.text, yaml.CSafeLoader) if hasattr(w, "text") else w for w in process.command]
        for process in resolver.processes
    ]


def without_report(lines):
    """All but what tells of the arguments as they were written."""
    return [
        [word for word in line if not (isinstance(word, dict) and "arguments" in str(word))]
        for line in lines
    ]


def test_the_cases_are_all_there():
    assert len(CASES) >= 30
    files = {path.name for path in (ROOT / "launch").glob("*.launch.xml")} | {"view.launch.xml"}
    without = files - {path.name for path, _ in (case.values for case in CASES)}
    # They pass those of the files that they include.
    assert without <= {f"{name}.launch.xml" for name in ("adapt", "drive", "park")}


@pytest.mark.parametrize("path", sorted({case.values[0] for case in CASES}), ids=lambda p: p.name)
def test_a_spelling_changes_nothing(path, everything_is_installed):
    names = [case.values[1] for case in CASES if case.values[0] == path]
    results = []
    for spellings in (TRUE, FALSE):
        first, *others = (
            without_report(started(path, **dict.fromkeys(names, value))) for value in spellings
        )
        assert all(other == first for other in others)
        results.append(first)
    assert results[0] != results[1]


@pytest.mark.parametrize("value", ["1", "false"])
def test_with_a_watchdog_its_node_and_the_detour_come_together(value, everything_is_installed):
    for file in ("ident", "backstepping", "linearizing", "pose"):
        lines = started(ROOT / f"launch/{file}.launch.xml", watchdog=value, composed="0")
        assert any("effort_watchdog" in line[0] for line in lines) is (value in TRUE)
        end = "effort_watchdog" if value in TRUE else "effort_controller"
        detour = f"effort_controller/commands:={end}/commands"
        assert [line[0].count("report") for line in lines if detour in line] == [0]
        one = started(ROOT / f"launch/{file}.launch.xml", watchdog=value)
        assert any(line[0].endswith("/composed") for line in one) is (value in FALSE)


@pytest.mark.parametrize("value", ["1", "false"])
def test_adaptation_needs_its_estimator_and_the_word(value, everything_is_installed):
    lines = started(ROOT / "launch/adaptive.launch.xml", adaptive=value, composed="0")
    assert any("dynamics_estimator" in line[0] for line in lines) is (value in TRUE)
    (controller,) = (line for line in lines if line[0].endswith("/backstep_controller"))
    parameters = [word.get("/**", {}) for word in controller if isinstance(word, dict)]
    assert ({"ros__parameters": {"parameters": "adaptive"}} in parameters) is (value in TRUE)
    (one,) = started(ROOT / "launch/adaptive.launch.xml", adaptive=value)
    assert ("diffbot_ident/dynamics_estimator" in one) is (value in TRUE)
