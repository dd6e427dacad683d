# SPDX-License-Identifier: Apache-2.0
"""`identify` answers broken files with a sentence; 200 are in benchmarks/broken_files.py."""

import numpy as np
import pytest
from made_recordings.broken_files import broken, whole_files

from diffbot_recordings.identify import main


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    return list(whole_files(tmp_path_factory.mktemp("wholes")).values())


@pytest.mark.parametrize("number", range(6))
def test_a_broken_file_is_answered_with_a_sentence(wholes, tmp_path, capsys, monkeypatch, number):
    monkeypatch.setattr("diffbot_report.progress.PATIENCE", 1e6)  # no lines of progress beside it
    whole = wholes[number % len(wholes)]
    path = tmp_path / f"broken{whole.suffix}"
    path.write_bytes(broken(whole.read_bytes(), np.random.default_rng(number)))
    status = main([str(path), "--no-pictures", "--output", str(tmp_path / "out")])
    assert status in (0, 1, 2, 3)
    said = capsys.readouterr().err.strip()
    assert (status == 2) == bool(said)
    assert "\n" not in said and len(said) < 1500


def test_whole_files_are_identified(wholes, tmp_path):
    """Otherwise the broken ones would say nothing."""
    for whole in wholes:
        assert main([str(whole), "--no-pictures", "--output", str(tmp_path / whole.stem)]) == 0, (
            whole
        )


@pytest.mark.filterwarnings("error")
def test_a_cell_of_an_impossible_size_costs_only_its_row(wholes, tmp_path, capsys):
    """As one that is not finite; its square would overflow in the fits."""
    for whole in wholes:
        if whole.suffix == ".csv":
            separator = ";" if whole.name == "semicolons.csv" else ","
            rows = whole.read_text().splitlines()
            cells = rows[len(rows) // 2].split(separator)
            cells[3] = "-1e160"
            rows[len(rows) // 2] = separator.join(cells)
            path = tmp_path / whole.name
            path.write_text("\n".join(rows))
            assert main([str(path), "--no-pictures", "--output", str(tmp_path / path.stem)]) == 0
            assert "1 with a number missing or unreadable" in capsys.readouterr().out
