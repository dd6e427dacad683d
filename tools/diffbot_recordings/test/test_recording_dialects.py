# SPDX-License-Identifier: Apache-2.0
"""Tables as people have them: encodings, decimal commas, units, order, comments; what is asked."""

import codecs

import numpy as np
import pytest

from diffbot_recordings.options import Options
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.table import CsvSource, open_tables
from diffbot_recordings.table_columns import parse_columns
from diffbot_recordings.table_rows import RowFilter

ROWS = [(0.02 * k, 0.1 * (k % 5), 0.05 * (k % 7)) for k in range(60)]


def source(tmp_path, text, columns=(), where=()):
    path = tmp_path / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CsvSource(path, parse_columns(columns), RowFilter.parse(where))


def read(table):
    """Times and values of "v"."""
    batches = [batch for batch in table.batches() if "v" in batch.channels]
    times = np.concatenate([batch.times for batch in batches])
    return times, np.concatenate([batch.channels["v"] for batch in batches])


def text(header="time,cmd_v,v", rows=ROWS, delimiter=",", cell="{:.6g}".format):
    lines = [delimiter.join(cell(value) for value in row) for row in rows]
    return "\n".join((header.replace(",", delimiter), *lines)) + "\n"


def comma(value):
    return f"{value:.6g}".replace(".", ",")


def quoted(value):
    return f'"{comma(value)}"'


DIALECTS = {
    "quoted decimal commas": text(cell=quoted),
    "decimal commas": text(delimiter=";", cell=comma),
    "spaces": text(delimiter="   "),
    "tabs": text(delimiter="\t"),
    "byte order mark": codecs.BOM_UTF8 + text().encode(),
    "UTF-16": text().encode("utf-16"),
    "comments": "# by a logger\n# v in m/s\n" + text().replace("\n0.4,", "\n# lap 2\n0.4,"),
    "names in a comment": "# time cmd_v v\n" + "\n".join(text(delimiter=" ").split("\n")[1:]),
    "a hint to a spreadsheet": "sep=;\n" + text(delimiter=";"),
    "carriage returns": text().replace("\n", "\r\n"),
    "units in brackets": text(
        "time [ms],cmd_v (mm/s),v [km/h]", [(1e3 * t, 1e3 * c, 3.6 * v) for t, c, v in ROWS]
    ),
    "units at the end": text(
        "time_ms,cmd_v_mmps,v_kmh", [(1e3 * t, 1e3 * c, 3.6 * v) for t, c, v in ROWS]
    ),
    "shuffled rows": text(rows=[ROWS[i] for i in np.random.default_rng(1).permutation(len(ROWS))]),
}


DATES = (
    ("time", "2026-01-31 12:00:{:09.6f}"),
    ("timestamp", "2026-01-31T12:00:{:012.9f}Z"),
    ("time_ms", '"2026-01-31 12:00:{:07.4f}"'),
)


@pytest.mark.parametrize(("name", "form"), DATES)
@pytest.mark.parametrize("decimal", [".", ","])
def test_dates_are_seconds_since_1970(tmp_path, name, form, decimal):
    lines = [f"{form.format(t).replace('.', decimal)};{c:.6g};{v:.6g}" for t, c, v in ROWS]
    table = source(tmp_path, "\n".join((f"{name};cmd_v;v", *lines)))
    assert f"{name} in dates" in table.understood[0]
    times, velocity = read(table)
    assert times - 1769860800.0 == pytest.approx([row[0] for row in ROWS], abs=1e-6)
    assert velocity == pytest.approx([row[2] for row in ROWS], abs=1e-6)


def test_a_date_that_does_not_exist_costs_its_row(tmp_path):
    days = ("2026-02-26", "2026-02-27", "2026-02-28", "2026-02-29", "2026-03-01", "2026-03-02")
    table = source(tmp_path, "time,v\n" + "".join(f"{day} 12:00:00,1\n" for day in days))
    assert np.diff(read(table)[0]).tolist() == [86400.0] * 4
    assert any("1 without a time" in warning for warning in table.warnings)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_all_of_these_are_one_table(tmp_path, dialect):
    table = source(tmp_path, DIALECTS[dialect])
    assert set(table.channels) == {"command_v", "v"}
    times, velocity = read(table)
    assert times == pytest.approx([row[0] for row in ROWS], abs=1e-6)
    assert velocity == pytest.approx([row[2] for row in ROWS], abs=1e-6)


def test_what_was_understood_is_said_with_columns_and_units(tmp_path):
    lines = source(tmp_path, DIALECTS["units in brackets"]).understood
    assert len(lines) == 2
    assert "commas" in lines[0] and "time [ms] in ms" in lines[0]
    assert "command_v = cmd_v (mm/s) * 0.001" in lines[1]


def test_a_factor_that_is_given_counts_more_than_the_unit_of_the_name(tmp_path):
    table = source(tmp_path, text("time,cmd_v,speed [rpm]"), ["v=speed*0.01"])
    assert read(table)[1] == pytest.approx([0.01 * row[2] for row in ROWS])


TORQUE_HEADER = "time,left_position,right_position,left_effort{0},right_effort{0}"
TORQUE_NAMES = ("left_position", "right_position", "left_effort", "right_effort")


def opened(tmp_path, header, **options):
    path = tmp_path / "log.csv"
    rows = [(0.02 * k, *(0.1 * (k % 5) for _ in header.split(",")[1:])) for k in range(60)]
    path.write_text(text(header, rows))
    return open_tables([path], Options([path], wheel_radius=0.1, track=0.5, **options))


