# SPDX-License-Identifier: Apache-2.0
"""The table of commands, and `diffbot test`."""

import errno
import fcntl
import json
import os
import re
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import hypothesis
import pytest

from diffbot_bringup import cli
from diffbot_bringup.commands import test as command
from diffbot_bringup.usage import split_at_dashes

ROOT = Path(__file__).resolve().parents[2]


def test_every_command_has_a_summary_of_one_line():
    for entry in cli.COMMANDS.values():
        assert entry.summary and "\n" not in entry.summary


def test_an_unknown_command_lists_the_others(capsys):
    assert cli.main(["lanch"]) == 2
    known = (
        "launch, run, echo, view, start, check, identify, calibrate, describe, export, apply, "
        "simulate, study, fleet, bench, reproduce, faults, test"
    )
    assert known in capsys.readouterr().err


def test_what_the_machine_refuses_is_a_sentence(monkeypatch, capsys):
    def refuse(_words):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a\x1b[2Jb")

    monkeypatch.setitem(cli.COMMANDS, "view", SimpleNamespace(run=refuse, of_setup=False))
    assert cli.main(["view"]) == 1
    assert capsys.readouterr().err == "diffbot view: a\\x1b[2Jb: No space left on device\n"


def test_memory_that_is_exhausted_is_a_sentence(monkeypatch, capsys):
    monkeypatch.setitem(
        cli.COMMANDS, "view", SimpleNamespace(run=Mock(side_effect=MemoryError), of_setup=False)
    )
    assert cli.main(["view"]) == 1
    assert capsys.readouterr().err.startswith("diffbot view: not enough memory; end other programs")
    own = SimpleNamespace(run=Mock(side_effect=RuntimeError("of the program")), of_setup=False)
    monkeypatch.setitem(cli.COMMANDS, "view", own)
    with pytest.raises(RuntimeError, match="of the program"):
        cli.main(["view"])


def test_packages_and_pytest_arguments_are_told_apart():
    assert split_at_dashes(["a", "b"]) == (["a", "b"], [])
    assert split_at_dashes(["a", "--", "-k", "x", "--"]) == (["a"], ["-k", "x", "--"])
    assert split_at_dashes(["--", "-x"]) == ([], ["-x"])


@pytest.fixture
def checkout(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "package.xml").write_text(f"<package><name>{name}</name></package>")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "test_top.py").write_text("def test_top():\n    assert True\n")
    (tmp_path / "a" / "test").mkdir()
    (tmp_path / "b" / "test").symlink_to("../test")
    return tmp_path


def test_each_test_folder_is_run_once(checkout):
    top, own = checkout / "test", checkout / "a" / "test"
    assert command.test_folders(checkout, []) == [own, top]
    assert command.test_folders(checkout, ["b"]) == [top]
    assert command.test_folders(checkout, ["c"]) == []


FAILING = "def test_a():\n    assert 1 + 1 == 3\n"


def test_pytest_by_itself_runs_the_same_folders():
    settings = (ROOT / "pyproject.toml").read_text()
    (patterns,) = re.findall(r"^testpaths = \[(.*)\]", settings, re.MULTILINE)
    results = {
        path.resolve() for pattern in json.loads(f"[{patterns}]") for path in ROOT.glob(pattern)
    }
    assert results == set(command.test_folders(ROOT, []))
    assert ROOT / "test" in results


def test_every_test_file_is_in_such_a_folder():
    made = {"build", "install", "log", "results"}
    parts = [path for path in ROOT.iterdir() if path.is_dir() and path.name not in made]
    parts = [path for path in parts if not path.name.startswith(".")]
    files = [file for path in parts for file in path.rglob("test_*.py")]
    folders = command.test_folders(ROOT, [])
    assert Path(__file__).resolve() in files
    assert [file for file in files if not {*file.parents} & {*folders}] == []


def test_a_message_field_of_the_wrong_type_is_an_error():
    messages = pytest.importorskip("std_msgs.msg")
    with pytest.raises(AssertionError):
        messages.Float64(data=1)


