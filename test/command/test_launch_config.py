# SPDX-License-Identifier: Apache-2.0
"""What is no argument is in a file of parameters, which is checked before anything starts."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from diffbot_bringup import cli
from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace.packages import check_arguments
from diffbot_bringup.xml_launch.config_file import settings
from diffbot_bringup.xml_launch.document import read

ROOT = Path(__file__).resolve().parents[2]
LAUNCHES = [
    *("adapt", "adaptive", "backstepping", "calibrate", "drive", "ident", "linearizing", "park"),
    *("pose", "siwek"),
    "simulator",
]
# Arguments of earlier versions, and the parameters that they are.
MOVED = [
    ("ident", "slope:=2", "simulator: slope"),
    ("ident", "encoder_counts:=0", "simulator: encoder_counts"),
    ("ident", "levels:=4", "ident: levels"),
    ("ident", "simulated_robot:=my.yaml", "simulator: simulated_robot"),
    ("pose", "encoder_counts:=0", "simulator: encoder_counts; pose_controller: encoder_counts"),
    ("linearizing", "settling_time:=0.1", "linearizing_controller: settling_time"),
    ("adaptive", "memory:=5", "dynamics_estimator: memory"),
    ("adaptive", "gui:=true", "simulator: gui"),
    ("siwek", "ramp_up:=0", "trajectory_publisher: ramp_up"),
    ("simulator", "torque_delay:=2", "simulator: torque_delay"),
]


def known(name):
    root = read(ROOT / "launch" / f"{name}.launch.xml").root
    return settings(root, lambda package: str(ROOT / package))


def launch(*words):
    return cli.main(["launch", *words])


def own(folder, text):
    path = folder / "my.yaml"
    path.write_text(text, encoding="utf-8")
    return f"config:={path}"


@pytest.mark.parametrize(("name", "word", "place"), MOVED)
def test_an_argument_that_became_a_parameter_is_refused_with_its_place(name, word, place):
    with pytest.raises(UsageError) as error:
        check_arguments(ROOT, "launch", [name, word], any_package=False)
    text, argument = str(error.value), word.partition(":=")[0]
    assert text.startswith(f"argument '{argument}:=...' is a parameter: write it into a file, ")
    assert "config:=FILE" in text and place in text and "\n" not in text


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_arguments_and_the_parameters_are_listed(name, capsys):
    pytest.importorskip("ament_index_python")
    assert launch(name, "--show-args") == 0
    arguments, _, parameters = capsys.readouterr().out.partition("\nParameters (in a file of this")
    assert "'config':" in arguments and "'slope'" not in arguments
    # What is listed is a file that can be given, with each value, and meaning and unit above it.
    text = parameters.partition("\n")[2].rpartition("\n\n")[0]
    content = yaml.safe_load(text)
    listed = {
        (node.removeprefix("/**/").removeprefix("/"), name): value
        for node, section in content.items()
        for name, value in section["ros__parameters"].items()
    }
    assert set(listed) == {(each.node, each.name) for each in known(name) if each.comment}
    assert len(re.findall(r"# .+\n +\w+: ", text)) == len(listed)
    assert not any(isinstance(value, str) and "$(" in value for value in listed.values())


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_listed_parameters_may_be_given(name, tmp_path, capsys):
    pytest.importorskip("ament_index_python")
    nodes = {}
    for each in known(name):
        if each.comment and each.node != "**":
            values = nodes.setdefault(f"/**/{each.node}", {"ros__parameters": {}})
            values["ros__parameters"][each.name] = yaml.safe_load(each.text)
    assert launch("--print", name, own(tmp_path, yaml.safe_dump(nodes))) == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("simulator: {ros__parameters: {slop: 2}}", "simulator has no parameter 'slop'; did you"),
        ("/**/simulator: {ros__parameters: {slope: 30}}", "'slope' = 30"),
        ("/a/simulator: {ros__parameters: {slope: -1.0}}", "'slope' = -1.0"),
        ("/**/simulator: {ros__parameters: {slope: steep}}", "'slope' = 'steep': must be of type"),
        ("/**/ident: {ros__parameters: {levels: 5}}", "'levels' = 5"),
        ("/**/simulatr: {ros__parameters: {slope: 2}}", "no node 'simulatr'; did you mean 'simul"),
        ("/**: {ros__parameters: {slope: 2.0}}", "'slope' below '/**' has no effect, as the"),
        ("/**: {ros__parameters: {wndow: 0.2}}", "no node of this launch has a parameter 'wndow'"),
        ("/**: {ros__parameters: {window: 7.0}}", "ident: parameter 'window' = 7.0"),
        ("simulator: {slope: 2}", "no parameters below 'simulator: ros__parameters:'"),
        ("hello", "no parameters below 'NODE: ros__parameters:'"),
        ("a: [", "is no valid YAML"),
    ],
)
def test_a_wrong_parameter_is_refused_in_a_sentence_before_anything_starts(
    text, sentence, tmp_path, capfd
):
    pytest.importorskip("ament_index_python")
    assert launch("ident", own(tmp_path, text)) == 2
    out, err = capfd.readouterr()
    assert out == "" and len(err.splitlines()) == 1
    assert err.startswith("diffbot launch: argument 'config' = ") and sentence in err


def test_so_is_a_list_where_the_launch_gives_a_text(tmp_path, capfd):
    """ROS would take the text, and the list would have no effect."""
    pytest.importorskip("ament_index_python")
    text = "/**/velocity_simulator: {ros__parameters: {sigma: [0.2, 0.2, 1.0, 1.0]}}"
    assert launch("siwek", own(tmp_path, text)) == 2
    assert "write it as text, '0.2,0.2,1.0,1.0'" in capfd.readouterr().err
    assert launch("--print", "siwek", own(tmp_path, text.replace("[", "'").replace("]", "'"))) == 0


@pytest.mark.parametrize(
    ("passed", "sentence"),
    [
        ('<arg name="slope" value="2.0"/>', "argument 'slope:=...' is a parameter: write it into"),
        ('<arg name="config" value="my.yaml"/>', "simulator has no parameter 'slop'"),
    ],
)
def test_so_is_what_a_file_passes_that_includes_a_launch(
    passed, sentence, tmp_path, monkeypatch, capfd
):
    pytest.importorskip("ament_index_python")
    monkeypatch.chdir(tmp_path)
    own(tmp_path, "simulator: {ros__parameters: {slop: 2}}")
    path = tmp_path / "robots.launch.xml"
    included = ROOT / "launch" / "ident.launch.xml"
    path.write_text(f'<launch><include file="{included}">{passed}</include></launch>')
    assert launch("--print", str(path)) == 2
    out, err = capfd.readouterr()
    assert out == "" and len(err.splitlines()) == 1 and sentence in err


ADAPTING = ("backstepping", "linearizing", "pose")


@pytest.mark.parametrize(
    ("name", "word"),
    [(name, "record:=mcap") for name in LAUNCHES[:-1] if name not in ADAPTING]
    + [(name, word) for name in ADAPTING for word in ("record:=mcap", "parameters:=adaptive")],
)
def test_the_nodes_of_a_composed_run_are_there(name, word, capsys):
    pytest.importorskip("ament_index_python")
    assert launch("--print", name, word) == 0
    line = capsys.readouterr().out.partition(" --ros-args")[0]
    _, program, *rest = shlex.split(line)
    nodes = [word.split("/") for word in rest if word]
    assert program.endswith("/composed") and len(nodes) >= 3
    for package, executable in nodes:
        assert callable(getattr(import_module(f"{package}.executables"), executable)), nodes


def test_the_file_is_the_last_that_the_nodes_read(tmp_path, capsys):
    pytest.importorskip("ament_index_python")
    word = own(tmp_path, "/**/simulator: {ros__parameters: {slope: 2.0}}")
    assert launch("--print", "ident", word, "watchdog:=true", "record:=mcap", "view:=true") == 0
    lines = [t for t in capsys.readouterr().out.splitlines() if "--ros-args" in t]
    assert len(lines) == 6
    for line in lines:
        files = re.findall(r"--params-file '?(.*?)'?(?= -|$)", line)
        assert str(tmp_path / "my.yaml") in files
