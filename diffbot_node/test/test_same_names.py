# SPDX-License-Identifier: Apache-2.0
"""Another project's package with a name of this suite is told in one sentence."""

import os
import subprocess
import sys

import pytest

from diffbot_node.same_names import same_names


def workspace(folder, maintainer, *packages):
    for package in packages:
        index = folder / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).touch()
        fraction = folder / "share" / package
        fraction.mkdir(parents=True)
        (fraction / "package.xml").write_text(
            f'<package><name>{package}</name>\n<maintainer email="a@b.org">{maintainer}'
            "</maintainer></package>"
        )
    return str(folder)


@pytest.fixture
def places(tmp_path):
    ours = workspace(tmp_path / "ours", "us", "diffbot_node", "diffbot_description", "diffbot_msgs")
    theirs = workspace(tmp_path / "theirs", "them", "diffbot_description", "diffbot_arm", "rviz")
    return ours, theirs


def test_the_other_package_is_used_where_its_workspace_comes_first(places):
    ours, theirs = places
    (result,) = same_names(f"{theirs}:{ours}")
    assert (result.name, result.prefix, result.own) == ("diffbot_description", theirs, ours)
    assert result.used
    assert str(result).startswith(
        f"diffbot_description in {theirs} is a package of another project"
    )


def test_the_other_package_is_hidden_where_its_workspace_comes_last(places):
    ours, theirs = places
    (result,) = same_names(f"{ours}:{theirs}::{ours}")
    assert not result.used and "hidden" in str(result)


def test_packages_in_separate_prefixes_and_overlays_of_the_suite_are_its_own(tmp_path):
    prefixes = [workspace(tmp_path / name, "us", name) for name in ("diffbot_node", "diffbot_msgs")]
    debian = workspace(tmp_path / "opt", "us", "diffbot_node", "diffbot_msgs")
    assert same_names(os.pathsep.join([*prefixes, debian])) == []


def test_nothing_is_said_of_names_that_are_there_once_or_of_prefixes_that_are_gone(places):
    ours, theirs = places
    assert same_names("") == same_names(ours) == same_names(f"{ours}:/not/there") == []


@pytest.mark.parametrize("first", [0, 1])
def test_an_executable_that_imports_from_the_other_package_says_so(places, first):
    path = os.pathsep.join((places[first], places[1 - first]))
    code = (
        "from diffbot_node.executables import Executable as e; "
        "raise SystemExit(e('nowhere', 'N')())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "AMENT_PREFIX_PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1
    if first == 1:
        assert ran.stderr.count("\n") == 1 and "diffbot_description in" in ran.stderr
    else:  # it is not to blame
        assert "ModuleNotFoundError: No module named 'nowhere'" in ran.stderr
