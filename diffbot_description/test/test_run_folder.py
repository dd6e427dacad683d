# SPDX-License-Identifier: Apache-2.0
"""A folder of results belongs to one run, also where several begin at the same moment."""

import subprocess
import sys
from pathlib import Path

import pytest

from diffbot_description import files
from diffbot_description.run_folder import (
    CLAIM,
    FolderTaken,
    check_replaceable,
    claim,
    output_folder,
)

# Claims the folder, says so, and keeps it until its input ends.
OTHER = """
import sys
from pathlib import Path
from diffbot_description.run_folder import FolderTaken, claim
try:
    claim(Path(sys.argv[1]), sys.argv[2], "ident")
except FolderTaken as error:
    print(f"refused: {error}", flush=True)
else:
    print("claimed", flush=True)
    sys.stdin.read()
"""


def start(folder, launch):
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, str(folder), launch],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def answer(folder, launch):
    return start(folder, launch).communicate(timeout=60)[0]


def test_nodes_of_a_launch_share_its_folder_and_others_are_refused(tmp_path):
    claim(tmp_path, "a1", "ident")
    claim(tmp_path, "a1")  # another node of the same process
    assert answer(tmp_path, "a1") == "claimed\n"
    refused = answer(tmp_path, "b2")
    assert refused.startswith(f"refused: '{tmp_path}' holds the results of the run (ident) of 20")
    assert "is active: give another folder" in refused


def test_a_folder_belongs_to_its_run_after_its_end_too(tmp_path):
    assert answer(tmp_path, "a1") == "claimed\n"
    (tmp_path / "made").touch()
    with pytest.raises(FolderTaken, match=r"the run \(ident\) of .*, which has ended"):
        claim(tmp_path, "b2")
    # A node of the same launch that comes late.
    claim(tmp_path, "a1")


@pytest.mark.parametrize("killed", [lambda f: start(f, "a1"), lambda f: command(f, "identify")])
def test_a_run_that_was_killed_before_it_wrote_anything_has_no_folder(tmp_path, killed):
    other = killed(tmp_path)
    other.stdout.readline()
    other.kill()
    other.wait()
    assert [path.name for path in tmp_path.iterdir()] == [CLAIM]
    with output_folder(tmp_path, "calibrate"):
        pass
    assert answer(tmp_path, "b2") == "claimed\n"


def test_results_of_before_there_were_claims_are_kept(tmp_path):
    (tmp_path / files.SUMMARY).write_text("{}")
    with pytest.raises(FolderTaken, match="holds the results of an earlier run"):
        claim(tmp_path, "a1")


def test_nodes_started_by_hand_share_a_folder_while_one_of_them_runs(tmp_path):
    first = start(tmp_path, "")
    assert first.stdout.readline() == "claimed\n"
    assert answer(tmp_path, "") == "claimed\n"
    (tmp_path / "made").touch()
    first.communicate(timeout=60)
    with pytest.raises(FolderTaken, match="has ended"):
        claim(tmp_path, "")


def test_of_ten_that_begin_at_once_one_gets_the_folder(tmp_path):
    others = [start(tmp_path, f"a{number}") for number in range(10)]
    said = [other.stdout.readline() for other in others]
    for other in others:
        other.communicate(timeout=60)
    assert sorted(line.split()[0] for line in said) == ["claimed", *9 * ["refused:"]]


def test_a_claim_is_no_link_to_elsewhere(tmp_path):
    target = tmp_path / "target"
    (tmp_path / CLAIM).symlink_to(target)
    with pytest.raises(OSError):
        claim(tmp_path, "a1")
    assert not target.exists()


# Holds the folder as a command does, says so, and writes a file if its input says so.
COMMAND = """
import sys
from pathlib import Path
from diffbot_description.run_folder import output_folder
try:
    with output_folder(sys.argv[1], sys.argv[2], adds=sys.argv[3:] == ["adds"]) as folder:
        print("holds", flush=True)
        if sys.stdin.read():
            (folder / "made").touch()
except ValueError as error:
    print(f"refused: {error}", flush=True)
"""


def command(*words):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_of_two_commands_at_once_one_gets_the_folder_and_of_a_launch_none(tmp_path):
    first = command(tmp_path, "identify")
    assert first.stdout.readline() == "holds\n"
    said = command(tmp_path, "identify").communicate(timeout=60)[0]
    assert said.startswith(f"refused: --output '{tmp_path}' holds the results of the run (identify")
    assert "is active" in said and "is active" in answer(tmp_path, "a1")
    # Nor do nodes that were started by hand.
    assert "is active" in answer(tmp_path, "")
    first.communicate("write", timeout=60)
    said = command(tmp_path, "identify").communicate(timeout=60)[0]
    assert said.startswith("refused") and "has ended" in said


@pytest.mark.parametrize("is_new", [False, True])
def test_a_command_that_wrote_nothing_leaves_nothing(tmp_path, is_new):
    folder = tmp_path / "out" if is_new else tmp_path
    with pytest.raises(KeyboardInterrupt), output_folder(folder, "identify"):
        assert (folder / CLAIM).exists()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_adds_goes_on_in_its_own_folder_only(tmp_path):
    assert command(tmp_path, "fleet", "adds").communicate("write", timeout=60)[0] == "holds\n"
    assert command(tmp_path, "fleet", "adds").communicate("write", timeout=60)[0] == "holds\n"
    assert "refused" in command(tmp_path, "study", "adds").communicate(timeout=60)[0]
    assert (tmp_path / "made").exists()


def test_a_file_of_a_run_is_not_replaced_and_one_beside_it_is_new(tmp_path):
    with output_folder(tmp_path, "identify") as folder:
        (folder / "made.yaml").touch()
    with pytest.raises(FolderTaken, match=r"made.yaml: is a file of the run \(identify\)"):
        check_replaceable(tmp_path / "made.yaml")
    check_replaceable(tmp_path / "other.yaml")


def test_the_home_of_nobody_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = r"written there \(there is no user nosuch\)"
    with pytest.raises(ValueError, match=said), output_folder("~nosuch/x", "identify"):
        pass
    with pytest.raises(OSError, match="there is no user nosuch"):
        files.write_atomically(Path("~nosuch/x.yaml"), "")
    assert list(tmp_path.iterdir()) == []