@pytest.mark.parametrize(
    ("header", "options", "says"),
    [
        (TORQUE_HEADER.format(" [A]"), {}, "is in A, but efforts are read in N m.*unit ampere"),
        (TORQUE_HEADER.format(" (%)"), {}, "--effort-unit percent"),
        (TORQUE_HEADER.format(" [Nm]"), {"effort_unit": "ampere"}, "--effort-unit newton_metre"),
        (TORQUE_HEADER.format(" [lbf in]"), {}, "unit 'lbf in' is not known.*left_effort="),
        ("time,command_v,v [rad/s]", {}, r"is in rad/s, and v in m/s"),
        ("time,command_v [rpm],v", {}, r"is in rpm, and command_v in m/s"),
        (TORQUE_HEADER.format("").replace("_position", "_position [Nm]"), {}, "position in rad"),
    ],
)
def test_a_unit_that_is_not_of_the_channel_is_refused_with_what_to_say(
    tmp_path, header, options, says
):
    """Efforts in A gave a confident K7 that was 40 % wrong."""
    with pytest.raises(RecordingError, match=says):
        opened(tmp_path, header, **options)


@pytest.mark.parametrize(
    ("unit", "options"),
    [
        (" [mNm]", {}),
        ("", {"effort_unit": "ampere"}),
        (" [mA]", {"effort_unit": "ampere"}),
        (" [furlong]", {"columns": [f"{name}={name}*2" for name in TORQUE_NAMES]}),
    ],
)
def test_units_of_efforts_that_fit_are_taken(tmp_path, unit, options):
    header = TORQUE_HEADER.format(unit)
    assert opened(tmp_path, header, **options).kind == "torque"


@pytest.mark.parametrize("missing", ["right_effort", "left_position"])
def test_a_torque_robots_table_is_told_what_a_torque_robot_lacks(tmp_path, missing):
    header = ",".join(name for name in TORQUE_HEADER.format("").split(",") if name != missing)
    with pytest.raises(RecordingError, match=f"a torque robot needs .*{missing}"):
        opened(tmp_path, header)


def test_a_table_of_currents_says_how_they_count_as_efforts(tmp_path):
    header = TORQUE_HEADER.format("").replace("_effort", "_current")
    with pytest.raises(RecordingError, match="left_current .*--effort-unit ampere"):
        opened(tmp_path, header)


def test_a_table_in_which_nothing_is_known_tells_what_either_robot_needs(tmp_path):
    with pytest.raises(RecordingError, match="a velocity robot needs .*a torque robot needs"):
        opened(tmp_path, "t,thL,thR,tauL,tauR")


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        (text(rows=[(1e3 * t, c, v) for t, c, v in ROWS]), (), r"time=time\*0.001"),
        (text(rows=[(t, 1e3 * c, 1e3 * v) for t, c, v in ROWS]), (), r"command_v=cmd_v\*0.001"),
        (text(cell=lambda v: "fast" if v > 0.0 else f"{v}"), (), "rows without a time"),
        (text("time,cmd_v,other,v", [(t, c, v, v) for t, c, v in ROWS]), ("v=nothing",), None),
        ("\n".join(text().split("\n")[1:]), (), "names of the columns"),
    ],
)
def test_doubtful_tables_are_questioned_with_what_to_change(tmp_path, content, columns, message):
    if message == "rows without a time":
        table = source(tmp_path, content)
        list(table.batches())
        assert any("without a time" in warning for warning in table.warnings)
        return
    if message is None:
        assert source(tmp_path, content, columns).channels == ()
        return
    with pytest.raises(RecordingError, match=message):
        list(source(tmp_path, content, columns).batches())


def test_time_that_really_is_slow_can_be_said(tmp_path):
    slow = text(rows=[(50.0 * t, c, v) for t, c, v in ROWS])
    times, _ = read(source(tmp_path, slow, ["time=time*1", "v=v", "command_v=cmd_v"]))
    assert np.diff(times) == pytest.approx(1.0)


def test_text_in_a_column_is_named(tmp_path):
    lines = text().split("\n")
    some = "\n".join([lines[0], *(f"{line[: line.rfind(',')]},fast" for line in lines[1:-1])])
    with pytest.raises(RecordingError, match=r"v \(v\): none of its cells is a number.*'fast'"):
        list(source(tmp_path, some).batches())
    few = text().replace("0.02,0.1,0.05", "0.02,0.1,error")
    table = source(tmp_path, few)
    assert len(read(table)[0]) == len(ROWS) - 1
    assert any("'error'" in warning for warning in table.warnings)


def test_decimal_commas_between_commas_are_explained(tmp_path):
    rows = [tuple(value + 0.001 for value in row) for row in ROWS]
    table = source(tmp_path, text(rows=rows, cell=comma))
    assert list(table.batches()) == []
    assert any("semicolons" in warning for warning in table.warnings)


@pytest.mark.parametrize("condition", ["v >> 3", "v => 3", "v=>3", "v !== 3"])
def test_a_condition_with_two_operators_is_refused(condition):
    with pytest.raises(RecordingError, match="only one operator"):
        RowFilter.parse([condition])


def test_repeated_times_are_counted_once_and_not_handed_on(tmp_path):
    doubled = [row for row in ROWS for _ in range(2)]
    table = source(tmp_path, text(rows=doubled))
    times, _ = read(table)
    assert len(times) == len(ROWS) and (np.diff(times) > 0.0).all()
    assert any(f"{len(ROWS)} with the time of a row before" in w for w in table.warnings)
