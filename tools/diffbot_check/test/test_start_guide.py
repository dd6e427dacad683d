# SPDX-License-Identifier: Apache-2.0
"""The guide leads through its steps, refuses what comes too early, and continues where it was."""

import contextlib
import io
import json

import pytest

from diffbot_check import start_command
from diffbot_check.start_guide import StartGuide, StartStep, StepOutcome
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.loading import save_robot

VERIFIED = {"/**": {"ros__parameters": {"verification": {"state": "verified"}}}}


def with_robot(folder, name="twil"):
    guide = StartGuide(folder)
    save_robot(load_robot(name), guide.robot_file)
    guide.described(load_robot(guide.robot_file))
    return guide


def test_what_comes_too_early_is_refused_with_what_comes_first(tmp_path):
    guide = StartGuide(tmp_path)
    refused = {step: guide.refusal(step) for step in StartStep}
    assert not refused[StartStep.CONNECT] and not refused[StartStep.DESCRIBE]
    assert "describe comes first" in refused[StartStep.CHECK]
    guide = with_robot(tmp_path)
    assert not guide.refusal(StartStep.MOVING)
    assert "room comes first" in guide.refusal(StartStep.IDENTIFY)
    guide.measured("3x2")
    assert not guide.refusal(StartStep.IDENTIFY)
    assert "identify comes first" in guide.refusal(StartStep.EXPORT)


def test_the_commands_are_those_of_the_suite_with_what_is_known(tmp_path):
    guide = with_robot(tmp_path)
    guide.measured("3x2")
    words = guide.command(StartStep.IDENTIFY)
    assert words[:3] == ["launch", "ident", "sim:=none"] and "arena:=3x2" in words
    assert "arena:=2" in guide.command(StartStep.CALIBRATE)  # a square
    assert words[-1] == f"results:={tmp_path / 'identify-1'}"
    (tmp_path / "identify-1").mkdir()
    guide.begun(StartStep.IDENTIFY)
    guide.ended(StartStep.IDENTIFY, 0, words, tmp_path / "identify-1")
    assert "not verified" in guide.refusal(StartStep.DRIVE)
    file = tmp_path / "identify-1" / "dynamic_parameters.yaml"
    file.write_text(json.dumps(VERIFIED))
    assert not guide.refusal(StartStep.DRIVE)
    assert f"parameters:={file}" in guide.command(StartStep.DRIVE)
    assert guide.results_of(StartStep.IDENTIFY) == tmp_path / "identify-2"
    assert guide.command(StartStep.EXPORT)[-2:] == ["--output", str(tmp_path / "export")]
    (tmp_path / "calibrate-1").mkdir()
    guide.ended(StartStep.CALIBRATE, 0, [], tmp_path / "calibrate-1")
    folders = [str(tmp_path / "identify-1"), str(tmp_path / "calibrate-1")]
    assert guide.command(StartStep.EXPORT)[1:3] == folders
    assert guide.to_apply == ""
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "ros2_control.yaml").touch()
    assert guide.to_apply.endswith(f"apply {tmp_path / 'export' / 'ros2_control.yaml'}")
    assert (tmp_path / "commands.txt").read_text().splitlines()[1].endswith(words[-1])


def test_a_velocity_robot_gets_the_twist_that_check_has_seen(tmp_path):
    guide = with_robot(tmp_path, "turtlebot2")
    guide.measured("3x3")
    (tmp_path / "identify-1").mkdir()
    guide.ended(StartStep.IDENTIFY, 0, [], tmp_path / "identify-1")
    assert "stamped:=false" not in guide.command(StartStep.DRIVE)
    (tmp_path / "check.json").write_text(json.dumps({"cmd_vel": ["geometry_msgs/msg/Twist"]}))
    words = guide.command(StartStep.DRIVE)
    assert "stamped:=false" in words and "velocity_parameters.yaml" in " ".join(words)


