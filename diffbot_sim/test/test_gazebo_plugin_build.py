# SPDX-License-Identifier: Apache-2.0
"""The plugin is built once for a Gazebo; a compiler that refuses it is heard."""

import sys
from dataclasses import replace

import pytest

from diffbot_sim.gazebo import installation
from diffbot_sim.gazebo import installation as plugin_build

# Writes down how it was called, and makes the file that it was asked for.
COMPILER = """#!/bin/sh
echo "$@" >> {calls}
while [ "$1" != -o ]; do shift; done
echo plugin > "$2"
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A Gazebo that is not there, and a compiler that only counts."""
    compiler = tmp_path / "c++"
    compiler.write_text(COMPILER.format(calls=tmp_path / "calls"))
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"{compiler} -fast")
    return installation.Installation(tmp_path / "prefix", tmp_path)


def calls(folder):
    return len((folder / "calls").read_text().splitlines())


def test_a_second_call_compiles_nothing(elsewhere, tmp_path):
    first = plugin_build.plugin(elsewhere)
    assert first.read_text() == "plugin\n" and calls(tmp_path) == 1
    assert plugin_build.plugin(elsewhere) == first and calls(tmp_path) == 1
    assert list(first.parent.iterdir()) == [first]


def test_another_source_or_compiler_gives_another_file(elsewhere, tmp_path, monkeypatch):
    first = plugin_build.plugin(elsewhere)
    source = tmp_path / "plugin.cc"
    source.write_text("// another")
    monkeypatch.setattr(plugin_build, "SOURCE", source)
    second = plugin_build.plugin(elsewhere)
    monkeypatch.setenv("CXX", f"{tmp_path / 'c++'} -slow")
    third = plugin_build.plugin(elsewhere)
    assert len({first, second, third}) == 3 and calls(tmp_path) == 3
    assert first.is_file()


def test_a_compiler_that_fails_gives_its_words_and_leaves_no_plugin(
    elsewhere, tmp_path, monkeypatch
):
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'fatal error: gazebo/gazebo.hh not found' >&2; exit 1\n")
    with pytest.raises(
        installation.GazeboError, match=r"c\+\+ .*diffbot_gazebo.cc[\s\S]*gazebo.hh not found"
    ):
        plugin_build.plugin(elsewhere)
    assert list(tmp_path.rglob("*.so")) == []


def run_main(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["plugin_build", *words])
    status = plugin_build.main()
    return status, capsys.readouterr().out


def test_the_program_says_where_there_is_no_gazebo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(plugin_build, "find_installation", lambda: None)
    assert run_main(monkeypatch, capsys) == (3, installation.MISSING + "\n")


def test_the_program_says_that_the_compiler_fails(gazebo, tmp_path, monkeypatch, capsys):
    other = replace(gazebo, folder=tmp_path)
    monkeypatch.setattr(plugin_build, "find_installation", lambda: other)
    monkeypatch.setenv("CXX", "false")
    assert run_main(monkeypatch, capsys)[0] == 1
    monkeypatch.setenv("CXX", "/no/such/compiler")
    status, output = run_main(monkeypatch, capsys)
    assert status == 1 and "/no/such/compiler" in output
    assert run_main(monkeypatch, capsys, "--find") == (0, f"{gazebo.prefix}\n")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No Gazebo in the checkout; the machine's own is out of sight."""
    monkeypatch.setenv(installation.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(installation.shutil, "which", lambda path: None)
    return tmp_path


def test_no_gazebo_is_found_where_there_is_none(nowhere):
    assert installation.find_installation() is None


@pytest.mark.parametrize("part", ["include/gazebo-11/gazebo/gazebo.hh", "bin/gzserver"])
def test_a_gazebo_needs_both_server_and_headers(tmp_path, monkeypatch, part):
    monkeypatch.setenv(installation.FOLDER_VARIABLE, str(tmp_path))
    parts = ("include/gazebo-11/gazebo/gazebo.hh", "bin/gzserver")
    for name in parts:
        file = tmp_path / "prefix" / "usr" / name
        file.parent.mkdir(parents=True)
        file.touch(mode=0o755)
    result = installation.find_installation()
    assert result == installation.Installation(tmp_path / "prefix", tmp_path)
    (tmp_path / "prefix" / "usr" / part).unlink()
    result = installation.find_installation()
    assert result is None or not result.is_private()
