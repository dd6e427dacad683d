# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a launch's arguments is said in one sentence, before anything is set up."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from diffbot_bringup import cli
from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace.packages import check_arguments
from diffbot_bringup.xml_launch.arguments import Arguments
from diffbot_bringup.xml_launch.document import read
from diffbot_bringup.xml_launch.processes import ProcessDescription
from diffbot_bringup.xml_launch.room import check_room


def main(words: list[str]) -> int:
    return cli.main(["launch", *words])


ROOT = Path(__file__).resolve().parents[2]
FILES = {
    path.name.removesuffix(".launch.xml"): path
    for path in sorted(ROOT.glob("*/launch/*.launch.xml"))
}
# Any text will do: folders, and files to be made.
FREE = {
    "results",
    "last_good",
}


def check(name, *words):
    check_arguments(ROOT, "launch", [name, *words], any_package=False)


def refusal(name, *words):
    with pytest.raises(UsageError) as error:
        check(name, *words)
    text = str(error.value)
    assert "\n" not in text
    return text


def own_arguments(name):
    return [argument.name for argument in Arguments.of(read(FILES[name]).root).declared]


def test_all_launch_files_are_here_and_a_person_reads_their_arguments():
    assert len(FILES) == 13
    numbers = [len(own_arguments(name)) for name in FILES]
    assert sum(numbers) > 130 and max(numbers) <= 20


RECORDING = [(name, "true") for name in FILES if "record" in own_arguments(name)]


@pytest.mark.parametrize(("name", "imu"), [*RECORDING, ("ident", "False"), ("ident", "1")])
def test_each_run_that_can_be_recorded_can_be_resolved(name, imu, capsys):
    pytest.importorskip("ament_index_python")
    words = [f"imu:={imu}"] if "imu" in own_arguments(name) else []
    assert main(["--print", str(FILES[name]), "record:=mcap", "view:=true", *words]) == 0
    # A path with spaces is in quotes.
    (line,) = (t for t in capsys.readouterr().out.splitlines() if re.search(r"/recorder'? ", t))
    # The recorder knows the types of all topics: with imu:=true it ended at once.
    recorder = pytest.importorskip("diffbot_recordings.recorder_node")
    (topics,) = re.findall(r" topics: '?([^'>]+)", line)
    if name == "ident":
        assert ("imu/data" in topics) == (imu != "False")
    for topic in topics.split():
        recorder._topic_and_type(topic)


@pytest.mark.parametrize("name", FILES)
def test_each_argument_takes_its_default_and_refuses_by_its_name_what_cannot_be(name):
    for index, argument in enumerate(Arguments.of(read(FILES[name]).root).declared):
        own, default = argument.name, argument.default
        if index == 0:
            wrong = own[:-1] + "_" + own[-1]
            text = refusal(name, f"{wrong}:=1")
            assert text.startswith(f"unknown argument '{wrong}'; did you mean '{own}'?")
        if default and "$(" not in default:
            check(name, f"{own}:={default}")
        if own not in FREE:
            assert refusal(name, f"{own}:=no such thing").startswith(
                f"argument '{own}' is 'no such thing', n"  # not ..., neither ... nor
            )


