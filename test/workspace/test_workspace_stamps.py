"""Steps of the set-up are remembered by what they were done for, and never half."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_bringup.workspace.environment import Stamps, digest, write_atomically


def test_a_step_is_current_only_with_its_own_key(tmp_path):
    stamps = Stamps(tmp_path / "stamps")
    assert not stamps.is_current("venv", "a")
    stamps.set("venv", "a")
    assert stamps.is_current("venv", "a")
    assert not stamps.is_current("venv", "b")
    stamps.clear("venv")
    assert stamps.key("venv") is None
    stamps.clear("venv")  # clearing twice is no error


def test_names_hold_no_temporary_files(tmp_path):
    stamps = Stamps(tmp_path)
    stamps.set("one", "x")
    (tmp_path / ".two.123").write_text("left by a killed process")
    assert stamps.names() == ["one"]


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_digest_tells_lists_apart(left, right):
    assert (digest(*left) == digest(*right)) == (left == right)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "old")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
