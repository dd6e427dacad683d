# SPDX-License-Identifier: Apache-2.0
"""uv gets the whole pinned list and pip's settings; its failures are one line."""

import stat
from pathlib import Path

import pytest

from diffbot_bringup.workspace.process import ChildError, SetupError
from diffbot_bringup.workspace.uv import Uv, from_pip


@pytest.fixture
def uv(tmp_path):
    """A checkout with a uv that does what a shell script says: uv(script)."""
    made = Uv(tmp_path)
    made.program.parent.mkdir(parents=True)

    def with_script(script):
        for name, text in (("uv", script), ("python", "exit 0")):
            path = made.program.with_name(name)
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return made

    return with_script


def test_uv_gets_the_whole_list_without_its_resolver(uv, tmp_path):
    file = tmp_path / "constraints-x.txt"
    uv(f'echo "$@" >> {tmp_path}/calls').install(Path("python"), file, tmp_path / "log", -1)
    (words,) = (tmp_path / "calls").read_text().splitlines()
    assert "--no-deps" in words and "--require-hashes" in words and words.endswith(f"-r {file}")


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("error: Failed to fetch: x: dns error", "check the network"),
        ("WARNING: Retrying after NewConnectionError: no route", "check the network"),
        ("error: No space left on device (os error 28)", "disk is full"),
        ("error: Hash mismatch for x", "pin by its hash"),
        ("error: something else", "error: something else"),
    ],
)
def test_a_failure_is_explained_in_one_line(uv, tmp_path, output, says):
    with pytest.raises(SetupError, match=says) as error:
        uv(f'echo "{output}"; exit 1').install(
            Path("python"), tmp_path / "x.txt", tmp_path / "log", -1
        )
    assert "\n" not in str(error.value)
    assert isinstance(error.value.__cause__, ChildError)


def test_settings_of_pip_hold_for_uv(tmp_path):
    listed = (
        ":env:.cert='/a/ca.crt'\nglobal.index-url='https://mirror/simple'\n"
        f"global.extra-index-url='file://{tmp_path} file:///not/there'\nglobal.other='1'\n"
    )
    result = from_pip(listed, {"UV_DEFAULT_INDEX": "mine", "PIP_NO_CACHE_DIR": "1"})
    assert result["SSL_CERT_FILE"] == "/a/ca.crt"
    assert result["UV_INDEX"] == f"file://{tmp_path}"
    assert result["UV_NO_CACHE"] == "1"
    assert "UV_DEFAULT_INDEX" not in result  # the user's own holds
    assert from_pip("", {})["UV_PYTHON_DOWNLOADS"] == "never"
