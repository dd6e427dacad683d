# SPDX-License-Identifier: Apache-2.0
"""A sourced ROS 2 is used where there is one; here it is a folder that looks like one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import diffbot_bringup
from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace import entry
from diffbot_bringup.workspace.entry import choose
from diffbot_bringup.workspace.environment import SystemEnvironment, with_defaults
from diffbot_bringup.workspace.process import SetupError
from diffbot_bringup.workspace.wheels import DISTROS, AddedPackages, WheelsEnvironment, wanted_part


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Say which Python modules the machine has: machine({"rclpy", ...})."""
    monkeypatch.delenv("DIFFBOT_ROS", raising=False)
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def has(modules):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: object() if name in modules else None
        )

    return has


@pytest.fixture
def sourced(machine, monkeypatch, tmp_path):
    """A sourced ROS 2 Jazzy in a folder of its own."""
    prefix = tmp_path.parent / f"{tmp_path.name}_ros"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "tf2_msgs").touch()
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    machine({"rclpy"})
    return machine


def test_wheels_where_nothing_is_sourced(machine, tmp_path):
    machine({"rclpy"})
    assert isinstance(choose(tmp_path), WheelsEnvironment)


def test_wheels_where_the_sourced_ros_is_for_another_python(sourced, tmp_path):
    sourced(set())
    assert isinstance(choose(tmp_path), WheelsEnvironment)


def test_the_sourced_ros_with_folders_of_its_own(sourced, tmp_path):
    environment = choose(tmp_path)
    assert isinstance(environment, SystemEnvironment)
    assert environment.directory == tmp_path / ".diffbot" / "jazzy"
    assert "Jazzy" in environment.title
    assert environment.has_package("tf2_msgs")
    assert not environment.has_package("nav_msgs")


def test_the_override(sourced, monkeypatch, tmp_path):
    for distro in DISTROS:
        monkeypatch.setenv("DIFFBOT_ROS", distro)
        environment = choose(tmp_path)
        assert isinstance(environment, WheelsEnvironment) and distro.title() in environment.title
    monkeypatch.setenv("DIFFBOT_ROS", "system")
    assert isinstance(choose(tmp_path), SystemEnvironment)
    monkeypatch.delenv("ROS_DISTRO")
    with pytest.raises(UsageError, match="source /opt/ros"):
        choose(tmp_path)
    monkeypatch.setenv("DIFFBOT_ROS", "conda")
    with pytest.raises(UsageError, match="jazzy, kilted, system or empty"):
        choose(tmp_path)


def test_what_is_missing_is_one_line_that_says_how_to_get_it(sourced, tmp_path):
    sourced({"rclpy", "yaml", "numpy", "matplotlib", "PIL", "rich", "pytest", "hypothesis"})
    environment = choose(tmp_path)
    assert not environment.is_ready()
    with pytest.raises(SetupError) as error:
        environment.prepare(-1)
    text = str(error.value)
    assert "\n" not in text
    assert "sudo apt install ros-jazzy-xacro python3-scipy python3-colcon-common-extensions" in text
    assert text.index("pip install --user mujoco") > 0


def test_nothing_is_missing(sourced, monkeypatch, tmp_path):
    colcon = tmp_path / "bin" / "colcon"
    colcon.parent.mkdir()
    colcon.write_text("#!/bin/sh\n")
    colcon.chmod(0o755)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    environment = choose(tmp_path)
    environment.prepare(-1)
    assert environment.is_ready()
    # Where Fast DDS is not there, its profile would leave another middleware open.
    another = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}
    closed = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    assert environment.variables(another) == {**another, **closed}
    assert environment.variables({}) == closed
    prefix = Path(os.environ["AMENT_PREFIX_PATH"])
    (prefix / "share/ament_index/resource_index/packages/rmw_fastrtps_cpp").touch()
    assert choose(tmp_path).variables({}) == with_defaults({}, "jazzy")
    assert choose(tmp_path).variables(another) == {**another, **closed}


def test_wheels_are_made_again_when_checkout_or_versions_change(machine, tmp_path):
    keys = set()
    for folder, text in (("a", "x==1"), ("a", "x==2"), ("b", "x==2")):
        root = tmp_path / folder
        root.mkdir(exist_ok=True)
        (root / "constraints-jazzy.txt").write_text(text)
        keys.add(WheelsEnvironment(root).key())
    assert len(keys) == 3


