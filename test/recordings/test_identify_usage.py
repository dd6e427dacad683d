# SPDX-License-Identifier: Apache-2.0
"""What `identify` says where it cannot begin; never a traceback."""

import sys

import pytest

from diffbot_recordings.identify import main


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time,command_v,v\n" + "".join(f"{0.05 * k},1,0.5\n" for k in range(40)))
    return path


def refused(capsys, *arguments):
    assert main(["--no-pictures", *map(str, arguments)]) == 2
    return capsys.readouterr().err


def test_a_bag_without_the_library_that_reads_it_names_the_library(tmp_path, capsys, monkeypatch):
    for name in ("rosbags", *sys.modules):
        if name.partition(".")[0] == "rosbags":
            monkeypatch.setitem(sys.modules, name, None)
    for name in ("bag", "bag_source"):
        monkeypatch.delitem(sys.modules, f"diffbot_recordings.{name}", raising=False)
    (tmp_path / "run.mcap").write_bytes(b"any")
    text = refused(capsys, tmp_path / "run.mcap", "--output", tmp_path / "out")
    assert "pip install rosbags" in text and not (tmp_path / "out").exists()


def test_results_that_cannot_be_written_are_refused_before_the_work(table, capsys):
    assert "--output" in refused(capsys, table, "--output", table)
    assert "--output" in refused(capsys, table, "--output", table / "below")


def test_a_robot_that_nobody_knows_is_refused_also_where_it_is_only_a_name(table, tmp_path, capsys):
    text = refused(capsys, table, "--robot", "nobody", "--output", tmp_path / "out")
    assert "nobody" in text and "twil" in text


def test_a_period_far_below_that_of_the_samples_is_refused(table, tmp_path, capsys):
    text = refused(capsys, table, "--period", "1e-9", "--output", tmp_path / "out")
    assert "--period" in text and "0.0025" in text


def test_bags_and_tables_together_are_refused_as_such(table, tmp_path, capsys):
    text = refused(capsys, tmp_path, table, "--output", tmp_path / "out")
    assert "bags and tables together: give files of one kind" in text
    other = tmp_path / "log.xlsx"
    other.touch()
    text = refused(capsys, table, other, "--output", tmp_path / "out")
    assert f"{other}: unknown kind of file" in text and ".tsv, .txt" in text
