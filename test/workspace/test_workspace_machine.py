# SPDX-License-Identifier: Apache-2.0
"""A machine that lacks something is told all of it in one line."""

import importlib.util
import os
import sys
import sysconfig

import pytest

from diffbot_bringup.workspace import wheels
from diffbot_bringup.workspace.process import SetupError


def put(folder, name, script):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine with no compiler, no headers and no venv module."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: str(tmp_path / "include"))
    result = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ensurepip" else result(name)
    )
    monkeypatch.setattr(wheels, "_SYSTEM_PYTHON", os.path.realpath(sys._base_executable))
    monkeypatch.setattr(wheels.platform, "machine", lambda: "x86_64")
    return tmp_path


def test_everything_missing_is_one_line_with_the_packages(bare):
    with pytest.raises(SetupError) as error:
        wheels.check_machine()
    text = str(error.value)
    assert "\n" not in text
    assert "sudo apt install g++ python3-dev python3-venv" in text


def test_packages_of_another_python_carry_its_version(bare, monkeypatch):
    monkeypatch.setattr(wheels, "_SYSTEM_PYTHON", "/usr/bin/another")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    packages = [package for _, package in wheels.missing_debian_packages()]
    assert packages == ["g++", f"python{version}-dev", f"python{version}-venv"]


@pytest.mark.parametrize(
    ("script", "works"), [("cat > /dev/null; exit 1", False), ("exit 0", True)]
)
def test_a_compiler_must_work_and_not_only_exist(bare, script, works):
    put(bare / "bin", "gcc", "exit 0")
    put(bare / "bin", "g++", script)
    packages = [package for _, package in wheels.missing_debian_packages()]
    assert ("g++" not in packages) is works


def test_nothing_is_missing_with_headers_and_modules(bare, monkeypatch):
    put(bare / "bin", "cc", "exit 0")
    put(bare / "bin", "c++", "exit 0")
    (bare / "include").mkdir()
    (bare / "include" / "Python.h").touch()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    wheels.check_machine()


@pytest.mark.parametrize("version", [(3, 9, 1), (3, 15, 0)])
def test_a_python_without_wheels_is_refused(bare, monkeypatch, version):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(SetupError, match=r"3\.10 to 3\.14"):
        wheels.check_machine()


def test_another_processor_is_refused(bare, monkeypatch):
    monkeypatch.setattr(wheels.platform, "machine", lambda: "aarch64")
    with pytest.raises(SetupError, match="aarch64"):
        wheels.check_machine()
