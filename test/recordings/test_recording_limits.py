# SPDX-License-Identifier: Apache-2.0
"""Recordings within limits: what they may hold is read, and what they may not is named."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from lz4.frame import compress as lz4
from made_recordings.hostile_files import sqlite_pages
from made_recordings.mcap_records import mcap, record, text_field
from made_recordings.recorded_bag import RecordedBag

from diffbot_description.limits import UNREADABLE
from diffbot_recordings import bag_part
from diffbot_recordings.bag import Bag, StorageFiles
from diffbot_recordings.identify import main
from diffbot_recordings.samples import RecordingError

ODOM = "/odom"


@pytest.fixture(params=["mcap", "sqlite3"])
def storage(request):
    return request.param


def recorded(folder, storage, count=300):
    with RecordedBag(folder, storage) as bag:
        for k in range(count):
            bag.odometry(ODOM, 1.0 + 0.02 * k, (0.1 * k, 0.0))
            bag.twist("/cmd_vel", 1.0 + 0.02 * k, (0.1 * k, 0.0))
    return next(file for file in folder.iterdir() if file.name != "metadata.yaml")


def speeds(path):
    """The speeds of all odometry, in the order in which they are read, and the warnings."""
    bag = Bag(path)
    decode = bag.decoder(bag.topics[ODOM])
    results = [decode(data).twist.twist.linear.x for _, _, data in bag.messages([ODOM])]
    return np.array(results), bag.warnings


EXPECTED = 0.1 * np.arange(300)


def packed(folder, mode):
    """Compress a folder's storage file, as `ros2 bag record --compression-mode file` does."""
    (file,) = (f for f in folder.iterdir() if f.name != "metadata.yaml")
    target = file.with_name(f"{file.name}.zstd")
    target.write_bytes(bag_part.zstd.compress(file.read_bytes()))
    file.unlink()
    metadata = folder / "metadata.yaml"
    text = metadata.read_text().replace(file.name, target.name)
    for key, value in (("compression_format", "zstd"), ("compression_mode", mode)):
        text = "".join(
            f"  {key}: {value}\n" if line.strip().startswith(key) else line
            for line in text.splitlines(keepends=True)
        )
    metadata.write_text(text)


def test_a_whole_recording_is_read(tmp_path, storage):
    file = recorded(tmp_path / "bag", storage)
    for path in (tmp_path / "bag", file):
        result, warnings = speeds(path)
        assert np.allclose(result, EXPECTED) and warnings == []
        assert {t.name: t.count for t in Bag(path).topics.values()} == {ODOM: 300, "/cmd_vel": 300}