def test_wheels_need_no_second_start_of_python(machine, tmp_path):
    environment = WheelsEnvironment(tmp_path)
    (environment._site / "ros_rclpy.libs").mkdir(parents=True)
    variables = environment.variables({"PATH": "/usr/bin", "RMW_IMPLEMENTATION": "other"})
    assert variables["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] == "1"
    assert variables["LD_LIBRARY_PATH"].split(os.pathsep) == [
        str(environment.prefix / "lib"),
        str(environment._site / "ros_rclpy.libs"),
    ]
    assert variables["RMW_IMPLEMENTATION"] == "rmw_fastrtps_cpp"
    assert variables["PATH"].startswith(str(environment.prefix / "bin"))


def test_it_starts_with_the_standard_library_alone():
    """Before the first set-up there is nothing else; -I and -S leave out what is installed."""
    text = "import sys; sys.path.insert(0, sys.argv[1]); import diffbot_bringup.workspace.entry"
    words = [sys.executable, "-I", "-S", "-c", text, str(Path(diffbot_bringup.__file__).parents[1])]
    assert subprocess.run(words, capture_output=True, text=True).stderr == ""


def test_python_finds_the_packages_of_studies_once_they_are_there(machine, monkeypatch, tmp_path):
    """It gets them for a script that runs on a cluster only."""
    machine({"rclpy"})
    (tmp_path / "constraints-study.txt").write_text("dask==1\n")
    given = []
    monkeypatch.setattr(entry, "set_up", lambda root, environment: None)
    monkeypatch.setattr(entry, "set_up_part", lambda *_: pytest.fail("asked to get them"))
    monkeypatch.setattr(entry, "hold", lambda folder: True)
    monkeypatch.setattr(entry, "_replace", lambda *words: given.append(words[-1]))
    entry.main(tmp_path, ["python", "-c", "pass"])
    assert not given[0].is_ready()
    environment = WheelsEnvironment(tmp_path)
    packages = AddedPackages(tmp_path, environment.directory, environment.python, "study")
    packages.folder.mkdir(parents=True)
    packages._stamps.set("study", packages._key)
    entry.main(tmp_path, ["python", "-c", "pass"])
    assert given[1].added({"PYTHONPATH": "a"})["PYTHONPATH"] == f"a{os.pathsep}{packages.folder}"
    entry.main(tmp_path, ["reproduce"])
    assert given[2] is None
    asked = []
    monkeypatch.setattr(entry, "set_up_part", lambda root, packages: asked.append(packages))
    benchmarks = Path(__file__).resolve().parents[2] / "benchmarks"
    entry.main(tmp_path, ["python", str(benchmarks / "trust.py"), "random"])
    entry.main(tmp_path, ["python", str(benchmarks / "odometry.py")])
    assert asked == [given[3]] and given[4].is_ready()


def test_the_benchmark_gets_its_peers():
    page = Path(__file__).resolve().parents[2] / "docs" / "leaderboard.py"
    assert wanted_part("bench", ["--output", "board"]) == ("bench", True)
    assert wanted_part("bench", ["--help"]) == ("bench", False)
    assert wanted_part("python", [str(page)]) == ("bench", True)


@pytest.mark.parametrize("writable", [True, False])
def test_a_read_only_checkout_does_not_choose_the_place_of_logs(
    machine, monkeypatch, tmp_path, writable
):
    """Before, nodes ended as their log could not be opened."""
    machine({"rclpy"})
    monkeypatch.delenv("ROS_LOG_DIR", raising=False)
    monkeypatch.setattr("os.access", lambda path, mode: writable)
    given = []
    monkeypatch.setattr("os.execve", lambda python, words, variables: given.append(variables))
    monkeypatch.setattr("signal.pthread_sigmask", lambda *_: None)
    workspace = SimpleNamespace(variables=dict)
    entry._replace(tmp_path, WheelsEnvironment(tmp_path), workspace, ["launch"], None)
    logs = str(tmp_path / ".diffbot" / "log" / "ros") if writable else None
    assert given[0].get("ROS_LOG_DIR") == logs


def test_a_launch_file_for_a_command_names_the_command(tmp_path, capsys):
    (tmp_path / "launch").mkdir()
    (tmp_path / "launch" / "ident.launch.xml").touch()
    assert entry.main(tmp_path, ["ident"]) == 2
    assert "'ident' is a launch file: ./diffbot launch ident" in capsys.readouterr().err
    assert entry.main(tmp_path, ["idnt"]) == 2
    assert "unknown command 'idnt'" in capsys.readouterr().err
