# SPDX-License-Identifier: Apache-2.0
"""Folders of results: each run has one of its own, also of those that begin in one second."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from diffbot_description import run_folder


def test_folders_of_one_second_are_different_ones(tmp_path, monkeypatch):
    class Now(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 1, 2, 3, 4, 5)

    monkeypatch.setattr(run_folder, "datetime", Now)
    with ThreadPoolExecutor(8) as pool:
        make = lambda _: run_folder.dated_folder("view", tmp_path / "results")  # noqa: E731
        made = list(pool.map(make, range(40)))
    assert len(set(made)) == 40 and all(folder.is_dir() for folder in made)
    names = {folder.name for folder in made}
    assert {"20260102-030405-view", "20260102-030405-2-view", "20260102-030405-40-view"} <= names