def test_a_compressed_file_is_read_from_the_temporary_folder(tmp_path, storage, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    recorded(tmp_path / "bag", storage)
    packed(tmp_path / "bag", "FILE")
    result, warnings = speeds(tmp_path / "bag")
    assert np.allclose(result, EXPECTED) and warnings == []
    assert not list(tmp_path.glob("diffbot-bag-*"))  # removed with the recording


def chunks_of(file, compress):
    """The records of an MCAP file, with the content of chunks compressed, and its index gone."""
    data, at, records = file.read_bytes(), 8, []
    while data[at] != 15:
        code, length = struct.unpack_from("<BQ", data, at)
        content = data[at + 9 : at + 9 + length]
        if code == 6:
            begin, end, size, _ = struct.unpack_from("<QQQI", content)
            assert content[28:32] == bytes(4)
            raw = content[40:]
            name, small = compress(raw)
            head = struct.pack("<QQQI", begin, end, size, 0) + text_field(name)
            content = head + struct.pack("<Q", len(small)) + small
        if code in (5, 6):
            records.append(record(code, content))
        at += 9 + length
    return records


@pytest.mark.parametrize(
    "compress",
    [
        lambda raw: ("zstd", bag_part.zstd.compress(raw)),
        lambda raw: ("lz4", lz4(raw)),
        lambda raw: ("lz4", lz4(raw[:1000]) + lz4(raw[1000:])),
        lambda raw: ("", raw),
    ],
    ids=["zstd", "lz4", "two frames", "none"],
)
def test_compressed_chunks_are_read_with_and_without_an_index(tmp_path, compress):
    file = recorded(tmp_path / "bag", "mcap", 9000)  # more than one chunk
    records = chunks_of(file, compress)
    assert len(records) > 1
    file.write_bytes(mcap(records))
    result, warnings = speeds(file)
    assert np.allclose(result, 0.1 * np.arange(9000)) and warnings == []


def odometry_at(times, file):
    """A chunk of messages of channel 1 logged at these times, with content of no meaning."""
    channel = struct.pack("<HH", 1, 0) + text_field(ODOM) + text_field("cdr") + bytes(4)
    inside = record(4, channel) + b"".join(
        record(5, struct.pack("<HIQQ", 1, 0, time, time) + bytes(8)) for time in times
    )
    head = struct.pack("<QQQI", min(times), max(times), len(inside), 0) + text_field("")
    return record(6, head + struct.pack("<Q", len(inside)) + inside)


def test_chunks_that_overlap_are_merged_by_time(tmp_path):
    """The index gives the first time of each chunk; the file has them in another order."""
    chunks = [odometry_at(times, tmp_path) for times in ([7, 9, 11], [1, 3, 5, 8], [2, 4, 20])]
    plain = mcap(chunks, summary=True)
    # The maker of the index writes 0 as the first time of each chunk: all chunks wait.
    file = tmp_path / "merged.mcap"
    file.write_bytes(plain)
    bag = Bag(file)
    bag.topics = {}
    name = "/joint_states"  # the channel's name in the summary
    assert [time for _, time, _ in bag.messages([name])] == [1, 2, 3, 4, 5, 7, 8, 9, 11, 20]
    assert all("damaged: 10 of" in warning for warning in bag.warnings)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("claimed", [1 << 30, 1000])
def test_a_chunk_of_a_gigabyte_takes_no_memory(tmp_path, compression, claimed):
    batch = bytes(1 << 30)
    small = bag_part.zstd.compress(batch) if compression == "zstd" else lz4(batch)
    head = struct.pack("<QQQI", 0, 1, claimed, 0) + text_field(compression)
    file = tmp_path / "bomb.mcap"
    file.write_bytes(mcap([record(6, head + struct.pack("<Q", len(small)) + small)]))
    del batch
    tracemalloc.start()
    with pytest.raises(
        RecordingError, match=r"bomb\.mcap: the size of a chunk .*limit of 64000000"
    ):
        Bag(file)
    assert tracemalloc.get_traced_memory()[1] < 200_000_000
    tracemalloc.stop()


def test_many_chunks_are_limited_by_the_size_of_the_file(tmp_path):
    inside = record(7, bytes(1000)) * 30_000
    small = bag_part.zstd.compress(inside)
    head = struct.pack("<QQQI", 0, 1, len(inside), 0) + text_field("zstd")
    chunk = record(6, head + struct.pack("<Q", len(small)) + small)
    file = tmp_path / "many.mcap"
    file.write_bytes(mcap([chunk] * 40))
    with pytest.raises(
        RecordingError, match="ratio of decompressed to stored bytes .*limit of 100"
    ):
        Bag(file)


def test_a_compressed_file_may_not_fill_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    recorded(tmp_path / "bag", "sqlite3")
    packed(tmp_path / "bag", "FILE")
    (file,) = (tmp_path / "bag").glob("*.zstd")
    whole = file.read_bytes()
    file.write_bytes(bag_part.zstd.compress(bytes(200_000_000)))
    with pytest.raises(RecordingError, match=r"\.zstd: cannot be decompressed: the ratio"):
        Bag(tmp_path / "bag")
    assert not list(tmp_path.glob("diffbot-bag-*/*"))
    file.write_bytes(whole)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 0, 1000))
    with pytest.raises(RecordingError, match="50 % of the free space of the temporary folder"):
        Bag(tmp_path / "bag")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rosbag2_bagfile_information: " + "[" * 5000, "limit of 50 levels"),
        ("a: &a [1]\nb: *a", "aliases"),
        ("# comment\n" * 200_000, "limit of 1000000 characters"),
        ("rosbag2_bagfile_information: {relative_file_paths: [../../x.db3]}", "no file x.db3"),
        ("rosbag2_bagfile_information: {relative_file_paths: {}}", "must be a list of names"),
        ("[]", "has no rosbag2_bagfile_information"),
    ],
)
def test_bad_metadata_are_named_and_the_files_read_without_them(tmp_path, storage, text, said):
    recorded(tmp_path / "bag", storage)
    (tmp_path / "bag" / "metadata.yaml").write_text(text)
    result, warnings = speeds(tmp_path / "bag")
    assert np.allclose(result, EXPECTED)
    assert len(warnings) == 1 and said in warnings[0] and "one by one" in warnings[0]
    assert "\n" not in warnings[0]


def edited(folder, *statements):
    """A SQLite bag after some statements."""
    file = recorded(folder / "bag", "sqlite3")
    with sqlite3.connect(file) as database:
        for statement in statements:
            database.execute(statement)
    database.close()
    return file


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, '/t' AS"


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE topics", f"CREATE VIEW topics AS {ENDLESS} name, 't' AS type FROM c"),
        ("DROP TABLE messages", f"CREATE VIEW messages AS {ENDLESS} topic_id FROM c"),
        (
            "DROP TABLE topics",
            "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, "
            "type AS (hex(zeroblob(400000000))))",
            "INSERT INTO topics VALUES (1, '/odom')",
        ),
    ],
    ids=["endless topics", "endless messages", "computed column"],
)
def test_only_plain_tables_of_rosbag2_are_read(tmp_path, statements):
    file = edited(tmp_path, *statements)
    with pytest.raises(RecordingError, match="is no plain table of rosbag2") as caught:
        Bag(file)
    assert str(file) in str(caught.value)


