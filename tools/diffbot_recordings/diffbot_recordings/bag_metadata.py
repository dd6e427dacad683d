# SPDX-License-Identifier: Apache-2.0
"""The files of a rosbag2 recording: those that its metadata.yaml names, decompressed if needed."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from diffbot_description.files import RECORDING, read_yaml
from diffbot_recordings.bag_part import DamagedError
from diffbot_recordings.decompression import unpack_file
from diffbot_recordings.samples import RecordingError

SUFFIXES = (".mcap", ".db3")
METADATA = "metadata.yaml"
_PACKED = ".zstd"


@dataclass
class StorageFiles:
    """Storage files of a recording, in the order of time, decompressed.

    Attributes:
        packed_messages: Whether each message is compressed.
    """

    files: list[Path]
    warnings: list[str] = field(default_factory=list)
    packed_messages: bool = False
    _temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def of(cls, path: Path) -> StorageFiles:
        """Return the files of a recording, a file or a folder; RecordingError without any."""
        if not path.is_dir():
            return cls([path])
        storage_files = cls([])
        if (path / METADATA).exists():
            try:
                storage_files._read(path, _information(path))
            except (ValueError, OSError) as error:
                if isinstance(error, RecordingError):
                    raise
                storage_files.warnings.append(
                    f"{path.name}: {error}; its files are read one by one"
                )
        else:
            storage_files.warnings.append(
                f"{path.name} has no {METADATA}, as if recording was cut off"
            )
        if not storage_files.files:
            storage_files.files = _in_folder(path)
        return storage_files

    def _read(self, path: Path, information: Mapping[str, Any]) -> None:
        names = information.get("relative_file_paths")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{METADATA}: relative_file_paths must be a list of names")
        files = [path / PurePosixPath(name).name for name in names]
        if missing := [file.name for file in files if not file.is_file()]:
            raise ValueError(f"{METADATA}: there is no file {', '.join(missing[:4])}")
        mode = str(information.get("compression_mode") or "none").lower()
        kind = str(information.get("compression_format") or "")
        if mode not in ("none", "file", "message"):
            raise ValueError(f"{METADATA}: compression_mode {mode!r} is not known")
        if mode != "none" and kind != "zstd":
            raise RecordingError(
                f"{path}: compression_format {kind!r} is not read, only zstd: decompress it"
            )
        self.packed_messages = mode == "message"
        if mode == "file":
            files = [self._unpacked(file) for file in files]
        self.files = files

    def _unpacked(self, file: Path) -> Path:
        if file.suffix != _PACKED:
            return file
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="diffbot-bag-")
        target = Path(self._temporary.name, file.stem)
        try:
            unpack_file(file, target)
        except (ValueError, DamagedError, OSError) as error:
            raise RecordingError(f"{file}: cannot be decompressed: {error}") from None
        return target


def in_results(path: Path) -> Path:
    """Return the recording inside the results of a run; for any other path, the path itself."""
    inside = path / RECORDING
    if not inside.is_dir() or (path / METADATA).exists():
        return path
    return path if any(file.suffix in SUFFIXES for file in path.iterdir()) else inside


def _information(path: Path) -> Mapping[str, Any]:
    try:
        content = read_yaml(path / METADATA)
    except ValueError as error:
        raise ValueError(str(error).removeprefix(f"{path}/")) from None
    information = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(information, dict):
        raise ValueError(f"{METADATA}: has no rosbag2_bagfile_information")
    return information


def _in_folder(path: Path) -> list[Path]:
    files = sorted((f for f in path.iterdir() if f.suffix in SUFFIXES), key=_by_number)
    if files:
        return files
    hint = ""
    if any(file.suffix == _PACKED for file in path.iterdir()):
        hint = f"; its files are compressed: give {METADATA}, too, or run zstd -d on them"
    raise RecordingError(
        f"{path}: no rosbag2 recording: no {' or '.join(SUFFIXES)} file in this folder, "
        f"and no folder {RECORDING} (written with record:=mcap){hint}"
    )


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Sort parts of a split recording: _2 before _10."""
    return [(int(n) if n else -1, text) for text, n in re.findall(r"(\D*)(\d*)", path.name)]