@pytest.mark.parametrize(
    ("name", "word", "sentence"),
    [
        (
            "ident",
            "duration:=abc",
            "'abc', not a number such as 2, 0.5 or 1.0e-3 (longest robot time ",
        ),
        ("ident", "duration:=1e3", "'1e3', not a number such as 2, 0.5 or 1.0e-3"),  # as YAML
        ("backstepping", "laps:=x", "'x', not a whole number (laps of a closed trajectory"),
        ("backstepping", "laps:=1.5", "'1.5', not a whole number"),
        ("adaptive", "payload_time:=soon", "'soon', not a number"),
        ("adaptive", "payload:=heavy", "'heavy', neither none, a share such as 50%, nor four "),
        ("siwek", "sigma:=1,2,3", "'1,2,3', not 4 numbers with commas between them"),
        ("pose", "start:=0,2", "'0,2', not three numbers such as 1.0,-0.5,pi/2"),
        ("pose", "goal:=none", "'none', not three numbers"),
        ("pose", "goal:=1,0,pi/0", "'1,0,pi/0', not three numbers"),
        ("pose", "goal:=1,0,90", "heading is beyond 2 pi rad: 90 degrees would be 90*pi/180"),
        ("linearizing", "times:=[0, x]", "'[0, x]', not a list of numbers such as [1.0, 2.5]"),
        ("linearizing", "times:=[0, 1", "'[0, 1', not a list of numbers such as [1.0, 2.5]"),
        (
            "ident",
            "duration:=-5",
            "argument 'duration' is '-5', below 0 (longest robot time of the ",
        ),
        ("calibrate", "arena:=-0.5", "argument 'arena' is '-0.5', below 0 (side of the free "),
        (
            "ident",
            "until:=K5",
            "'K5', no precision: '' after K5 must be a number > 0, in %; for example",
        ),
        (
            "ident",
            "until:=K5 5",
            "'K5 5', no precision: K5 5 must have the unit %: write K5 5%; for",
        ),
        ("ident", "until:=K5 0%", "no precision: '0' after K5 must be a number > 0, in %; for "),
        ("ident", "until:=K5 5% k5 6%", "'k5' must be one of K5, K6, K7, K8, each once; for "),
        ("ident", "arena:=x", "'x', not length x width such as 3x3, both above 0"),
        ("ident", f"seed:={2**63}", "beyond the largest whole number of a parameter, 922337203685"),
        ("ident", f"seed:={'9' * 5000}", "beyond the largest whole number of a parameter, 9223372"),
        ("siwek", "cmd_vel:=a//b", "'a//b', not a topic's name such as odom or /robot/odom: "),
        ("calibrate", "imu_topic:=imu data", "'imu data', not a topic's name such as odom or "),
        ("ident", "results:=a\x1b[2Jb", "a folder whose name has characters that a terminal "),
        ("ident", "results:=a\u202egnp", "a folder whose name has characters that a terminal "),
        ("ident", "arena:=3", "'3', not length x width such as 3x3"),
        ("ident", "arena:=-3x3", "'-3x3', not length x width such as 3x3, both above 0"),
        ("ident", f"results:={__file__}", f"a folder that cannot be created: {__file__} is a file"),
        (
            "pose",
            f"results:={__file__}/a",
            f"a folder that cannot be created: {__file__} is a file",
        ),
        (
            "pose",
            "robot:=twill",
            "nor a robot's YAML, URDF or xacro file that exists; did you mean 'twil'?",
        ),
        ("pose", "robot:=no/such.yaml", "'no/such.yaml', neither agv, "),
        ("pose", "parameters:=no.yaml", "neither robot, topic, adaptive nor a file that exists"),
        ("siwek", "parameters:=robot", "neither sigma nor a file that exists"),
        ("ident", "sim:=mujocoo", "gazebo_ros, velocity, none; did you mean 'mujoco'?"),
        (
            "backstepping",
            "gui:=ture",
            "not one of true, True, TRUE, 1, false, False, FALSE, 0; did you ",
        ),
        ("ident", "view:=yes", "'yes', not one of true, True, TRUE, 1, false"),  # as YAML
        ("ident", "view:=tRUE", "'tRUE', not one of true, True, TRUE, 1, false"),
        ("ident", "seed=1", "'seed=1' is not of the form NAME:=VALUE"),
        ("ident", "seed:=", "'seed:=' is not of the form NAME:=VALUE: it has no value"),
    ],
)
def test_each_kind_says_what_it_has_to_be(name, word, sentence):
    assert sentence in refusal(name, word)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("hello", "the file must hold named values, not 'hello'. Copy twil.yaml."),
        ("name: [", "is no valid YAML: line 1, column 8"),
        ("a: &a [1]\nb: *a", "line 2: aliases (*a) are not read"),
        ("a: {<<: {b: 1}}", "line 1: merges (<<) are not read"),
        ("#" * 2_000_000, "the size of the text exceeds the limit of 1000000 characters"),
        ("[" * 60, "the depth of nested values is 51, more than the limit of 50 levels"),
        (f"[{'1,' * 60_000}]", "the number of values is 50001, more than the limit of 50000"),
        (b"\xff\xfe\x00", "cannot be read: is no text file (UTF-8)"),
    ],
    ids=range(8),
)
def test_a_file_that_is_no_robots_is_refused_before_each_node_says_so(tmp_path, text, sentence):
    path = tmp_path / "robot.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert sentence in refusal("ident", f"robot:={path}")


