# SPDX-License-Identifier: Apache-2.0
"""The script ./diffbot refuses what is wrong at once, and sets nothing up for it."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace.packages import check_arguments

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout, without an environment."""
    root = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "diffbot", root)
    shutil.copy(ROOT / "constraints-jazzy.txt", root)
    skip = shutil.ignore_patterns("__pycache__", "launch", "config", "test")
    shutil.copytree(ROOT / "diffbot_bringup", root / "diffbot_bringup", ignore=skip)
    shutil.copytree(ROOT / "diffbot_description", root / "diffbot_description", ignore=skip)
    launch = root / "diffbot_bringup" / "launch"
    launch.mkdir()
    (launch / "drive.launch.xml").write_text(
        '<launch><arg name="speed"/><group><arg name="robot" default="x"/></group></launch>'
    )
    inner = "$(find-pkg-share diffbot_bringup)/launch/drive.launch.xml"
    (launch / "both.launch.xml").write_text(f'<launch><include file="{inner}"/></launch>')
    return root


def run(checkout, *words, **variables):
    environment = {
        "PATH": "/nothing/here",  # so that a set-up would fail and not start
        "HOME": str(checkout),
        **variables,
    }
    return subprocess.run(
        [sys.executable, checkout / "diffbot", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("words", "lists"),
    [
        (
            ["lanch"],
            "export, apply, simulate, study, fleet, bench, reproduce, faults, test, python, "
            "complete, docs, setup",
        ),
        (["launch", "--print"], "both, drive"),
        (["launch", "driv"], "did you mean 'drive'?"),
        (["launch", "speed:=1"], "NAME is missing; the launch files are: both, drive"),
        (
            ["launch", "drive", "sped:=1"],
            "did you mean 'speed'?; the arguments are: robot, speed",
        ),
        (["launch", "both", "sped:=1"], "did you mean 'speed'?"),
        (["launch", "drive", "speed=1"], "'speed=1' is not of the form NAME:=VALUE"),
        (["test", "difbot_bringup"], "did you mean 'diffbot_bringup'?"),
        (["test", "nothing", "--", "-k", "x"], "known: diffbot_bringup"),
        (["run"], "diffbot_bringup"),
        (["run", "diffbot_simm", "x"], "known: diffbot_bringup"),
        (["echo", "--once"], "TOPIC is missing"),
        (["python"], "FILE is missing"),
        (["study", "no.yaml", "--output", "x"], "no.yaml: there is no such folder or file"),
        (["fleet", "no/*.csv"], "no/*.csv: there is no such folder or file"),
        (["setup", "now"], "unknown part 'now'; known: gazebo, study"),
        (["clean", "all"], "takes no arguments"),
    ],
)
def test_wrong_words_list_the_right_ones(checkout, words, lists):
    result = run(checkout, *words)
    assert result.returncode == 2
    assert lists in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (checkout / ".diffbot").exists()


def test_a_study_is_a_file_or_ready_made():
    check_arguments(ROOT, "study", ["encoders"], any_package=False)
    with pytest.raises(UsageError, match="no path matches it; ready-made: coverage, encoders, "):
        check_arguments(ROOT, "study", ["encoder"], any_package=False)
    with pytest.raises(UsageError, match="no path matches it$"):
        check_arguments(ROOT, "fleet", ["encoders"], any_package=False)


def test_without_a_name_launch_is_right_and_lists():
    check_arguments(ROOT, "launch", [], any_package=False)


def test_a_wrong_override_is_refused(checkout):
    result = run(checkout, "setup", DIFFBOT_ROS="conda")
    assert result.returncode == 2
    assert "jazzy, kilted, system or empty" in result.stderr


def test_help_lists_every_command_without_an_environment(checkout):
    result = run(checkout, "--help")
    assert result.returncode == 0
    for command in ("launch NAME", "run PACKAGE", "echo TOPIC", "test", "setup", "clean"):
        assert f"diffbot {command}" in result.stdout
    assert run(checkout).returncode == 2
    assert "PYTEST-ARGUMENTS" in run(checkout, "test", "--help").stdout
    assert not (checkout / ".diffbot").exists()


def test_a_missing_compiler_is_one_line_and_status_1(checkout):
    result = run(checkout, "launch", "drive", "speed:=1")
    assert result.returncode == 1
    assert "sudo apt install g++" in result.stderr.splitlines()[-1]
    assert run(checkout, "clean").returncode == 0
    assert not (checkout / ".diffbot").exists()


def test_bytecode_is_kept_where_sources_stay_clean(checkout):
    words = {"PYTHONDONTWRITEBYTECODE": "1"}
    for made in [*(checkout / "diffbot_bringup").rglob("__pycache__")]:  # by the tests before
        shutil.rmtree(made)
    run(checkout, "lanch", **words)
    assert not (checkout / ".diffbot").exists()
    (checkout / ".diffbot").mkdir()
    run(checkout, "lanch", **words)
    assert list((checkout / ".diffbot" / "bytecode").rglob("entry.*.pyc"))
    for folder in ("", "diffbot_bringup", "diffbot_bringup/workspace"):
        assert not (checkout / "diffbot_bringup" / folder / "__pycache__").exists()
    assert run(checkout, "clean", **words).returncode == 0
    assert not (checkout / ".diffbot").exists()


@pytest.mark.parametrize("module", ["workspace/entry", "xml_launch/document"])
def test_a_compiled_module_that_a_full_disk_cut_off_is_compiled_anew(checkout, module):
    words = {"PYTHONDONTWRITEBYTECODE": "1"}
    (checkout / ".diffbot").mkdir()
    right = run(checkout, "launch", "driv", **words)
    bytecode = checkout / ".diffbot" / "bytecode"
    name = f"{module.rpartition('/')[2]}.*.pyc"
    (compiled,) = [file for file in bytecode.rglob(name) if module in str(file)]
    whole = compiled.read_bytes()
    for length in (17, len(whole) // 2):
        os.truncate(compiled, length)
        again = run(checkout, "launch", "driv", **words)
        assert (again.returncode, again.stderr) == (2, right.stderr)
        run(checkout, "lanch", **words)
        assert compiled.read_bytes() == whole
    shutil.rmtree(checkout / ".diffbot")


@pytest.mark.parametrize("command", ["lanch\x9b2J", "clean", "launch", "test", "setup", "run"])
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(checkout, command):
    word = "--\x9b2Jred\u202e\x1b[2J"
    result = run(checkout, command, word, PYTHONUTF8="1")
    assert result.returncode == 2 and "2Jred" in result.stderr or command.startswith("lanch")
    assert not {"\x9b", "\u202e", "\x1b"} & {*result.stderr}


def test_a_checkout_that_cannot_be_written_is_a_sentence(checkout):
    (checkout / ".diffbot").write_text("")
    result = run(checkout, "launch", "drive", "speed:=1")
    (checkout / ".diffbot").unlink()
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert f"{checkout / '.diffbot'}" in result.stderr and "Traceback" not in result.stderr


def work():
    """Processor time of all processes that have ended, s: other programs do not count."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_a_refusal_takes_no_time(checkout):
    start = work()
    run(checkout, "lanch")
    assert work() - start < 2


@pytest.mark.skipif("DIFFBOT_ROOT" not in os.environ, reason="needs the environment of ./diffbot")
def test_a_second_start_takes_less_than_2_s():
    start = work()
    result = subprocess.run([ROOT / "diffbot", "launch", "ident", "--show-args"], check=False)
    assert result.returncode == 0
    assert work() - start < 2


@pytest.mark.parametrize("module", ["sitecustomize", "signal"])
def test_ctrl_c_while_python_loads_its_packages_leaves_no_traceback(checkout, tmp_path, module):
    (tmp_path / f"{module}.py").write_text("import posix\nposix.kill(posix.getpid(), 2)\n")
    done = subprocess.run(
        [checkout / "diffbot", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_a_command_tidily(name, tmp_path):
    """Before, SIGTERM and SIGHUP left what Ctrl-C removes, and half of what `apply` had set."""
    program = (
        "import contextlib, os, pathlib, runpy, signal, sys, time\n"
        "from diffbot_bringup.commands import delegated\n"
        "def identify(argv):\n"
        "    with contextlib.ExitStack() as stack:\n"
        "        stack.callback(pathlib.Path(argv[0]).touch)\n"
        f"        os.kill(os.getpid(), signal.{name})\n"
        "        time.sleep(60.0)\n"
        "delegated.identify = identify\n"
        f"signal.signal(signal.{name}, signal.SIG_DFL)  # what started the tests may ignore it\n"
        "runpy.run_module('diffbot_bringup.cli', run_name='__main__')\n"
    )
    tidied = tmp_path / "tidied"
    words = [sys.executable, "-c", program, "identify", str(tidied)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 128 + signal.SIGINT and ended.stderr == "", ended
    assert tidied.exists()
