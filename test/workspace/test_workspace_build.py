# SPDX-License-Identifier: Apache-2.0
"""The workspace is built with colcon, and only what has changed; colcon is a fake here."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from diffbot_bringup.workspace.entry import set_up
from diffbot_bringup.workspace.packages import Workspace, mend_scripts
from diffbot_bringup.workspace.process import SetupError

# Writes what it was asked to build, and "builds" it; FAIL names a package that fails.
COLCON = """#!/bin/sh
echo "$@" >> "$CALLS"
while [ "$1" != --install-base ]; do shift; done
install=$2
mkdir -p "$install"
echo 'export PYTHONPATH=/of/the/workspace' > "$install/local_setup.sh"
while [ "$1" != --packages-select ]; do shift; done
shift
while [ "$1" != --symlink-install ]; do
  if [ "$1" = "$FAIL" ]; then echo "error: no such thing"; exit 1; fi
  mkdir -p "$install/$1"
  echo "Finished <<< $1 [0.1s]"
  shift
done
"""


class FakeEnvironment:
    title = "a fake"

    def __init__(self, root):
        self.directory = root / ".diffbot"
        self.python = root / "bin" / "python"
        self.cmake_arguments = ["-GNinja"]
        self.version = "1"
        self.has = set()

    def key(self):
        return self.version

    def is_ready(self):
        return True

    def prepare(self, lock):
        pass

    def has_package(self, name):
        return name in self.has

    def variables(self, user):
        return dict(user)


def add(root, name, build_type="ament_python"):
    (root / name).mkdir(parents=True)
    (root / name / "package.xml").write_text(
        f"<package><name>{name}</name><export><build_type>{build_type}</build_type></export>"
        "</package>"
    )


@pytest.fixture
def environment(tmp_path, monkeypatch):
    environment = FakeEnvironment(tmp_path)
    environment.python.parent.mkdir()
    colcon = environment.python.parent / "colcon"
    colcon.write_text(COLCON)
    colcon.chmod(0o755)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.delenv("FAIL", raising=False)
    add(tmp_path, "some_msgs", "ament_cmake")
    add(tmp_path, "alpha")
    add(tmp_path, "beta")
    add(tmp_path / "fallback", "tf2_msgs", "ament_cmake")
    (tmp_path / "fallback" / "COLCON_IGNORE").touch()
    return environment


def build(environment):
    """Build, and return the names of the packages that colcon was given."""
    calls = Path(os.environ["CALLS"])
    calls.unlink(missing_ok=True)
    root = environment.directory.parent
    try:
        Workspace(root, environment).build(-1)
    finally:
        words = calls.read_text().split() if calls.exists() else []
    if not words:
        return []
    return words[words.index("--packages-select") + 1 : words.index("--symlink-install")]


def test_builds_all_once_and_then_nothing(environment):
    assert build(environment) == ["alpha", "beta", "some_msgs", "tf2_msgs"]
    assert build(environment) == []
    hooks = json.loads((environment.directory / "hooks.json").read_text())
    assert hooks == {"PYTHONPATH": ["/of/the/workspace"]}
    variables = Workspace(environment.directory.parent, environment).variables({"A": "b"})
    assert variables == {"A": "b", "PYTHONPATH": "/of/the/workspace"}


def test_builds_only_the_python_package_that_changed(environment, tmp_path):
    build(environment)
    (tmp_path / "beta" / "setup.py").write_text("")
    assert build(environment) == ["beta"]


def test_builds_all_when_interfaces_or_the_environment_changed(environment, tmp_path):
    everything = build(environment)
    (tmp_path / "some_msgs" / "CMakeLists.txt").write_text("project(some_msgs)")
    assert build(environment) == everything
    environment.version = "2"
    assert build(environment) == everything


def test_a_fallback_is_built_only_where_ros_has_none(environment):
    environment.has = {"tf2_msgs"}
    assert build(environment) == ["alpha", "beta", "some_msgs"]


def test_goes_on_after_the_packages_that_were_finished(environment, monkeypatch):
    (environment.directory.parent / "some_msgs" / "package.xml").write_text(
        "<package><name>some_msgs</name><export><build_type>ament_python</build_type></export>"
        "</package>"
    )
    environment.has = {"tf2_msgs"}
    monkeypatch.setenv("FAIL", "beta")
    with pytest.raises(SetupError, match="no such thing"):
        build(environment)
    monkeypatch.delenv("FAIL")
    assert build(environment) == ["beta", "some_msgs"]


def test_forgets_a_package_that_is_gone(environment, tmp_path):
    build(environment)
    assert (environment.directory / "install" / "alpha").exists()
    (tmp_path / "alpha" / "package.xml").unlink()
    assert build(environment) == []
    assert not (environment.directory / "install" / "alpha").exists()
    assert Workspace(tmp_path, environment).is_ready()


def test_nothing_is_built_under_a_run_until_that_has_ended(environment, tmp_path):
    set_up(tmp_path, environment)
    calls = Path(os.environ["CALLS"])
    calls.unlink()
    with (environment.directory / "in_use").open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        set_up(tmp_path, environment)  # nothing has changed: others may run beside it
        (tmp_path / "beta" / "setup.py").write_text("")
        with pytest.raises(SetupError, match=f"in use by .*process {os.getpid()}"):
            set_up(tmp_path, environment)
    assert not calls.exists()
    set_up(tmp_path, environment)
    assert "--packages-select beta" in calls.read_text()


def test_executables_start_their_python_in_a_folder_with_a_space(tmp_path):
    python = tmp_path / "mein Ordner ü" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    script = tmp_path / "install" / "package" / "lib" / "package" / "node"
    script.parent.mkdir(parents=True)
    script.write_text(f'#!"{python}" -x\nimport sys\nprint(sys.argv[1:])\n', encoding="utf-8")
    script.chmod(0o755)
    assert mend_scripts(tmp_path / "install", python) == 1
    output = subprocess.run([script, "a b", "c"], capture_output=True, text=True, check=True).stdout
    assert output == "['a b', 'c']\n"
    assert mend_scripts(tmp_path / "install", Path(sys.executable)) == 0


def test_links_of_an_earlier_build_to_files_that_are_gone_are_removed(environment, tmp_path):
    build(environment)
    folder = environment.directory / "build" / "beta" / "config"
    folder.mkdir(parents=True)
    (folder / "gone.yaml").symlink_to(tmp_path / "beta" / "config" / "gone.yaml")
    (folder / "kept.yaml").symlink_to(tmp_path / "beta" / "package.xml")
    (tmp_path / "beta" / "setup.py").write_text("")
    assert build(environment) == ["beta"]
    assert [path.name for path in folder.iterdir()] == ["kept.yaml"]
