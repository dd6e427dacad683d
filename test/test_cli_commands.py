"""The table of commands, and `diffbot test`."""

import os
from pathlib import Path

import pytest

from diffbot_bringup import cli
from diffbot_bringup.commands import test as command


def test_every_command_has_a_summary_of_one_line():
    for entry in cli.COMMANDS.values():
        assert entry.summary() and "\n" not in entry.summary()


def test_an_unknown_command_lists_the_others(capsys):
    assert cli.main(["lanch"]) == 2
    assert "launch, run, echo, identify, reproduce, faults, test" in capsys.readouterr().err


def test_packages_and_pytest_arguments_are_told_apart():
    assert command.split(["a", "b"]) == (["a", "b"], [])
    assert command.split(["a", "--", "-k", "x", "--"]) == (["a"], ["-k", "x", "--"])
    assert command.split(["--", "-x"]) == ([], ["-x"])


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
    assert command.test_folders(checkout, []) == [top, own]
    assert command.test_folders(checkout, ["b"]) == [top]
    assert command.test_folders(checkout, ["c"]) == []


FAILING = "import os\n\n\ndef test_a():\n    assert os.environ['ROS_PYTHON_CHECK_FIELDS'] != '1'\n"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("def test_a():\n    assert True\n", 0),
        (FAILING, 1),
        ("import os\n\n\ndef test_a():\n    assert True\n", 1),  # ruff: unused import
    ],
)
def test_the_status_is_that_of_the_tests_and_of_the_style(checkout, monkeypatch, text, status):
    (checkout / "a" / "test" / "test_a.py").write_text(text)
    monkeypatch.setenv("DIFFBOT_ROOT", str(checkout))
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
    assert command.main(["a", "--", "-q", "-n0", "-p", "no:cacheprovider"]) == status
    assert Path(checkout / "a").exists()


@pytest.mark.parametrize("words", [["--pdb"], ["-n", "4"], ["-n0"], ["-s"]])
def test_the_user_decides_on_processes_and_debuggers(words):
    assert command.worker_arguments(words) == []