def test_a_robot_that_no_node_could_use_is_refused_once_before_any_starts(tmp_path):
    path = tmp_path / "robot.yaml"
    twil = (ROOT / "diffbot_description" / "config" / "twil.yaml").read_text()
    path.write_text(twil.replace("radius: 0.075 ", "radius: -1 ", 1))
    assert f"{path}: wheels.radius = -1 m must be above 0" in refusal("ident", f"robot:={path}")
    path = tmp_path / "robot.urdf"
    path.write_text("<robot name='x'><link name='base'/></robot>")
    assert f"{path}: the URDF has no wheel" in refusal("ident", f"robot:={path}")


def test_a_folder_for_a_file_names_the_file_in_it(tmp_path):
    reported = f"argument 'parameters' is '{tmp_path}', a folder; give a file in it"
    assert f"{reported} (" in refusal("pose", f"parameters:={tmp_path}")
    path = tmp_path / "dynamic_parameters.yaml"
    path.touch()
    assert f"{reported}, such as {path} (" in refusal("pose", f"parameters:={tmp_path}")


def test_choices_may_be_of_another_kind_than_the_default(tmp_path):
    path = tmp_path / "own.launch.xml"
    choices = "".join(f"<choice value='{value}'/>" for value in ("0", "1", "true", "auto"))
    path.write_text(f"<launch><arg name='a' default='0'>{choices}</arg></launch>")
    for value in ("1", "true", "auto"):
        check(str(path), f"a:={value}")


def test_a_window_needs_a_display(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    check("backstepping", "sim:=gazebo", "gui:=true")
    monkeypatch.delenv("DISPLAY")
    check("backstepping", "sim:=gazebo", "gui:=False")
    assert "'gui' is 'true', but there is no display" in refusal("backstepping", "gui:=true")


def test_a_folder_that_cannot_be_written_is_no_place_for_results(tmp_path, monkeypatch):
    check("ident", f"results:={tmp_path}/new/folder")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    assert f"{tmp_path} is read-only" in refusal("ident", f"results:={tmp_path}/new/folder")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ident", ["duration:=5", "until:=k5=5%, K6 5 %", "arena:=3.5 x 4"]),
        ("backstepping", ["goal:=1 2,-90*pi/180", "start:=0.5,-.5,2*pi", "trajectory:=none"]),
        ("adaptive", ["payload:=2.5,0,0.05,0.06", "payload_time:=-1", "last_good:=new.yaml"]),
        ("linearizing", ["times:=[0, 1]", "linear:=1,0", "angular:=[]", "speed:=1.0e-1"]),
        ("siwek", ["odom:=/robot_1/odom", "cmd_vel:=~/cmd_vel"]),
        ("siwek", ["sigma:=[1,2,3,4]", "initial_sigma:=1,1.0,1,1e-3"]),
        ("ident", [f"robot:={ROOT}/diffbot_description/config/agv.yaml"]),
        ("pose", [f"parameters:={__file__}"]),
    ],
)
def test_what_can_be_is_not_refused(name, words):
    check(name, *words)


def test_the_name_is_looked_at_before_the_values():
    assert refusal("ident", "seed:=x", "durtion:=x").startswith("unknown argument 'durtion'")


def test_a_file_that_does_not_say_what_it_is_takes_any_text(tmp_path):
    path = tmp_path / "mine.launch.xml"
    path.write_text(
        "<launch><arg name='robot' default='r2d2'/><arg name='goal' default='kitchen'/>"
        "<arg name='parameters' default='some'/><arg name='free'/></launch>"
    )
    check(str(path), "robot:=c3po", "goal:=hall", "parameters:=other", "free:=x")


# Of some kinds; what each launch file refuses is tested above.
WRONG = {"calibrate": "motion:=umbmrk", "ident": "duration:=abc", "park": "gaol:=1,0"}


