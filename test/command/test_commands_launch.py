# SPDX-License-Identifier: Apache-2.0
"""``diffbot launch``: names, lists, wrong arguments, exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from launched import wait_for

from diffbot_bringup import cli, domains


def main(words: list[str]) -> int:
    return cli.main(["launch", *words])


@pytest.fixture
def suite(prefix: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A prefix with the launch files ident (diffbot_bringup) and view (diffbot_description)."""
    prefix.report = tmp_path / "report.json"
    body = f"import json, sys\njson.dump(sys.argv[1:], open({str(prefix.report)!r}, 'w'))\n"
    prefix.executable("node", body)
    for package, name, text in (
        (
            "diffbot_bringup",
            "ident",
            "<!-- Copyright somebody -->\n<!--\n  Identify a robot.\n  More. -->\n"
            "<arg name='robot' default='twil'><choice value='twil'/><choice value='agv'/></arg>"
            "<node pkg='robots' exec='node' args='$(var robot)'/>",
        ),
        ("diffbot_description", "view", "<!-- Show a robot. --><arg name='needed'/>"),
    ):
        folder = prefix.package(package) / "launch"
        folder.mkdir()
        (folder / f"{name}.launch.xml").write_text(f"<launch>{text}</launch>")
    monkeypatch.chdir(tmp_path)
    return prefix