def test_a_test_of_a_graph_has_the_checkout_to_itself(domain):
    with open(ROOT / "conftest.py") as checkout, pytest.raises(BlockingIOError):
        fcntl.flock(checkout, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.full_speed
def test_one_at_full_speed_gives_way_to_it(domain):
    assert os.nice(0) >= 3


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("def test_a():\n    assert True\n", 0),
        (FAILING, 1),
        pytest.param(
            "import os\n\n\ndef test_a():\n    assert True\n",
            1,
            marks=pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed"),
            id="an unused import",
        ),
    ],
)
def test_the_status_is_that_of_the_tests_and_of_the_style(checkout, monkeypatch, text, status):
    (checkout / "a" / "test" / "test_a.py").write_text(text)
    monkeypatch.setenv("DIFFBOT_ROOT", str(checkout))
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
    assert command.main(["a", "--", "-q", "-n0", "-p", "no:cacheprovider"]) == status
    assert Path(checkout / "a").exists()


def test_types_that_do_not_fit_are_told_after_the_tests(checkout, monkeypatch, capfd):
    programs = checkout / ".programs"
    programs.mkdir()
    (programs / "mypy").write_text("#!/bin/sh\necho wrong types\nexit 1\n")
    (programs / "mypy").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DIFFBOT_ROOT", str(checkout))
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
    assert command.main(["--", "-q", "-n0", "-p", "no:cacheprovider"]) == 1
    said = capfd.readouterr().out
    assert said.index("1 passed") < said.index("diffbot test: mypy\nwrong types\n")
    assert command.main(["--no-types", "--", "-q", "-n0", "-p", "no:cacheprovider"]) == 0
    assert "mypy" not in capfd.readouterr().out


@pytest.mark.parametrize("words", [["--pdb"], ["-n", "4"], ["-n0"], ["-s"]])
def test_the_user_decides_on_processes_and_debuggers(words):
    assert command.worker_arguments(words) == []


def test_the_slowest_tests_are_listed_first(tmp_path):
    made = runpy.run_path(str(ROOT / "docs" / "slowest_tests.py"))
    case = "<testcase classname='test.a.test_{0}' name='test_it[{0}]@graph'><properties>"
    case += "<property name='work' value='{0}.25'/></properties></testcase>"
    cases = "".join(map(case.format, range(60)))
    (tmp_path / "tests.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    lines = made["section"](tmp_path / "tests.xml").splitlines()
    rows = [line for line in lines if "test_it" in line]
    assert len(rows) == 50 and rows[0] == "| 59.2 | `test_59` | `test_it[59]` |"
    assert "50 slowest of 60 tests take 1738 s of processor time, of 1785 s" in lines[1]


def test_examples_have_no_deadline():
    """Of wall time, which a busy machine would exceed."""
    assert hypothesis.settings().deadline is None


def test_a_file_stays_in_one_process_and_graphs_in_real_time_in_one(request):
    plugins = request.config.pluginmanager
    if not plugins.hasplugin("xdist"):
        pytest.skip("pytest-xdist is not installed")
    options = {"dist": "loadgroup", "tx": ["popen"] * 3}
    config = SimpleNamespace(getvalue=options.get, option=SimpleNamespace())
    make = plugins.get_plugin(str(ROOT / "conftest.py")).pytest_xdist_make_scheduler
    scope = make(config, Mock())._split_scope
    assert scope("a/test_a.py::test_a[b::c]") == scope("a/test_a.py::Sub::test_b") == "a/test_a.py"
    assert scope("a/test_a.py::test_c@graph") == scope("b/test_b.py::test_d[x]@graph") == "graph"
    options["dist"] = "load"
    assert make(config, Mock()) is None


def test_for_a_marker_only_files_with_such_tests_are_imported(request, tmp_path):
    plugin = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    texts = {
        "test_a.py": "MARK = '@pytest.mark.kernels'\n",
        "test_b.py": "@pytest.mark.kernels\ndef test_a(): ...\n",
        "test_c.py": "def test_a(tmp_path, domain): ...\n",
    }

    def imported(expression):
        config = SimpleNamespace(option=SimpleNamespace(markexpr=expression))
        paths = [tmp_path / name for name in texts]
        return [path.name for path in paths if not plugin.pytest_ignore_collect(path, config)]

    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert imported("kernels") == ["test_b.py"]
    assert imported("graph and not gazebo") == ["test_c.py"]
    for expression in ("", "numeric", "graph or kernels", "not graph"):
        assert imported(expression) == list(texts), expression
    graphs = {each.path for each in request.session.items if each.get_closest_marker("graph")}
    assert [path for path in graphs if "domain" not in path.read_text()] == []


def test_one_processor_has_one_process_of_tests(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert command.worker_arguments([]) == []
