# SPDX-License-Identifier: Apache-2.0
"""The workspace is built, and only what has changed; colcon is a fake here."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from diffbot_bringup.workspace.entry import set_up
from diffbot_bringup.workspace.linked import link_packages
from diffbot_bringup.workspace.packages import Workspace
from diffbot_bringup.workspace.process import SetupError
from diffbot_bringup.workspace.wheels import WheelsEnvironment

# Writes what it was asked to build, and "builds" it; FAIL names a package that fails.
COLCON = """#!/bin/sh
echo "$@" >> "$CALLS"
while [ "$1" != --install-base ]; do shift; done
install=$2
mkdir -p "$install"
echo 'export PYTHONPATH=/of/the/workspace' > "$install/local_setup.sh"
while [ "$1" != --packages-select ]; do shift; done
shift
while [ "$1" != --cmake-args ]; do
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


SETUP = """from setuptools import setup
setup(name="{0}", version="1.2", packages=["{0}", "{0}.inner"], data_files=[
    ("share/ament_index/resource_index/packages", ["resource/{0}"]),
    ("share/{0}", ["package.xml"])],
    entry_points={{"console_scripts": ["node = {0}.inner:main"]}})
"""


def add(root, name, build_type="ament_python"):
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(
        f"<package><name>{name}</name><export><build_type>{build_type}</build_type></export>"
        "</package>"
    )
    if build_type == "ament_python":
        (folder / name / "inner").mkdir(parents=True)
        (folder / "resource").mkdir()
        (folder / "resource" / name).touch()
        (folder / name / "__init__.py").touch()
        (folder / name / "inner" / "__init__.py").write_text(
            "import sys\ndef main():\n    print(sys.argv[1:])\n    return 3\n"
        )
        (folder / "setup.py").write_text(SETUP.format(name))


@pytest.fixture
def environment(tmp_path, monkeypatch):
    environment = FakeEnvironment(tmp_path)
    environment.python.parent.mkdir()
    for name, text in (
        ("colcon", COLCON),
        ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'),
    ):
        path = environment.python.with_name(name)
        path.write_text(text)
        path.chmod(0o755)
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
    return words[words.index("--packages-select") + 1 : words.index("--cmake-args")]


def linked(environment):
    """Return when the links were made."""
    return (environment.directory / "linked").stat().st_ino


def test_builds_all_once_and_then_nothing(environment):
    assert build(environment) == ["some_msgs", "tf2_msgs"]
    made = linked(environment)
    assert build(environment) == [] and linked(environment) == made
    hooks = json.loads((environment.directory / "hooks.json").read_text())
    prefix = environment.directory / "linked"
    site = f"{prefix}/lib/python"
    assert hooks == {
        "PYTHONPATH": [site, "/of/the/workspace"],
        "AMENT_PREFIX_PATH": [str(prefix)],
    }
    variables = Workspace(environment.directory.parent, environment).variables({"A": "b"})
    assert variables["A"] == "b" and variables["PYTHONPATH"] == f"{site}:/of/the/workspace"


def test_links_python_packages_anew_when_one_has_changed(environment, tmp_path):
    build(environment)
    made = linked(environment)
    with (tmp_path / "beta" / "setup.py").open("a") as file:
        file.write("# changed\n")
    assert build(environment) == [] and linked(environment) != made


def test_builds_all_when_interfaces_or_the_environment_changed(environment, tmp_path):
    everything = build(environment)
    (tmp_path / "some_msgs" / "CMakeLists.txt").write_text("project(some_msgs)")
    assert build(environment) == everything
    environment.version = "2"
    made = linked(environment)
    assert build(environment) == everything and linked(environment) != made


def test_a_linked_package_has_modules_metadata_files_and_executables(environment, tmp_path):
    build(environment)
    prefix = environment.directory / "linked"
    shared = prefix / "share" / "alpha" / "package.xml"
    assert shared.resolve() == tmp_path / "alpha" / "package.xml"
    assert (prefix / "share/ament_index/resource_index/packages/beta").exists()
    variables = {"PYTHONPATH": str(prefix / "lib" / "python")}
    ran = subprocess.run([prefix / "lib/alpha/node", "a b"], env=variables, capture_output=True)
    assert ran.returncode == 3 and ran.stdout == b"['a b']\n"
    text = (
        "from importlib.metadata import distribution as d, version; import alpha; "
        "print(version('alpha'), d('alpha').entry_points[0].load().__name__, alpha.__file__)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", text], env=variables, capture_output=True, text=True, cwd="/"
    )
    assert ran.stdout.split() == ["1.2", "main", f"{prefix}/lib/python/alpha/__init__.py"]