def test_leaving_and_coming_back_continues(tmp_path):
    guide = with_robot(tmp_path)
    guide.ended(StartStep.CONNECT, 0, ["check"], tmp_path / "none")
    guide.ended(StartStep.DESCRIBE, 0, [], tmp_path / "none")
    guide.ended(StartStep.CHECK, 1, ["check"], tmp_path / "none")
    again = StartGuide(tmp_path)
    assert again.state == guide.state and again.state.kind is CommandKind.EFFORT
    assert again.state.next_step is StartStep.CHECK
    assert again.state.outcome(StartStep.CHECK) is StepOutcome.FAILED
    again.skipped(StartStep.CHECK)
    assert again.state.next_step is StartStep.MOVING
    again.reopened(StartStep.CONNECT)
    assert again.state.next_step is StartStep.CONNECT


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "kind": "x", "lines": []}']
)
def test_a_state_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / "start.json").write_text(text)
    with pytest.raises(ValueError, match=r"start.json cannot be read .*remove it"):
        StartGuide(tmp_path)


def led(monkeypatch, folder, answers, status=lambda words: 0):
    """Exit status and commands of the terminal guide with these answers."""
    ran = []

    def run(self, words):
        ran.append(words)
        return status(words)

    monkeypatch.setattr(start_command.TerminalGuide, "_run", run)
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{each}\n" for each in answers)))
    return start_command.main([str(folder)], "start", lambda name: contextlib.nullcontext()), ran


def test_the_terminal_leads_repeats_skips_and_goes_back(monkeypatch, tmp_path, capsys):
    answers = ["", "twil", "", "", "s", "b", "what", "s", "3 by 3", "3x3"]

    def status(words):
        checks.append(words)
        return int("--moving" not in words and len(checks) == 2)  # the first check of the file

    checks = []
    left, ran = led(monkeypatch, tmp_path, answers, status)
    said = capsys.readouterr().out
    assert left == 1 and "Left at 'identify'" in said
    assert [words[0] for words in ran] == ["check"] * 3
    assert "Do what stands below each fault" in said and "3 by 3" in said
    assert "'what' is none of the choices" in said
    assert StartGuide(tmp_path).state.arena == "3x3"
    left, ran = led(monkeypatch, tmp_path, ["q"])
    assert left == 1 and not ran
    left, ran = led(monkeypatch, tmp_path, ["s", "s", "s", "s"])
    assert left == 0 and "All steps are done" in capsys.readouterr().out


@pytest.mark.parametrize("yes", [False, True])
def test_ctrl_c_ends_a_rehearsal_without_questions(monkeypatch, tmp_path, yes):
    """With questions it ends the step only, and the guide asks what next."""

    class Interrupted:
        returncode = None

        def __init__(self, *arguments, **named):
            pass

        def poll(self):
            return self.returncode

        def wait(self):
            self.returncode = 130
            raise KeyboardInterrupt

    monkeypatch.setattr(start_command.subprocess, "Popen", Interrupted)
    guide = start_command.TerminalGuide(StartGuide(tmp_path), None, yes)
    if yes:
        with pytest.raises(KeyboardInterrupt):
            guide._run(["check"])
    else:
        assert guide._run(["check"]) == 130


def test_a_folder_may_have_any_name(monkeypatch, tmp_path, capsys):
    """Neither markup of Rich nor escape sequences in it act."""
    folder = tmp_path / "a[" / "b]\x1b[2J"
    folder.mkdir(parents=True)
    left, _ = led(monkeypatch, folder, ["q"])
    said = capsys.readouterr().out
    assert left == 1 and r"a[/b]\x1b[2J" in said and "\x1b" not in said


def test_rehearsal_options_need_a_rehearsal(capsys):
    with pytest.raises(SystemExit):
        start_command.main(["--fault", "swapped"], "start", lambda name: None)
    assert "need --rehearse" in capsys.readouterr().err
