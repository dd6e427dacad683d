# SPDX-License-Identifier: Apache-2.0
"""`diffbot view` beside a run, and of a recording: what its words mean, and what it becomes."""

import os

import pytest

pytest.importorskip("ament_index_python")

from diffbot_bringup import cli, domains
from diffbot_bringup.commands import view


def main(words):
    return cli.main(["view", *words])


@pytest.fixture
def bag(tmp_path):
    folder = tmp_path / "recording"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("")
    return folder


def test_runs_recordings_and_results_are_told_apart(bag, tmp_path, monkeypatch, capsys):
    shown = []
    for name in ("_live", "_play", "_results"):
        monkeypatch.setattr(view, name, lambda *_, name=name: shown.append(name) or 0)
    for words, expected in (
        ([], "_live"),
        (["--port", "0"], "_live"),
        ([str(bag)], "_play"),
        (["run.mcap"], "_play"),
        (["--robot", "agv", "a.db3"], "_play"),
        ([str(tmp_path)], "_results"),
        ([str(bag), "other"], "_results"),
        (["one", "--output", "x", "other"], "_results"),
    ):
        assert (main(words), shown.pop()) == (0, expected), words
    # An option of the one is refused for the other.
    for words, option in (
        (["--output", "x"], "--output"),
        ([str(tmp_path), "--port", "0"], "--port"),
    ):
        assert main(words) == 2 and not shown
        assert f"unrecognized arguments: {option}" in capsys.readouterr().err


@pytest.fixture
def became(monkeypatch):
    """Which program it has become."""
    results = []
    monkeypatch.setattr(
        "diffbot_bringup.xml_launch.resolver.find_executable", lambda *names: "/".join(names)
    )

    def become(program, words):
        results.append((program, words))
        raise SystemExit(0)  # as it does not return

    monkeypatch.setattr(os, "execv", become)
    return results


def test_it_becomes_the_node_in_the_domain_of_the_run(became, monkeypatch, capsys):
    monkeypatch.setenv(domains.VARIABLE, "")
    run = domains.DomainRun(42, "ident", os.getpid(), 0.0, "here", True)
    monkeypatch.setattr(domains, "runs", lambda: [run])
    main(["--port", "0", "--address", "0.0.0.0"])
    ((program, words),) = became
    assert program == "diffbot_view/live_view" and os.environ[domains.VARIABLE] == "42"
    assert "port:=0" in words and "address:=0.0.0.0" in words
    assert "leave_when_alone:=false" in words and not any("robot" in word for word in words)
    assert "in domain 42 of the run ident" in capsys.readouterr().err


def test_of_several_runs_it_lists_them(became, monkeypatch, capsys):
    monkeypatch.setenv(domains.VARIABLE, "")
    runs = [domains.DomainRun(n, f"run {n}", 1, 0.0, "here", True) for n in (3, 4)]
    monkeypatch.setattr(domains, "runs", lambda: runs)
    assert main([]) == 2 and not became
    said = capsys.readouterr().err
    assert "run 3" in said and "run 4" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no/such.mcap"], "no/such.mcap"),
        (["a" * 5000], "there is no such folder"),
        (["--address", "robot", "no.mcap"], "must be an IP address"),
        (["--port", "x"], "invalid int"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(words, said, capsys):
    pytest.importorskip("rosbags")
    assert main(words) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err


def test_the_help_tells_of_both(capsys):
    assert main(["--help"]) == 0
    assert "recording" in capsys.readouterr().out.lower()
