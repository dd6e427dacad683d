# SPDX-License-Identifier: Apache-2.0
"""The pinned versions are complete for every Python that is supported, and carry hashes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.markers import Marker

from diffbot_bringup.workspace import wheels
from diffbot_bringup.workspace.packages import find_packages
from diffbot_bringup.workspace.pinned_versions import FILES
from diffbot_bringup.workspace.uv import NO_NETWORK, Uv

ROOT = Path(__file__).resolve().parents[2]
# What a ROS 2 install does not bring, and the processors that it may run on beside x86-64.
BESIDE_ROS = ("requirements.txt", "requirements-study.txt")
ARM = "aarch64-manylinux_2_28"
PURE_PYTHON = "empy"  # distributed as source only, which every platform can use
PIN = re.compile(r"^((?!ros-)[\w.-]+==\S+)(?: ; ([^\\]*))?")
PYTHONS = [f"3.{minor}" for minor in range(wheels.OLDEST[1], wheels.NEWEST[1] + 1)]


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(path, python):
    """Return {package: version} of a pinned file for this Python; each package once."""
    machine = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "platform_machine": "x86_64",
        "sys_platform": "linux",
    }
    results = {}
    entries = re.sub(r" *\\\n +", " ", (ROOT / path).read_text()).splitlines()
    for entry in (each for each in entries if each and not each.startswith("#")):
        requirement, _, marker = entry.partition(" --hash")[0].partition(";")
        name, version = requirement.strip().split("==")
        assert " --hash=sha256:" in entry, f"{path}: {name} has no hash"
        if not marker or Marker(marker.strip()).evaluate(machine):
            assert name not in results, f"{path}: {name} has two versions for Python {python}"
            results[name] = version
    return results


def required(path):
    """Return the packages that a file of requirements names."""
    none = set()
    for line in (ROOT / path).read_text().splitlines():
        if line.startswith("-r "):
            none |= required(line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            none.add(normalized(re.split(r"[=<>~ ;]", line)[0]))
    return none


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("path", FILES)
def test_every_requirement_has_one_version_with_hashes_for_every_python(path, python):
    assert required(FILES[path][0]) <= set(pinned(path, python))


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("path", FILES)
def test_the_parser_of_interfaces_is_installed_once(path, python):
    # Both write the folder lark, at the same time: files of two versions were mixed.
    assert not {"lark", "lark-parser"} <= set(pinned(path, python))


@pytest.mark.parametrize("python", PYTHONS)
def test_both_distributions_share_all_that_is_not_ros(python):
    both = [pinned(f"constraints-{distro}.txt", python) for distro in wheels.DISTROS]
    first, second = (
        {name: version for name, version in each.items() if not name.startswith("ros-")}
        for each in both
    )
    assert {name: first[name] for name in second if name in first} == {
        name: second[name] for name in second if name in first
    }
    assert len(set(first) ^ set(second)) <= 2


def unresolved(platform, python, folder):
    """Return why pinned versions needed beside ROS do not exist for a platform; empty: all do."""
    made = (f"constraints-{wheels.DISTROS[0]}.txt", "constraints-study.txt")
    versions = [
        f"{match[1]} ; {(match[2] or '').replace('x86_64', 'aarch64')}".rstrip("; ")
        for path in made
        for line in (ROOT / path).read_text().splitlines()
        if (match := PIN.match(line))
    ]
    (constraints := folder / "versions.txt").write_text("\n".join(versions))
    words = ["--no-binary", PURE_PYTHON, "-c", constraints, *BESIDE_ROS, "-o", folder / "found.txt"]
    return Uv(ROOT).unresolved(platform, python, *words)


@pytest.mark.parametrize("python", ["3.10", "3.14"])  # Humble, Lyrical: Jazzy is between
def test_all_beside_ros_exists_for_arm(python, tmp_path):
    said = unresolved(ARM, python, tmp_path)
    if NO_NETWORK.search(said):
        pytest.skip("the package index cannot be reached")
    assert said == ""


def test_a_version_that_does_not_exist_for_a_platform_is_told(tmp_path):
    said = unresolved("aarch64-pc-windows-msvc", "3.12", tmp_path)
    if NO_NETWORK.search(said):
        pytest.skip("the package index cannot be reached")
    assert "No solution found" in said


def test_nothing_assumes_the_processor():
    code = (
        "import platform; platform.machine = lambda: 'aarch64'\n"
        "from diffbot_sim.gazebo import installation\nprint(installation.MULTIARCH)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "aarch64-linux-gnu\n"
    packages = [package.path / package.name for package in find_packages(ROOT)]
    named = {
        f"{file.relative_to(ROOT)}"
        for folder in packages
        for file in folder.rglob("*.py")
        if re.search(r"x86[-_]64|amd64", file.read_text(encoding="utf-8"), re.IGNORECASE)
    }
    # The wheels of ROS, the archive of Gazebo 11, and the systems that the distribution without ROS
    # is resolved for.
    assert named == {
        f"diffbot_bringup/diffbot_bringup/workspace/{name}.py"
        for name in ("gazebo", "suite_platforms", "wheels")
    }
