# SPDX-License-Identifier: Apache-2.0
"""Writes MCAP files record by record, also such as no recorder writes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

MAGIC = b"\x89MCAP0\r\n"


def record(code: int, content: bytes) -> bytes:
    """Return a record."""
    return struct.pack("<BQ", code, len(content)) + content


def text_field(text: str) -> bytes:
    """Return a text with its length."""
    return struct.pack("<I", len(text.encode())) + text.encode()


def mcap(
    records: Sequence[bytes], summary: bool = False, index: Sequence[tuple[int, int]] = ()
) -> bytes:
    """Return a file of records.

    Args:
        records: Records of the data.
        summary: Whether the summary lists the chunks among them as holding all channels.
        index: Offsets and lengths of further chunks that the summary lists.
    """
    begin = MAGIC + record(1, text_field("ros2") + text_field("made"))
    at, result = len(begin), list(index)
    for each in records:
        if summary and each[:1] == b"\x06":
            result.append((at, len(each)))
        at += len(each)
    end = record(15, bytes(4))
    summary_begin = at + len(end)
    listed = b"".join(
        record(8, struct.pack("<QQQQ", 0, 1, *chunk) + bytes(12) + text_field("zstd") + bytes(16))
        for chunk in result
    )
    if result:
        schema = struct.pack("<H", 1) + b"".join(
            map(text_field, ("sensor_msgs/msg/JointState", "ros2msg", ""))
        )
        channel = struct.pack("<HH", 1, 1) + text_field("/joint_states") + text_field("cdr")
        statistics = struct.pack("<QHIIIIQQ", 10**6, 1, 1, 0, 0, len(result), 0, 1)
        counts = struct.pack("<IHQ", 10, 1, 10**6)
        listed = record(3, schema) + record(4, channel + bytes(4)) + listed
        listed += record(11, statistics + counts)
    footer = record(2, struct.pack("<QQI", summary_begin if result else 0, 0, 0))
    return b"".join((begin, *records, end, listed, footer, MAGIC))
