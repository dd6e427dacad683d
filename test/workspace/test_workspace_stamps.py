# SPDX-License-Identifier: Apache-2.0
"""Steps of the set-up are remembered by what they were done for, and never half."""

from hypothesis import given
from hypothesis import strategies as st

from diffbot_bringup.workspace.environment import Stamps, digest


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


def test_half_a_key_is_none(tmp_path):
    stamps = Stamps(tmp_path)
    stamps.set("one", digest("x"))
    (tmp_path / "one").write_text(digest("x")[:9])  # who wrote it was killed
    assert not stamps.is_current("one", digest("x"))
