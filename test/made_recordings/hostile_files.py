# SPDX-License-Identifier: Apache-2.0
"""Files of every kind that the suite reads, made to run code, to take all memory, or to last.

Each maker writes a file, drawn with a seeded generator, and returns the command that reads it. Code
that gets out would write the file CANARY into the folder.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from lz4.frame import LZ4FrameCompressor

from diffbot_recordings.bag_part import zstd
from made_recordings.mcap_records import mcap, record, text_field

CANARY = "canary"
Rng = np.random.Generator
Maker = Callable[[Path, Rng], Sequence[str]]
"""Writes a file into a folder; returns the words of the command of ./diffbot that reads it."""

_XACRO = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
_IDENTIFY = ("--robot", "twil", "--no-pictures")
_JOINTS, _STATE = "/joint_states", "sensor_msgs/msg/JointState"


def _one(rng: Rng, *choices: str) -> str:
    return choices[int(rng.integers(len(choices)))]


def _write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


# Descriptions of robots.


def _code(rng: Rng, canary: Path) -> str:
    """Return an expression that would write the canary if nothing stopped it."""
    write = f"open('{canary}', 'w')"
    system = f"system('touch {canary}')"
    result = _one(
        rng,
        write,
        f"exec('{write!r}')",
        f"(lambda: [c for c in ().__class__.__base__.__subclasses__()][0].{system})()",
        f"[c.__init__.__globals__['{system}'] for c in ().__class__.__base__.__subclasses__()]",
        f"(x for x in [1]).gi_frame.f_back.f_builtins['open']('{canary}', 'w')",
        f"python.vars(python.type(xacro.load_yaml))['_' + '_globals_' + '_'].{system}",
        f"python.type(python.type(1))('X', python.tuple([]), dict(a=1)).{system}",
        f"('%c0.x%c' % (123, 125)).format(xacro.load_yaml).{system}",
        f"__import__('os').{system}",
    )
    wrapped = _one(rng, "{}", "[{} for i in [1]]", "({} if 1 else 0)", "str({})", "[[{}][0]][0]")
    return wrapped.format(result).replace("&", "&amp;").replace("<", "&lt;")


def _in_xacro(rng: Rng, code: str) -> str:
    """Return content of a xacro file that evaluates an expression."""
    places = (
        '<link name="${{{}}}"/>',
        '<link name="$(eval {})"/>',
        '<xacro:property name="p" value="${{{}}}"/><link name="${{p}}"/>',
        '<xacro:if value="${{{}}}"><link name="a"/></xacro:if>',
        '<xacro:arg name="a" default="$(eval {})"/><link name="$(arg a)"/>',
        '<link name="a"><visual name="$(eval {})"/></link>',
    )
    return _XACRO.format(_one(rng, *places).format(code))


def xacro_code(folder: Path, rng: Rng) -> Sequence[str]:
    """A xacro whose expressions try to get out."""
    path = folder / "hostile.urdf.xacro"
    return "describe", _write(path, _in_xacro(rng, _code(rng, folder / CANARY)))


def urdf_code(folder: Path, rng: Rng) -> Sequence[str]:
    """The same in a .urdf, which is not evaluated."""
    path = folder / "hostile.urdf"
    return "describe", _write(path, _in_xacro(rng, _code(rng, folder / CANARY)))


def launch_code(folder: Path, rng: Rng) -> Sequence[str]:
    """A launch that is only shown, of a robot by its xacro."""
    path = folder / "hostile.urdf.xacro"
    _write(path, _in_xacro(rng, _code(rng, folder / CANARY)))
    return "launch", "ident", f"robot:={path}", "--dry-run"


def appearance_code(folder: Path, rng: Rng) -> Sequence[str]:
    """A robot file whose shapes are in a xacro."""
    shapes = folder / "shapes.urdf.xacro"
    _write(shapes, _in_xacro(rng, _code(rng, folder / CANARY)))
    return _robot(folder, f"  urdf: {shapes}\n")


def _robot(folder: Path, appearance: str = "", more: str = "") -> Sequence[str]:
    twil = Path(__file__).parents[2] / "diffbot_description/config/twil.yaml"
    text = twil.read_text().replace("appearance:", f"appearance:\n{appearance}#", 1)
    return "robot_urdf", _write(folder / "hostile.yaml", text + more)


def xacro_time(folder: Path, rng: Rng) -> Sequence[str]:
    """A xacro that lasts for ever."""
    content = _one(
        rng,
        '<link name="${9**9**9}"/>',
        '<link name="${math.factorial(10**8)}"/>',
        '<link name="${len([i for i in python.range(10**9)])}"/>',
        '<link name="${python.sum(python.range(10**11))}"/>',
        '<xacro:macro name="m" params="n"><xacro:m n="a"/><xacro:m n="b"/></xacro:macro>'
        '<xacro:m n="a"/>',
        "".join(
            f'<xacro:macro name="m{i}" params="n"><xacro:m{i + 1} n="a"/><xacro:m{i + 1} n="b"/>'
            "</xacro:macro>"
            for i in range(30)
        )
        + '<xacro:macro name="m30" params="n"><a/></xacro:macro><xacro:m0 n="a"/>',
        '<xacro:include filename="hostile.urdf.xacro"/>',
        f'<link name="${{{"(" * 1500}}}"/>',
    )
    return "describe", _write(folder / "hostile.urdf.xacro", _XACRO.format(content))


def xacro_memory(folder: Path, rng: Rng) -> Sequence[str]:
    """A xacro that takes all memory."""
    size = int(rng.integers(10**9, 10**11))
    expression = _one(
        rng,
        f"len('a' * {size})",
        f"len([0] * {size})",
        f"len('%{size}d' % 1)",
        "xacro.load_yaml('/dev/zero')",
        f"python.list(python.range({size}))",
    )
    content = _XACRO.format(f'<link name="${{{expression}}}"/>')
    return "describe", _write(folder / "hostile.urdf.xacro", content)


def urdf_size(folder: Path, rng: Rng) -> Sequence[str]:
    """A URDF that is too large, too deep, or expands."""
    count = int(rng.integers(20_000, 40_000))
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    content = _one(
        rng,
        f"<robot>{'<!-- comment -->' * 1_300_000}</robot>",
        "<robot>" + "<a>" * count + "</a>" * count + "</robot>",
        f'<!DOCTYPE robot [<!ENTITY a0 "x">{entities}]><robot name="&a11;"/>',
        f"<robot>{''.join(f'<link name={chr(34)}l{i}{chr(34)}/>' for i in range(count))}</robot>",
        f"<robot>{'<a/>' * 200_000}</robot>",
        f'<robot name="{"x" * 900_000}"><link/></robot>',
        '<robot name="r"><link name="&#x9b;2J&#x202e;"/><link name="b"/></robot>',
    )
    return "describe", _write(folder / "hostile.urdf", content)


def mesh(folder: Path, rng: Rng) -> Sequence[str]:
    """A URDF whose mesh is hostile."""
    from made_recordings.hostile_meshes import write_mesh

    name = write_mesh(folder, rng)
    shape = f'<geometry><mesh filename="{name}"/></geometry>'
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    inertial = f'<inertial><mass value="1"/>{inertia}</inertial>'
    parts = [
        f'<link name="{link}">{inertial}<visual>{shape}</visual>'
        f"<collision>{shape}</collision></link>"
        for link in ("base", "left_wheel", "right_wheel")
    ]
    parts += [
        f'<joint name="{side}_wheel_joint" type="continuous"><parent link="base"/>'
        f'<child link="{side}_wheel"/><origin xyz="0 {y} 0"/><axis xyz="0 1 0"/></joint>'
        for side, y in (("left", 0.1), ("right", -0.1))
    ]
    return "describe", _write(folder / "hostile.urdf", f'<robot name="r">{"".join(parts)}</robot>')


def yaml_size(folder: Path, rng: Rng) -> Sequence[str]:
    """A robot file that expands, is too deep or too large, or names keys for the terminal."""
    depth = int(rng.integers(60, 5000))
    return _robot(
        folder,
        more=_one(
            rng,
            "\nx: &a [1]\ny: *a\n",
            "\nx: {<<: {a: 1}, b: 2}\n",
            "\nx: " + "{<<: " * depth + "1" + "}" * depth + "\n",
            "\nx: " + "[" * depth + "]" * depth + "\n",
            "\n" + "# comment\n" * 2_000_000,
            f"\nx: [{'1,' * 300_000}]\n",
            "".join(f"\nk{i}: 1" for i in range(80_000)),
            '\n"\\e[2J\\e]0;title\\a": 1\n',
            "\nx: 1" + "0" * 5000 + "\n",
        ),
    )


# Recordings.


def _mcap_words(path: Path) -> Sequence[str]:
    return "identify", str(path), *_IDENTIFY


def mcap_bomb(folder: Path, rng: Rng) -> Sequence[str]:
    """An MCAP file whose chunk holds gigabytes."""
    path = folder / "hostile.mcap"
    size = int(rng.integers(1 << 30, 3 << 30))
    compression = _one(rng, "zstd", "lz4")
    packed = _zeros(size, compression)
    claimed = int(_one(rng, str(size), "1000", str(1 << 62), "60000000"))
    head = struct.pack("<QQQI", 0, 1, claimed, 0)
    content = head + text_field(compression) + struct.pack("<Q", len(packed)) + packed
    path.write_bytes(mcap([record(6, content)], summary=bool(rng.random() < 0.5)))
    return _mcap_words(path)


def _zeros(size: int, compression: str) -> bytes:
    """Return zeros, compressed."""
    batch = bytes(1 << 22)
    if compression == "zstd":
        packer = zstd.ZstdCompressor()
        parts = [packer.compress(batch) for _ in range(size >> 22)]
        return b"".join((*parts, packer.flush()))
    with LZ4FrameCompressor() as other:
        begin = other.begin()
        parts = [other.compress(batch) for _ in range(size >> 22)]
        return b"".join((begin, *parts, other.flush()))


def mcap_chunks(folder: Path, rng: Rng) -> Sequence[str]:
    """Many chunks that each are allowed, with messages or empty records."""
    message = record(5, struct.pack("<HIQQ", 1, 0, 1, 1) + bytes(int(rng.integers(8, 64))))
    inside = (message if rng.random() < 0.5 else record(7, b"")) * 200_000
    packed = zstd.compress(inside)
    head = struct.pack("<QQQI", 0, 1, len(inside), 0)
    content = head + text_field("zstd") + struct.pack("<Q", len(packed)) + packed
    path = folder / "hostile.mcap"
    count = int(rng.integers(50, 400))
    path.write_bytes(mcap([record(6, content)] * count, summary=bool(rng.random() < 0.5)))
    return _mcap_words(path)


def mcap_records(folder: Path, rng: Rng) -> Sequence[str]:
    """Records whose lengths, definitions or indexes are nonsense."""
    path = folder / "hostile.mcap"
    chunk = record(6, struct.pack("<QQQI", 0, 1, 0, 0) + text_field("") + struct.pack("<Q", 0))
    definition = "float64 x\n" * 20_000_000
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: mcap([record(3, _schema(1, _STATE, "ros2msg", definition))]),
        lambda: mcap([record(3, _schema(1, _STATE, "no such", "x"))]),
        lambda: mcap([record(3, struct.pack("<HI", 1, 2**32 - 1))]),
        lambda: mcap([b"\x05" + struct.pack("<Q", 2**63 - 1)]),
        lambda: mcap([b"\x00" + struct.pack("<Q", 0)] * 100_000),
        lambda: mcap([record(4, _channel(i, f"/t{i}\x1b[2J", 1)) for i in range(30_000)]),
        lambda: mcap([chunk], index=[(40, 2**62)] * 1000),
        lambda: mcap([chunk], index=[(42, 50)] * 50_000),
        lambda: mcap([record(9, bytes(10_000_000))] * 3),
        lambda: mcap([record(6, struct.pack("<QQQI", 0, 1, 9, 0) + text_field("bz2" * 99))]),
    )
    path.write_bytes(kinds[int(rng.integers(len(kinds)))]())
    return _mcap_words(path)


def _schema(number: int, name: str, encoding: str, text: str) -> bytes:
    return struct.pack("<H", number) + b"".join(map(text_field, (name, encoding, text)))


def _channel(number: int, topic: str, schema: int) -> bytes:
    head = struct.pack("<HH", number, schema) + text_field(topic) + text_field("cdr")
    return head + struct.pack("<I", 0)


_RULE = "\n" + "=" * 80 + "\n"


def definitions(folder: Path, rng: Rng) -> Sequence[str]:
    """Types of messages that are endless, enormous, or contain themselves."""
    pairs = "".join(
        f"{_RULE}MSG: a_msgs/T{i}\nT{i + 1} a\nT{i + 1} b" for i in range(int(rng.integers(20, 60)))
    )
    encoding, _, text = _one(
        rng,
        "msg:A a",
        f"msg:a_msgs/B x{_RULE}MSG: a_msgs/B\nA y",
        f"msg:a_msgs/B[2000000000] x{_RULE}MSG: a_msgs/B\n",
        "msg:string[1000000000] x",
        "msg:float64[1000000000] x",
        f"msg:T0 a\nT0 b{pairs}",
        "msg:" + "# a\n" * 40_000 + "float64 x",
        "msg:" + "\n".join(f"float64 x{i}" for i in range(9000)),
        "msg:" + "(" * 3000,
        "msg:float64 \x1b[2J",
        "idl:" + "module m {" * 300 + "};" * 300,
        "idl:" + "module a_msgs { module msg { struct A { double x; }; }; };" * 900,
        "idl:" + "/*" * 20_000,
    ).partition(":")
    message = record(5, struct.pack("<HIQQ", 1, 0, 1, 1) + b"\0\1\0\0" + bytes(64))
    content = [
        record(3, _schema(1, "a_msgs/msg/A", f"ros2{encoding}", text)),
        record(4, _channel(1, "/motor", 1)),
        *[message] * 30,
    ]
    path = folder / "hostile.mcap"
    path.write_bytes(mcap(content))
    columns = ",".join(
        f"{side}_{quantity}=/motor.x"
        for side in ("left", "right")
        for quantity in ("voltage", "current", "velocity")
    )
    return "identify", str(path), "--kind", "motor", "--columns", columns, "--no-pictures"


_TOPICS = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, {});".format(
    "serialization_format TEXT, offered_qos_profiles TEXT, type_description_hash TEXT"
)
_MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data);"
_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT"


def sqlite_schema(folder: Path, rng: Rng) -> Sequence[str]:
    """SQLite files whose tables are views, or compute, or hold what they should not."""
    topic = f"INSERT INTO topics VALUES (1, '{_JOINTS}', '{_STATE}', 'cdr', '', '');"
    row = "INSERT INTO messages SELECT value, 1, {}, {} FROM generate(2000);"
    script = _one(
        rng,
        f"CREATE VIEW topics AS {_ENDLESS} x AS id, '/t' AS name, 't' AS type FROM c;{_MESSAGES}",
        f"{_TOPICS}{topic}CREATE VIEW messages AS {_ENDLESS} x AS id, 1 AS topic_id, x AS "
        "timestamp, x'00' AS data FROM c;",
        f"CREATE TABLE a(x);{row.replace('messages', 'a').replace('value, 1, {}, {}', 'value')}"
        "CREATE VIEW topics AS SELECT p.x AS id, '/t' AS name, 't' AS type FROM a p, a q, a r, a s;"
        f"{_MESSAGES}",
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type AS (hex(zeroblob(400000000)))"
        f");INSERT INTO topics VALUES (1, '{_JOINTS}');{_MESSAGES}",
        f"{_TOPICS}{topic}{_MESSAGES}" + row.format("'text'", "x'00010000'"),
        f"{_TOPICS}{topic}{_MESSAGES}" + row.format("value", "'text'"),
        f"{_TOPICS}{topic}{_MESSAGES}" + row.format("value * 1e300", "NULL"),
        f"{_TOPICS}INSERT INTO topics SELECT value, '/t' || char(27) || '[2J' || value, '{_STATE}',"
        f"'cdr', '', '' FROM generate(30000);{_MESSAGES}",
        f"{_TOPICS}{topic}{_MESSAGES}"
        + row.format("value", "zeroblob(3000000)").replace("2000", "9"),
        f"{_TOPICS}{topic}CREATE VIRTUAL TABLE messages USING fts5(topic_id, timestamp, data);",
    )
    path = folder / "hostile.db3"
    database = sqlite3.connect(path)
    numbers = "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT {}) "
    for part in script.split(";"):
        head, result, count = part.partition("generate(")
        if result:
            part = head + numbers.format(count.rstrip(")")) + "SELECT value FROM n)"
        try:
            database.execute(part)
        except sqlite3.OperationalError:  # without fts5, or in an old version
            continue
    database.commit()
    database.close()
    return "identify", str(path), *_IDENTIFY


def sqlite_pages(folder: Path, rng: Rng) -> Sequence[str]:
    """A SQLite file whose tree of pages names one page again and again."""
    path = folder / "hostile.db3"
    database = sqlite3.connect(path)
    database.executescript(f"PRAGMA page_size = 512;{_TOPICS}{_MESSAGES}")
    database.execute(f"INSERT INTO topics VALUES (1, '{_JOINTS}', '{_STATE}', 'cdr', '', '')")
    rows = [(1, i, bytes(int(rng.integers(20, 200)))) for i in range(4000)]
    database.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", rows)
    database.commit()
    (root,) = database.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'messages'"
    ).fetchone()
    database.close()
    pages = bytearray(path.read_bytes())
    interior = [n for n in range(2, len(pages) // 512 + 1) if pages[512 * n - 512] == 5]
    # Each page names the next one as all of its children: their number is a power of the depth.
    chain = [root, *(n for n in interior if n != root)][: int(rng.integers(8, 18))]
    for page, child in itertools.pairwise(chain):
        begin = 512 * page - 512
        (count,) = struct.unpack_from(">H", pages, begin + 3)
        cells = struct.unpack_from(f">{count}H", pages, begin + 12)
        for place in (8, *cells):
            pages[begin + place : begin + place + 4] = child.to_bytes(4, "big")
    path.write_bytes(pages)
    return "identify", str(path), *_IDENTIFY


def packed_folder(folder: Path, rng: Rng) -> Sequence[str]:
    """A recording whose compressed file, or whose metadata, is hostile."""
    bag = folder / "hostile_bag"
    bag.mkdir()
    depth = int(rng.integers(100, 20_000))
    information = {
        "version": 5,
        "storage_identifier": "sqlite3",
        "relative_file_paths": ["hostile.db3.zstd"],
        "compression_format": "zstd",
        "compression_mode": _one(rng, "FILE", "file", "message"),
    }
    text = json.dumps({"rosbag2_bagfile_information": information})
    text = _one(
        rng,
        text,
        text,
        "rosbag2_bagfile_information: " + "[" * depth + "]" * depth,
        "a: &a [x]\nb: [*a, *a]\n" + text,
        text.replace("hostile.db3.zstd", "../" * 9 + "dev/zero"),
        "# comment\n" * 2_000_000 + text,
    )
    (bag / "metadata.yaml").write_text(text)
    (bag / "hostile.db3.zstd").write_bytes(_zeros(2 << 30, "zstd"))
    return "identify", str(bag), *_IDENTIFY


# Tables and logs.


def table(folder: Path, rng: Rng) -> Sequence[str]:
    """A table of comments, without line breaks, with very many columns, or of open quotes."""
    head = "time,command_v,command_w,v,w\n"
    content = _one(
        rng,
        head + "# comment\n" * 2_000_000,
        "# comment\n" * 2_000_000 + head,
        head + "\n" * 20_000_000,
        head + "1," * 10_000_000,
        ",".join(f"c{i}" for i in range(100_000)) + "\n",
        head + '0,0,0,0,"' + "x,\n" * 5_000_000,
        "time,\x1b[2Jv,\x9b31mw\n1,2,3\n",
        head + "\n".join(f"{i},1e400,nan,-inf,{'9' * 400}" for i in range(50_000)),
    )
    return "identify", _write(folder / "hostile.csv", content), "--no-pictures"


def log(folder: Path, rng: Rng) -> Sequence[str]:
    """A log of SysId that is too deep or too large."""
    depth = int(rng.integers(2000, 200_000))
    good = '{"sysid": true, "test": "Drivetrain", "units": "Meters", "unitsPerRotation": 1.0'
    number = '%s, "slow-forward": [[%s]]}'
    content = _one(
        rng,
        '{"test": ' + "[" * depth + "]" * depth + "}",
        f'{good}, "slow-forward": {"[" * depth}{"]" * depth}}}',
        number % (good, ",".join(["1e400"] * 9)),
        number % (good, ",".join(["1" + "0" * 6000] * 9)),
        number % (good, "[]," * 9_000_000 + "[]"),
        '{"test": "\\u001b[2J", "units": "\\u009b"}',
        "[" + "{}," * 3_000_000 + "{}]",
    )
    return "identify", _write(folder / "hostile.json", content), "--no-pictures"


def wpilog(folder: Path, rng: Rng) -> Sequence[str]:
    """A WPILOG with very many records, or nonsense in its control records."""
    begin = b"WPILOG" + struct.pack("<HI", 0x0100, 0)
    start = _wpi_start(1, _one(rng, "sysid-test-state", "left velocity", "\x1b[2J"), "string")
    records = (b"\x00\x01\x02\x01ab", b"\x00\x01\x00\x01", b"\x00\x02\x08\x01" + bytes(8))
    body = records[int(rng.integers(3))] * int(rng.integers(1_000_000, 8_000_000))
    content = (begin + start + body)[: int(rng.integers(40, 60_000_000))]
    return "identify", _write(folder / "hostile.wpilog", content), "--no-pictures"


def _wpi_start(number: int, name: str, kind: str) -> bytes:
    texts = b"".join(text_field(text) for text in (name, kind, ""))
    content = b"\x00" + struct.pack("<I", number) + texts
    return bytes((0b0010000 | 0b100, 0)) + struct.pack("<H", len(content)) + b"\x01\x00" + content


def results(folder: Path, rng: Rng) -> Sequence[str]:
    """Results to export that are too deep, too large, or expand."""
    depth = int(rng.integers(2000, 200_000))
    name, content = (
        ("summary.json", '{"name": ' + "[" * depth + "]" * depth + "}"),
        ("dynamic_parameters.yaml", "a: &a [1]\nk7: *a\n"),
        ("dynamic_parameters.yaml", "k7: " + "[" * depth),
        ("dynamic_parameters.yaml", "k7: 1\n" + "# comment\n" * 2_000_000),
        ("hostile.yaml", 'k7: "\\e[2J"\n/**: {"\\e]0;t\\a": 1}\n'),
        ("summary.json", '{"wheels": {"radius": 1' + "0" * 5000 + "}}"),
    )[int(rng.integers(6))]
    made = folder / "hostile_results"
    made.mkdir()
    path = _write(made / name, content)
    return "export", path, "--to", "urdf", "--robot", "twil", "--output", str(folder / "out")


MAKERS: tuple[Maker, ...] = (
    xacro_code, urdf_code, launch_code, appearance_code, xacro_time, xacro_memory, urdf_size, mesh,
    yaml_size, mcap_bomb, mcap_chunks, mcap_records, definitions, sqlite_schema, sqlite_pages,
    packed_folder, table, log, wpilog, results,
)  # fmt: skip


def make(number: int, seed: int, folder: Path, makers: Iterable[Maker] = MAKERS) -> Sequence[str]:
    """Write a hostile file into an empty folder; return the words of the command that reads it.

    Args:
        number: Number of the file; consecutive ones are of different kinds.
        seed: Seed of all files.
        folder: The folder.
        makers: Kinds of files.
    """
    kinds = tuple(makers)
    return kinds[number % len(kinds)](folder, np.random.default_rng((seed, number)))
