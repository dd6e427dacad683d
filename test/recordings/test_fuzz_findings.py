# SPDX-License-Identifier: Apache-2.0
"""Inputs that benchmarks/fuzz.py found: each gives one clear line, soon."""

from __future__ import annotations

import contextlib
import json
import math
import time
import warnings
from types import SimpleNamespace

import pytest

from diffbot_bringup.xml_launch.document import LaunchError, check, parameter_value, read
from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_bringup.xml_launch.substitutions import Scope, evaluate
from diffbot_controllers.parameter_reader import DynamicsFile
from diffbot_description.files import parse_yaml
from diffbot_description.velocity_parameters import read_sigma
from diffbot_recordings.bag import Bag
from diffbot_recordings.bag_topics import upright_yaw
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sysid_log import read_sysid
from diffbot_recordings.table import CsvSource
from diffbot_recordings.table_columns import parse_columns
from diffbot_recordings.table_rows import RowFilter
from diffbot_report.summary import parse_arguments

HUGE = "1" + "0" * 400
# Each name stands for nine of the one before: 9**9 values in ten lines.
NAMES = "abcdefghij"
LAUGHS = "a: &a [x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip(NAMES, NAMES[1:], strict=False)
)


def refused(error):
    """The message, which has to be one line."""
    text = str(error.value)
    assert text.strip() and "\n" not in text
    return text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "line 2: aliases"),
        ("[" * 3000, "limit of 50 levels"),
        ("{" * 3000, "limit of 50 levels"),
        ("a: [\n", "line 2, column 1"),
        ("\x00", "special characters"),
        ('!!int ""', "line 1: a value has the wrong type"),
        ("x: !!bool x", "line 1: a value has the wrong type"),
        ("x: !!timestamp x", "line 1: a value has the wrong type"),
        ("x: 2001-99-99", "line 1: a value has the wrong type"),
        ("x: 0x_", "line 1: a value has the wrong type"),
        ("!!set [1]", "expected a mapping"),
        ('"\\U99999999"', "escaped character"),
        (f"x: {HUGE}", "more than 64 bits"),
        pytest.param("x" * 1_000_001, "limit of 1000000 characters", id="long"),
    ],
)
def test_yaml(text, words):
    with pytest.raises(ValueError) as error:
        parse_yaml(text)
    assert words in refused(error)


def test_files_of_parameters(tmp_path):
    file = tmp_path / "parameters.yaml"
    for text in (f"n: {{ros__parameters: {{k5: {HUGE}}}}}", LAUGHS, "n: [", "[" * 3000):
        file.write_text(text)
        for read_file in (lambda path: DynamicsFile(path).dynamics("twil"), read_sigma):
            with pytest.raises(ValueError) as error:
                read_file(str(file))
            assert str(file) in refused(error) and "identify" in refused(error)


@pytest.mark.parametrize(
    "text",
    ["9**9**9", "'a'*10**10", "10**9*[1]", "'%1000000000d' % 1", "comb(10**7, 10**6)", "not " * 400]
    + ["(" * 900, "-" * 1999, "9" * 5000, "1 " * 1500],
)
@pytest.mark.wall_time
def test_expressions_end(text):
    begin = time.process_time()
    with pytest.raises(ValueError) as error:
        evaluate(text)
    assert refused(error).startswith("$(eval): ")
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("text", ["1if 1 else 2", "1or 2", "0x1for x", "'a'[1.0]", "1(2)"])
def test_expressions_print_no_warning_of_python(text):
    with warnings.catch_warnings(record=True) as printed, contextlib.suppress(ValueError):
        warnings.simplefilter("always")
        evaluate(text)
    assert not printed


def test_expressions_still_mean_what_python_means():
    assert evaluate("2**10 + 7 % 4") == str(2**10 + 7 % 4)
    assert evaluate("'ab' * 3") == "ababab" and evaluate("comb(10, 3)") == "120"
    assert evaluate("(1 + 1e-9)**1e9")[:4] == "2.71"


@pytest.mark.parametrize(
    "body",
    [
        "<group>" * 3000 + "</group>" * 3000,
        f'<let name="a" value="{"$(var " * 2000}x{")" * 2000}"/>',
    ],
)
def test_launch_files(body, tmp_path):
    file = tmp_path / "x.launch.xml"
    file.write_text(f"<launch>{body}</launch>")
    with pytest.raises(LaunchError) as error:
        check(read(file).root)
        Resolver({}).file(file, [])
    assert f"{file}:1" in refused(error)


@pytest.mark.parametrize("text", ["[" * 3000, "!!int ''", "2001-99-99x: ["])
def test_values_of_parameters(text):
    scope = Scope({})
    scope.configurations["a"] = text
    with pytest.raises(ValueError) as error:
        parameter_value("$(var a)", None, scope)
    refused(error)


def test_logs_of_sysid(tmp_path):
    good = {"sysid": True, "test": "Drivetrain", "units": "Meters", "unitsPerRotation": 1.0}
    rows = [[0.0] * 9] * 3
    for wrong, name in (
        ({"unitsPerRotation": int(HUGE)}, "unitsPerRotation"),
        ({"units": []}, "units"),
        ({"slow-forward": [[int(HUGE)] * 9]}, "slow-forward"),
    ):
        file = tmp_path / "log.json"
        file.write_text(json.dumps({**good, "slow-forward": rows, **wrong}))
        with pytest.raises(RecordingError, match=name) as error:
            read_sysid(file)
        refused(error)


def test_tables(tmp_path):
    file = tmp_path / "table.csv"
    file.write_bytes(b"time,v\rx,y\n" + b"1,1\n")
    with pytest.raises(RecordingError) as error:
        CsvSource(file, {}, RowFilter())
    refused(error)
    file.write_text("time,v\n" + "x" * 200_000 + "\n1.0,2.0\n")
    source = CsvSource(file, parse_columns(["v=v"]), RowFilter())
    assert sum(len(batch.times) for batch in source.batches()) == 1


def test_recordings_with_lengths_of_nonsense(tmp_path):
    # A whole header, then a chunk that says it has 2**63 bytes.
    file = tmp_path / "torn.mcap"
    file.write_bytes(b"\x89MCAP0\r\n\x01" + (2**63 - 1).to_bytes(8, "little") + bytes(40))
    with pytest.raises(RecordingError) as error:
        Bag(file)
    refused(error)
    file.write_bytes(b"not magic")
    with pytest.raises(RecordingError, match=r"File magic is invalid\. If it was cut off"):
        Bag(file)


@pytest.mark.wall_time
def test_conditions_on_rows_take_no_time():
    begin = time.process_time()
    for text in (" " * 20_000, "a" + " " * 20_000, "x or " * 5000):
        with pytest.raises(RecordingError):
            RowFilter.parse([text])
    assert RowFilter.parse([" a = b  or  c != 1 "]).columns == ("a", "c")
    assert time.process_time() - begin < 1.0


def test_arguments_of_a_run():
    deep = "[" * 100_000
    assert parse_arguments(f"a:={deep} b:={'9' * 5000}") == {"a": deep, "b": "9" * 5000}


@pytest.mark.parametrize("size", [1e200, 1e5, 0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("part", ["x", "y", "z", "w"])
def test_a_quaternion_that_is_no_rotation_has_no_yaw(part, size):
    """One component damaged: a square of 1e200 is beyond the range of floats."""
    quaternion = SimpleNamespace(**{**dict.fromkeys("xyzw", 0.0), part: size})
    assert math.isnan(upright_yaw(quaternion))