def test_a_setup_that_fails_is_told_and_made_again(environment, tmp_path):
    setup = tmp_path / "beta" / "setup.py"
    good = setup.read_text()
    setup.write_text("raise RuntimeError('no such thing')")
    with pytest.raises(SetupError, match="no such thing"):
        build(environment)
    setup.write_text(good)
    assert build(environment) == []  # what colcon has built stays
    assert Workspace(tmp_path, environment).is_ready()


def test_a_fallback_is_built_only_where_ros_has_none(environment):
    environment.has = {"tf2_msgs"}
    assert build(environment) == ["some_msgs"]


def test_a_failed_build_is_made_again(environment, monkeypatch):
    monkeypatch.setenv("FAIL", "tf2_msgs")
    with pytest.raises(SetupError, match="no such thing"):
        build(environment)
    monkeypatch.delenv("FAIL")
    assert build(environment) == ["some_msgs", "tf2_msgs"]


def test_forgets_a_package_that_is_gone(environment, tmp_path):
    build(environment)
    module = environment.directory / "linked" / "lib" / "python" / "alpha"
    assert module.exists()
    (tmp_path / "alpha" / "package.xml").unlink()
    (tmp_path / "some_msgs" / "package.xml").unlink()
    assert build(environment) == ["tf2_msgs"] or not module.exists()
    assert not module.exists()
    assert not (environment.directory / "install" / "some_msgs").exists()
    assert Workspace(tmp_path, environment).is_ready()


def test_nothing_is_built_under_a_run_until_that_has_ended(environment, tmp_path):
    set_up(tmp_path, environment)
    made = linked(environment)
    with (environment.directory / "in_use").open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        set_up(tmp_path, environment)  # nothing has changed: others may run beside it
        (tmp_path / "beta" / "setup.cfg").write_text("")
        with pytest.raises(SetupError, match=f"in use by .*process {os.getpid()}"):
            set_up(tmp_path, environment)
    assert linked(environment) == made
    set_up(tmp_path, environment)
    assert linked(environment) != made


def test_executables_start_their_python_in_a_folder_with_a_space(tmp_path):
    python = tmp_path / "mein Ordner ü" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    add(tmp_path, "alpha")
    prefix = tmp_path / "linked"
    script = Path(link_packages.__code__.co_filename)
    words = [python, script, prefix, prefix / "lib" / "python", tmp_path / "alpha"]
    subprocess.run(words, check=True)
    variables = {**os.environ, "PYTHONPATH": str(prefix / "lib" / "python")}
    ran = subprocess.run(
        [prefix / "lib/alpha/node", "a b", "c"], capture_output=True, text=True, env=variables
    )
    assert ran.stdout == "['a b', 'c']\n" and ran.returncode == 3


def test_with_wheels_interfaces_get_no_code_for_cpp(tmp_path):
    """But introspection: without it Fast DDS of Jazzy refuses to create subscriptions."""
    (tmp_path / "rosidl_default_generatorsConfig.cmake").write_text(
        "set(AMENT_EXTENSIONS_rosidl_generate_idl_interfaces"
        ' "rosidl_generator_c:a.cmake" "rosidl_generator_cpp:b.cmake"'
        ' "rosidl_typesupport_fastrtps_cpp:c.cmake" "rosidl_generator_py:d.cmake"'
        ' "rosidl_typesupport_introspection_c:e.cmake")\n'
    )
    (tmp_path / "otherConfig.cmake").write_text("set(other_VALUE ${other_FIND_REQUIRED})\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(spoon_msgs NONE)\n"
        "set(other_FOUND TRUE)\nfind_package(other REQUIRED)\n"
        "find_package(rosidl_default_generators REQUIRED)\n"
        "add_custom_target(spoon_msgs__rosidl_typesupport_fastrtps_c)\n"
        "message(STATUS generators=${AMENT_EXTENSIONS_rosidl_generate_idl_interfaces})\n"
        "message(STATUS other=${other_VALUE})\n"
    )
    words = [f"-DCMAKE_PREFIX_PATH={tmp_path}", "-GNinja"]
    complete = configured(tmp_path, *words)
    assert "generators=rosidl_generator_c:a.cmakerosidl_generator_cpp:b.cmake" in complete
    environment = WheelsEnvironment(tmp_path)
    short = configured(tmp_path, *words, *environment.cmake_arguments)
    kept = "rosidl_generator_c:a.cmake", "rosidl_generator_py:d.cmake"
    assert f"generators={''.join(kept)}rosidl_typesupport_introspection_c:e.cmake\n" in short
    assert "other=1\n" in short  # also a package that was found before is looked for


def configured(folder, *words):
    command = ["cmake", "-S", folder, "-B", folder / f"build{len(words)}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
