# SPDX-License-Identifier: Apache-2.0
"""One version for all: that of pyproject.toml."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from diffbot_bringup import cli
from diffbot_bringup.workspace.packages import find_packages
from diffbot_description.suite_version import checkout_version, suite_version

ROOT = Path(__file__).resolve().parents[2]
VERSION = checkout_version(ROOT)


def test_it_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION) and suite_version() == VERSION


@pytest.mark.parametrize("package", find_packages(ROOT), ids=lambda package: package.name)
def test_every_package_has_it(package):
    root = ElementTree.parse(package.path / "package.xml").getroot()
    assert root.findtext("version") == VERSION
    file = package.path / "setup.py"
    if file.exists():
        assert re.findall(r'^    version="(.+)",$', file.read_text(), re.M) == [VERSION]


def test_so_has_the_citation():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == VERSION


@pytest.mark.parametrize(
    "name", ["description", "node", "ident", "controllers", "sim", "recordings", "study", "export"]
)
def test_public_packages_tell_it(name):
    assert importlib.import_module(f"diffbot_{name}").__version__ == VERSION


def test_the_command_prints_it(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"diffbot {VERSION}\n"


def test_so_does_the_script_before_its_set_up(tmp_path):
    for name in ("diffbot", "diffbot_bringup", "diffbot_description", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [sys.executable, tmp_path / "diffbot", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/nothing/here"},
    )
    assert done.stdout == f"diffbot {VERSION}\n" and not (tmp_path / ".diffbot").exists()