def work():
    """Processor time of all processes that have ended, s: other programs do not count."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.wall_time
@pytest.mark.parametrize(("name", "word"), WRONG.items())
def test_diffbot_says_one_sentence_at_once_and_starts_nothing(name, word, tmp_path):
    start = work()
    result = subprocess.run(
        [sys.executable, ROOT / "diffbot", "launch", name, word],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert work() - start < 0.5
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(("diffbot: argument '", "diffbot: unknown argument '"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "word"), WRONG.items())
def test_so_does_the_command_of_an_installed_workspace(name, word, tmp_path, monkeypatch, capfd):
    pytest.importorskip("ament_index_python")
    monkeypatch.chdir(tmp_path)
    assert main([str(FILES[name]), word]) == 2
    out, err = capfd.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert word.partition(":=")[0] in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [
        ("backstepping", ["goal:=1e6,0,0"],
         "'1e6,0,0', 1e+06 m from the start: robot 'twil' travels at most 180 m, at 3 m/s for "
         "60 s; give a nearer goal, or duration:=333334.0 or more"),
        ("pose", ["goal:=0,8,pi/2", "start:=0,-8,0", "duration:=5"], "duration:=6.0 or more"),
        ("backstepping", ["goal:=80,0,0", "robot:=agv"], "at most 72 m, at 1.2 m/s for 60 s"),
    ],
)  # fmt: skip
def test_a_goal_beyond_what_the_robot_can_drive_is_refused(name, words, sentence, capsys):
    pytest.importorskip("ament_index_python")
    assert main(["--print", str(FILES[name]), *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert sentence in err and err.startswith("diffbot launch: argument 'goal' is ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["calibrate", "arena:=0.9"], "side = 0.9 m: must be > 1 m"),
        (["calibrate", "duration:=3"], "time = 3 s: must be at least 29.2 s"),
        (["calibrate", "arena:=1.2", "sim:=velocity"], "arena length = 1.2 m: must be >= 1.70 m"),
        (["ident", "arena:=0.3x4"], "arena length = 0.3 m: must be >= 1.26 m"),
        (["ident", "arena:=4x1", "sim:=velocity"], "arena width = 1 m: must be >= 1.10 m"),
        (["drive", "arena:=0.3x0.3", "robot:=agv"], "arena length = 0.3 m: must be >= "),
    ],
)
def test_an_arena_without_room_is_refused_before_the_start(words, sentence, capsys):
    pytest.importorskip("ament_index_python")
    assert main(["--print", str(FILES[words[0]]), *words[1:]]) == 2
    out, err = capsys.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert f"the run has no room: {sentence}" in err


@pytest.mark.parametrize("content", ["[1]", "a: 1", "/**:\n  ros__parameters: 1", "x: ["])
def test_a_file_that_holds_no_parameters_is_left_to_its_node(tmp_path, content):
    """Before, two of them ended the launch with a traceback."""
    file = tmp_path / "own.yaml"
    file.write_text(content)
    check_room([ProcessDescription("own", ("/lib/own/own", "--params-file", str(file)), {})])


def test_what_has_room_begins(tmp_path, capsys):
    """1.3 m hold a turtlebot2 with a border of 0.05 m, and not with the launch's 0.3 m."""
    pytest.importorskip("ament_index_python")
    file = tmp_path / "near.yaml"
    file.write_text("/**/velocity_ident:\n  ros__parameters:\n    border: 0.05\n")
    calibrate = ["--print", str(FILES["calibrate"])]
    velocity = [*calibrate, "arena:=1.3", "sim:=velocity"]
    assert main(velocity) == 2
    assert main([*velocity, f"config:={file}"]) == 0
    assert main([*calibrate, "arena:=1.2"]) == 0
    assert main([*calibrate, "arena:=0.4", "motion:=umbmark"]) == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pose", ["goal:=0,8,pi/2", "start:=0,-8,0", "duration:=6"]),
        ("pose", ["duration:=0.1"]),  # its own goal
        ("backstepping", ["goal:=170,0,0"]),
        ("backstepping", ["goal:=none"]),
        ("backstepping", ["goal:=1e6,0,0", "trajectory:=circle"]),
    ],
)
def test_a_goal_that_the_robot_may_reach_is_not_refused(name, words, capsys):
    pytest.importorskip("ament_index_python")
    assert main(["--print", str(FILES[name]), *words]) == 0


@pytest.mark.parametrize("words", [["diffbot"], ["-m", "diffbot_bringup.cli"]])
def test_a_reader_who_has_enough_ends_help_without_a_complaint(words):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [sys.executable, *words, "--help"],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (141, "")
