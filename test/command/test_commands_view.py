# SPDX-License-Identifier: Apache-2.0
"""`diffbot view` beside a run, and of a recording: what its words mean, and what it becomes."""

import os

import pytest

pytest.importorskip("ament_index_python")

from diffbot_bringup import domains, live_view


@pytest.fixture
def bag(tmp_path):
    folder = tmp_path / "recording"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("")
    return folder


def test_recordings_and_no_results_are_its_words(bag, tmp_path):
    for words in ([], ["--port", "0"], [str(bag)], ["run.mcap"], ["--robot", "agv", "a.db3"]):
        assert live_view.takes(words), words
    for words in ([str(tmp_path)], [str(bag), "other"], ["--output", "x"], ["--help"]):
        assert not live_view.takes(words), words


@pytest.fixture
def became(monkeypatch):
    """Which program it has become."""
    found = []
    monkeypatch.setattr(live_view, "find_executable", lambda *names: "/".join(names))
    monkeypatch.setattr(os, "execv", lambda program, words: found.append((program, words)))
    return found


def test_it_becomes_the_node_in_the_domain_of_the_run(became, monkeypatch, capsys):
    monkeypatch.setenv(domains.VARIABLE, "")
    run = domains.DomainRun(42, "ident", os.getpid(), 0.0, "here", True)
    monkeypatch.setattr(domains, "runs", lambda: [run])
    live_view.main(["--port", "0", "--address", "0.0.0.0"])
    ((program, words),) = became
    assert program == "diffbot_view/live_view" and os.environ[domains.VARIABLE] == "42"
    assert "port:=0" in words and "address:=0.0.0.0" in words
    assert "leave_when_alone:=false" in words and not any("robot" in word for word in words)
    assert "in domain 42 of the run ident" in capsys.readouterr().err


def test_of_several_runs_it_lists_them(became, monkeypatch, capsys):
    monkeypatch.setenv(domains.VARIABLE, "")
    runs = [domains.DomainRun(n, f"run {n}", 1, 0.0, "here", True) for n in (3, 4)]
    monkeypatch.setattr(domains, "runs", lambda: runs)
    assert live_view.main([]) == 2 and not became
    said = capsys.readouterr().err
    assert "run 3" in said and "run 4" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no/such.mcap"], "no/such.mcap"),
        (["--address", "robot", "no.mcap"], "must be an IP address"),
        (["--port", "x"], "invalid int"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(words, said, capsys):
    pytest.importorskip("rosbags")
    assert live_view.main(words) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err


def test_the_help_tells_of_both(capsys):
    assert live_view.main(["--help"]) == 0
    assert "recording" in capsys.readouterr().out.lower()
