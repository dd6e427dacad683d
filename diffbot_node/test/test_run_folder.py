# SPDX-License-Identifier: Apache-2.0
"""A folder of results belongs to one run, also where several begin at the same moment."""

import subprocess
import sys

import pytest

from diffbot_description import files
from diffbot_node import run_folder
from diffbot_node.run_folder import CLAIM, FolderTaken, claim

# Claims the folder, says so, and keeps it until its input ends.
OTHER = """
import sys
from pathlib import Path
from diffbot_node.run_folder import FolderTaken, claim
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


def test_the_name_of_the_summary_is_known_without_numpy():
    assert run_folder.SUMMARY == files.SUMMARY


def test_nodes_of_a_launch_share_its_folder_and_others_are_refused(tmp_path):
    claim(tmp_path, "a1", "ident")
    claim(tmp_path, "a1")  # another node of the same process
    assert answer(tmp_path, "a1") == "claimed\n"
    refused = answer(tmp_path, "b2")
    assert refused.startswith(f"refused: '{tmp_path}' holds the results of the run (ident) of 20")
    assert "is active: give another folder" in refused


def test_a_folder_belongs_to_its_run_after_its_end_too(tmp_path):
    assert answer(tmp_path, "a1") == "claimed\n"
    with pytest.raises(FolderTaken, match=r"the run \(ident\) of .*, which has ended"):
        claim(tmp_path, "b2")
    # A node of the same launch that comes late.
    claim(tmp_path, "a1")


def test_results_of_before_there_were_claims_are_kept(tmp_path):
    (tmp_path / files.SUMMARY).write_text("{}")
    with pytest.raises(FolderTaken, match="holds the results of an earlier run"):
        claim(tmp_path, "a1")


def test_nodes_started_by_hand_share_a_folder_while_one_of_them_runs(tmp_path):
    first = start(tmp_path, "")
    assert first.stdout.readline() == "claimed\n"
    assert answer(tmp_path, "") == "claimed\n"
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