def test_without_a_name_the_launch_files_are_listed(
    suite: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines == ["  ident  Identify a robot.", "  view   Show a robot."]


@pytest.mark.parametrize("name", ["ident", "ident.launch.xml", "path", "diffbot_bringup"])
def test_a_name_or_a_path_runs(suite: Any, name: str) -> None:
    if name == "path":
        name = str(suite.path / "share/diffbot_bringup/launch/ident.launch.xml")
    file = ["ident.launch.xml"] if name == "diffbot_bringup" else []
    assert main([name, *file, "robot:=agv"]) == 0
    assert json.loads(suite.report.read_text()) == ["agv", "--ros-args"]


def test_a_file_of_the_current_folder_runs(suite: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.launch.xml").write_text("<launch/>")
    assert main(["mine.launch.xml"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["idnt"],
            "unknown launch file 'idnt'; did you mean 'ident'?; the launch files are: ident",
        ),
        (["./no.xml"], "no.xml does not exist"),
        (["ident", "robt:=agv"], "unknown argument 'robt'; did you mean 'robot'?"),
        (["ident", "robot:=r2d2"], "argument 'robot' is 'r2d2', not one of twil, agv"),
        (["ident", "robot=agv"], "'robot=agv' is not of the form NAME:=VALUE"),
        (["view"], "required argument(s) not given: 'needed'"),
        (["view", "neded:=1"], "unknown argument 'neded'; did you mean 'needed'?"),
    ],
)
def test_wrong_arguments_exit_with_2_and_start_nothing(
    suite: Any, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not suite.report.exists()


def test_unknown_option_exits_with_2(suite: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ident", "--nope"]) == 2
    assert "unrecognized arguments: --nope" in capsys.readouterr().err


def test_show_args(suite: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ident", "--show-args"]) == 0
    out = capsys.readouterr().out
    assert "    'robot':\n        One of: ['twil', 'agv']\n        (default: 'twil')\n" in out
    assert main(["view", "-s"]) == 0  # needs no value for that
    assert not suite.report.exists()


def test_print_shows_the_processes_and_runs_none(
    suite: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--print", "ident", "robot:=agv"]) == 0
    expected = f"[node-1] {suite.path}/lib/robots/node agv --ros-args\n"
    assert capsys.readouterr().out == expected
    assert not suite.report.exists()


def test_a_failed_process_exits_with_1(suite: Any, tmp_path: Path) -> None:
    suite.executable("bad", "import sys; sys.exit(3)")
    text = "<launch><node pkg='robots' exec='bad'/></launch>"
    (tmp_path / "bad.launch.xml").write_text(text)
    assert main(["bad.launch.xml"]) == 1


def test_without_a_sourced_workspace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert main(["ident"]) == 2
    assert "is the workspace sourced?" in capsys.readouterr().err


# A simulator writes its domain, and what the launch file has read of it.
SAY_DOMAIN = """
import json, os, sys
json.dump([os.environ.get("ROS_DOMAIN_ID"), sys.argv[1]], open({report!r}, "w"))
"""


@pytest.fixture
def simulated(suite: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A launch file with a simulator, unless sim:=none, and no domain that a user has chosen."""
    body = SAY_DOMAIN.format(report=str(suite.report))
    for package, name in (("diffbot_sim", "simulator"), ("diffbot_sim", "fault_injector")):
        suite.executable(name, body, package=package)
    suite.executable("robot", body)
    (tmp_path / "run.launch.xml").write_text(
        "<launch><arg name='sim' default='ideal'/><arg name='pkg' default='diffbot_sim'/>"
        "<arg name='exec' default='simulator'/><arg name='results' default='results/x'/>"
        "<let name='domain' value=\"$(env ROS_DOMAIN_ID '')\"/>"
        "<node pkg='$(var pkg)' exec='$(var exec)' args='-$(var domain)'/></launch>"
    )
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID")
    monkeypatch.delenv("ROS_SECURITY_ENABLE", raising=False)
    return suite


def test_a_run_with_a_simulator_has_a_domain_of_its_own_and_says_which(
    simulated: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run.launch.xml"]) == 0
    domain, seen = json.loads(simulated.report.read_text())
    assert int(domain) in domains.DOMAINS and seen == f"-{domain}"
    first = capfd.readouterr().err.splitlines()[0]
    assert first == f"[INFO] [launch]: domain {domain} (own; ROS_DOMAIN_ID={domain} joins it)"
    assert domains.runs() == []
    assert "ROS_DOMAIN_ID" not in os.environ


@pytest.mark.parametrize(
    "arguments",
    [
        ["sim:=none", "pkg:=robots", "exec:=robot"],
        ["pkg:=robots", "exec:=robot"],
        ["exec:=fault_injector"],
    ],
    ids=["none", "no simulator", "fault injector"],
)
def test_a_run_without_a_simulator_stays_where_it_is(
    simulated: Any, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run.launch.xml", *arguments]) == 0
    assert json.loads(simulated.report.read_text()) == [None, "-"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [("ROS_DOMAIN_ID", "0", "0"), ("ROS_SECURITY_ENABLE", "true", None)],
)
def test_a_chosen_domain_and_a_secured_graph_stay_where_they_are(
    simulated: Any, variable: str, value: str, expected: str | None, monkeypatch: Any
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["run.launch.xml"]) == 0
    assert json.loads(simulated.report.read_text())[0] == expected


def test_a_second_simulator_in_a_chosen_domain_is_refused(
    simulated: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    with domains.simulate(7, "ident", "/there"):
        assert main(["run.launch.xml"]) == 2
        refusal = capfd.readouterr().err
        assert refusal.startswith(
            "diffbot launch: another run simulates a robot in ROS_DOMAIN_ID=7 (domain 7: ident, "
        )
        assert not simulated.report.exists()
        assert main(["run.launch.xml", "--print"]) == 0
        assert main(["run.launch.xml", "exec:=fault_injector"]) == 0
    assert main(["run.launch.xml"]) == 0
    with domains.simulate(8, "ident", "/there"):
        assert main(["run.launch.xml"]) == 0
    assert domains.runs() == []


def test_a_domain_that_the_launch_file_sets_is_its_choice(
    simulated: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # Outside of domains.DOMAINS, so that it cannot be the run's own.
    text = (tmp_path / "run.launch.xml").read_text()
    chosen = text.replace("<let", "<set_env name='ROS_DOMAIN_ID' value='200'/><let")
    (tmp_path / "run.launch.xml").write_text(chosen)
    assert main(["run.launch.xml"]) == 0
    assert json.loads(simulated.report.read_text()) == ["200", "-200"]
    assert capfd.readouterr().err == ""


def test_runs_at_the_same_time_are_listed_with_their_results(
    simulated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []

    class Looker:
        def __init__(self, *_: object) -> None:
            pass

        def run(self) -> int:
            listed.extend(domains.runs())
            return main(["run.launch.xml", "sim:=none", "results:=y"]) if len(listed) == 1 else 0

    monkeypatch.setattr("diffbot_bringup.commands.launch.Supervisor", Looker)
    assert main(["run.launch.xml"]) == 0
    own, real, again = listed
    assert (real.domain, real.name, real.where) == (0, "run", str(tmp_path / "y"))
    assert own == again and own.domain in domains.DOMAINS
    assert own.where == str(tmp_path / "results" / "x")


def test_a_run_that_is_only_printed_takes_no_domain(
    simulated: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run.launch.xml", "--print"]) == 0
    assert capfd.readouterr().err == ""
    assert domains.runs() == []


def test_a_run_that_stays_says_which_simulations_it_will_not_meet(
    simulated: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with domains.claim("simulator", launch=True) as own, domains.claim("tests"):
        assert main(["run.launch.xml", "sim:=none", "pkg:=robots", "exec:=robot"]) == 0
    assert capfd.readouterr().err == (
        "[INFO] [launch]: domain 0; simulator is in another one: set "
        f"ROS_DOMAIN_ID={own.domain} to join it\n"
    )


OWNED = (
    "<launch><diffbot_run/><arg name='results'/><arg name='exec' default='node'/>"
    "<node pkg='robots' exec='$(var exec)'/></launch>"
)


@pytest.fixture
def owned(suite: Any, tmp_path: Path) -> Path:
    """A launch file that has results, and a folder for them."""
    (tmp_path / "own.launch.xml").write_text(OWNED)
    return tmp_path / "results"


def test_a_folder_of_results_is_refused_to_a_second_launch_before_it_begins(
    suite: Any, owned: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "diffbot_bringup.cli", "launch", "own.launch.xml"]
    assert subprocess.run([*command, f"results:={owned}"], check=False).returncode == 0
    (owned / "summary.json").write_text("{}")
    suite.report.unlink()
    capfd.readouterr()
    assert main(["own.launch.xml", f"results:={owned}"]) == 2
    said = capfd.readouterr().err
    assert f"argument 'results' = '{owned}' holds the results of the run (own) of 20" in said
    assert "give another folder" in said and not suite.report.exists()


@pytest.mark.parametrize(("code", "there"), [(3, False), (3, True), (0, False)])
def test_a_run_whose_report_left_no_summary_gets_one_that_says_so(
    suite: Any, owned: Path, code: int, there: bool
) -> None:
    suite.executable("fails", f"import sys; sys.exit({code})")
    owned.mkdir()
    assert main(["own.launch.xml", f"results:={owned}", "exec:=fails", "--dry-run"]) == 0
    assert list(owned.iterdir()) == []
    if there:  # by a node of this run, after the claim
        text = f"open({str(owned / 'summary.json')!r}, 'w').write('{{}}'); import sys; sys.exit(3)"
        suite.executable("fails", text)
    assert main(["own.launch.xml", f"results:={owned}", "exec:=fails"]) == (1 if code else 0)
    summary = owned / "summary.json"
    if there or not code:
        assert not summary.exists() or summary.read_text() == "{}"
        return
    none = json.loads(summary.read_text())
    assert (none["name"], none["outcome"], none["complete"]) == ("own", "failed", False)
    assert f"(exit code {code}); no node wrote a summary" in none["reason"] and none["missing"]


def test_several_launches_in_one_have_their_own_folders(suite: Any, tmp_path: Path) -> None:
    """Each included file names its launch; which folder is whose only the nodes know."""
    (tmp_path / "own.launch.xml").write_text(OWNED)
    includes = "".join(
        f"<include file='{tmp_path}/own.launch.xml'><arg name='results' value='{tmp_path}/{name}'/>"
        "</include>"
        for name in "ab"
    )
    (tmp_path / "both.launch.xml").write_text(f"<launch>{includes}</launch>")
    assert main(["both.launch.xml"]) == 0
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists()


# Takes its time after SIGINT: until a file is there, but not for ever.
SLOW = """
import os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: open({stopped!r}, "w").close())
signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))  # as the suite's executables do
print("ready", flush=True)
for _ in range(200):
    time.sleep(0.1)
    if os.path.exists({go!r}):
        sys.exit()
"""


def test_a_killed_runners_domain_is_free_only_when_its_last_process_has_gone(
    simulated: Any, tmp_path: Path
) -> None:
    stopped, go = tmp_path / "stopped", tmp_path / "go"
    body = SLOW.format(stopped=str(stopped), go=str(go))
    simulated.executable("simulator", body, package="diffbot_sim")
    text = (tmp_path / "run.launch.xml").read_text()
    (tmp_path / "run.launch.xml").write_text(text.replace("<node", "<node output='screen'"))
    command = [sys.executable, "-m", "diffbot_bringup.cli", "launch", "run.launch.xml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None and runner.stdout.readline() == "ready\n"
        runner.kill()
        assert runner.wait(timeout=15) == -9
        wait_for(stopped.exists)
        (run,) = domains.runs()
        assert run.pid == runner.pid
        go.touch()
        wait_for(lambda: not domains.runs())


@pytest.mark.parametrize("first", [True, False])
def test_another_projects_package_of_the_same_name_is_told(
    suite: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, first: bool
) -> None:
    paths = [suite.path, tmp_path / "theirs"]
    for path, maintainer in zip(paths, ("us", "them"), strict=True):
        for package in ("diffbot_node", "diffbot_description"):
            share = path / "share" / package
            share.mkdir(parents=True, exist_ok=True)
            (share / "package.xml").write_text(f"<p><maintainer>{maintainer}</maintainer></p>")
            index = path / "share" / "ament_index" / "resource_index" / "packages"
            index.mkdir(parents=True, exist_ok=True)
            if package == "diffbot_description" or maintainer == "us":
                (index / package).touch()
    order = paths[::-1] if first else paths
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(map(str, order)))
    file = str(suite.path / "share/diffbot_bringup/launch/ident.launch.xml")
    assert main([file]) == (2 if first else 0)
    said = capsys.readouterr().err
    assert ("hides that of this suite" in said) == first
    assert ("is hidden by that of this suite" in said) == (not first)
    assert suite.report.exists() != first
