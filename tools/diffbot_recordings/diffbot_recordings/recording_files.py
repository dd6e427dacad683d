# SPDX-License-Identifier: Apache-2.0
"""Open the files of a recording: bags, or tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diffbot_recordings.bag_topics import without_rosbags
from diffbot_recordings.options import Options
from diffbot_recordings.samples import TABLES, Recording, RecordingError
from diffbot_recordings.table import open_tables

WPILOG = ".wpilog"
LOGS, BAGS = (".json", WPILOG), (".mcap", ".db3")


def open_recording(options: Options) -> Recording:
    """Open bags or tables. Raises RecordingError."""
    files = options.files
    suffixes = {path.suffix.lower() for path in files if not path.is_dir()}
    if suffixes and suffixes <= {*TABLES} and not any(path.is_dir() for path in files):
        return open_tables(files, options)
    if suffixes <= {*BAGS}:
        return _open_bags(files, options)
    if suffixes <= {*BAGS, *TABLES}:
        raise RecordingError(
            f"{', '.join(map(str, files))}: bags and tables together: give files of one kind"
        )
    strange = next(p for p in files if p.suffix.lower() not in (*BAGS, *TABLES) and not p.is_dir())
    hint = ""
    if strange.suffix == ".bag":
        hint = "; turn a ROS 1 bag into a rosbag2 one with rosbags-convert"
    if strange.suffix == ".zstd":
        hint = "; give the folder with its metadata.yaml"
    raise RecordingError(
        f"{strange}: unknown kind of file: must be a rosbag2 folder, "
        f"{', '.join((*BAGS, *TABLES, *LOGS))}, and all files of one kind{hint}"
    )


def _open_bags(paths: Sequence[Path], options: Options) -> Recording:
    try:
        from diffbot_recordings.bag_source import open_bags
    except ModuleNotFoundError as error:
        raise without_rosbags(error) from None
    return open_bags(paths, options)