def test_other_views_do_no_harm(tmp_path):
    file = edited(tmp_path, f"CREATE VIEW others AS {ENDLESS} name FROM c")
    assert np.allclose(speeds(file)[0], EXPECTED)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE messages SET timestamp = 'soon' WHERE id = 11", "message 11 is no whole number"),
        ("UPDATE messages SET timestamp = 1e300 WHERE id = 11", "message 11 is no whole number"),
        ("UPDATE messages SET data = 'text' WHERE id = 11", "message 11 is no blob"),
        (
            "UPDATE messages SET data = zeroblob(2000000) WHERE id = 11",
            "the size of a message is 2000000, more than the limit of 1000000 bytes",
        ),
    ],
)
def test_rows_that_hold_nonsense_end_the_reading_there(tmp_path, statement, said):
    file = edited(tmp_path, statement)
    _, warnings = speeds(file)
    assert any(said in warning for warning in warnings)


def test_a_tree_of_pages_that_names_one_page_many_times_ends(tmp_path):
    words = sqlite_pages(tmp_path, np.random.default_rng(1))
    path = Path(words[1])
    pages = bytearray(path.read_bytes())
    with sqlite3.connect(path) as database:
        many = database.execute("SELECT count(*) FROM (SELECT 1 FROM messages LIMIT 10000000)")
        assert many.fetchone()[0] > len(pages) // 12  # it does name them many times
    database.close()
    with pytest.raises(
        RecordingError, match="the content of its tables exceeds the limit of 100 %"
    ):
        Bag(path)


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        ("float64 x\n" * 30_000, "ros2msg", "limit of 200000 characters"),
        ("float64 xx\n" * 10_000, "ros2msg", "limit of 50000 characters"),
        ("float64 x\n" * 3_000, "ros2msg", "limit of 2000 fields"),
        ("A a", "ros2msg", "contains itself"),
        (f"B[2000000000] x\n{'=' * 80}\nMSG: a_msgs/B\n", "ros2msg", "limit of 2000 fields"),
        ("module a {" * 300 + "};" * 300, "ros2idl", "nested too deeply"),
        ("(", "ros2msg", "cannot be read"),
        ("module b { struct A { double x; }; };", "ros2idl", "defines other types only"),
    ],
)
def test_definitions_that_cannot_be_are_named(tmp_path, text, encoding, said):
    schema = struct.pack("<H", 1) + b"".join(map(text_field, ("a_msgs/msg/A", encoding, text)))
    channel = struct.pack("<HH", 1, 1) + text_field("/motor") + text_field("cdr") + bytes(4)
    message = record(5, struct.pack("<HIQQ", 1, 0, 1, 1) + bytes(64))
    file = tmp_path / "types.mcap"
    file.write_bytes(mcap([record(3, schema), record(4, channel), message]))
    with pytest.raises(RecordingError, match=said) as caught:
        bag = Bag(file)
        bag.decoder(bag.topics["/motor"])
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)


def test_comments_of_definitions_do_not_count(tmp_path):
    schema = ("a_msgs/msg/A", "ros2msg", "# comment\n" * 10_000 + "float64 x\n")
    channel = struct.pack("<HH", 1, 1) + text_field("/motor") + text_field("cdr") + bytes(4)
    data = b"\0\1\0\0" + struct.pack("<d", 1.5)
    file = tmp_path / "types.mcap"
    records = [record(3, struct.pack("<H", 1) + b"".join(map(text_field, schema)))]
    records += [record(4, channel), record(5, struct.pack("<HIQQ", 1, 0, 1, 1) + data)]
    file.write_bytes(mcap(records))
    bag = Bag(file)
    decode = bag.decoder(bag.topics["/motor"])
    assert [decode(data).x for _, _, data in bag.messages(["/motor"])] == [1.5]


def test_names_of_topics_reach_the_terminal_as_text(tmp_path, capsys):
    file = edited(tmp_path, "UPDATE topics SET name = '/odom' || char(27) || '[2J', type = 'x'")
    assert main([str(file), "--no-pictures", "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "/odom\\x1b[2J" in said and "\x1b" not in said


def test_metadata_name_files_of_the_folder_only(tmp_path, storage):
    recorded(tmp_path / "bag", storage)
    result = StorageFiles.of(tmp_path / "bag")
    assert [file.parent for file in result.files] == [tmp_path / "bag"] and not result.warnings


def test_a_table_of_rows_that_cannot_be_read_is_refused_at_a_limit(tmp_path, capsys):
    path = tmp_path / "short.csv"
    path.write_text("time,command_v,command_w,v,w\n" + "1,\n" * (UNREADABLE.value + 1))
    assert main([str(path), "--no-pictures"]) == 2
    said = capsys.readouterr().err
    assert UNREADABLE.name in said and "500000 rows" in said and "Traceback" not in said
