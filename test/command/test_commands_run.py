# SPDX-License-Identifier: Apache-2.0
"""``diffbot run``: the executable takes the place of the command."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diffbot_bringup import cli, domains

CALL = "import sys; from diffbot_bringup import cli; sys.exit(cli.main(['run', *sys.argv[1:]]))"


def main(words: list[str]) -> int:
    return cli.main(["run", *words])


def test_arguments_pass_through_and_the_status_comes_back(prefix: Any) -> None:
    prefix.executable("node", "import os, sys; print(os.getpid(), sys.argv[1:]); sys.exit(7)")
    arguments = ["robots", "node", "-p", "1", "--ros-args", "-p", "a:=1", "--", "-p", "2", "-h"]
    process = subprocess.Popen(
        [sys.executable, "-c", CALL, *arguments], stdout=subprocess.PIPE, text=True
    )
    out, _ = process.communicate(timeout=15)
    assert process.returncode == 7
    assert out == f"{process.pid} {arguments[2:]}\n"  # the same process: signals reach the node


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "PACKAGE is missing; packages with executables: robots"),
        (["robot"], "did you mean 'robots'?; packages with executables: robots"),
        (["empty", "x"], "unknown package 'empty'; packages with executables: robots"),
        (["robots"], "EXECUTABLE is missing; robots has: node, other"),
        (["robots", "nod"], "did you mean 'node'?; package 'robots' has: node, other"),
    ],
)
def test_wrong_names_list_the_right_ones(
    prefix: Any, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix.executable("node")
    prefix.executable("other")
    prefix.package("empty")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("parameters:=", "'parameters:=' is not of the form NAME:=VALUE: it has no value"),
        (":=1", "':=1' is not of the form NAME:=VALUE; "),
        ("speed=1", "'speed=1' is not of the form NAME:=VALUE; "),
    ],
)
def test_a_parameter_without_a_value_is_refused(
    prefix: Any, word: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix.executable("node")
    assert main(["robots", "node", "--ros-args", "-p", "a:=1", "-p", word]) == 2
    assert message in capsys.readouterr().err


def test_without_a_sourced_workspace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert main(["robots", "node"]) == 2
    assert "is the workspace sourced?" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "usage: diffbot run PACKAGE EXECUTABLE" in capsys.readouterr().out


def test_it_joins_the_one_run_that_lives_and_none_of_several(
    prefix: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix.executable("node", "import os; print(os.environ.get('ROS_DOMAIN_ID'))")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    def said(**variables: str) -> tuple[str, str]:
        command = [sys.executable, "-c", CALL, "robots", "node"]
        result = subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=15
        )
        assert result.returncode == 0
        return result.stdout, result.stderr

    monkeypatch.delenv("ROS_DOMAIN_ID")
    assert said() == ("None\n", "")
    with domains.claim("pose", launch=True) as own:
        expected = f"diffbot run: in domain {own.domain} of the run pose\n"
        assert said() == (f"{own.domain}\n", expected)
        assert said(ROS_DOMAIN_ID="9") == ("9\n", "")
        with domains.claim("ident", launch=True) as other:
            out, err = said()
            assert out == "None\n"
            assert err.startswith("diffbot run: in domain 0; several runs are active")
            assert f"domain {own.domain}: pose" in err and f"domain {other.domain}: ident" in err
