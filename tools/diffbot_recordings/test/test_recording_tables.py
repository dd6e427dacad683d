# SPDX-License-Identifier: Apache-2.0
"""Tables: columns by name and by choice, filters, units, damage."""

import math

import numpy as np
import pytest

from diffbot_recordings.samples import RecordingError
from diffbot_recordings.table import CsvSource
from diffbot_recordings.table_columns import parse_columns
from diffbot_recordings.table_rows import RowFilter


def source(tmp_path, text, columns=(), where=(), name="log.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CsvSource(path, parse_columns(columns), RowFilter.parse(where))


def values(table):
    """Times and values of each channel, all blocks together."""
    batches = list(table.batches())
    return {
        name: (
            np.concatenate([b.times for b in batches if name in b.channels]),
            np.concatenate([b.channels[name] for b in batches if name in b.channels]),
        )
        for name in table.channels
    }


def test_known_names_are_found_and_others_by_choice(tmp_path):
    result = source(tmp_path, "Time,speed,other\n0,1,5\n0.5,2,6\n")
    assert result.channels == ("v",)
    chosen = source(tmp_path, "Time,speed,other\n0,1,5\n0.5,2,6\n", ["w=other*deg"])
    times, omega = values(chosen)["w"]
    assert times.tolist() == [0.0, 0.5]
    assert omega == pytest.approx([math.radians(5), math.radians(6)])


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_and_decimal_commas(tmp_path, delimiter):
    text = "t,v,cmd_v\n0,0;1,5;2,5\n".replace("t,v,cmd_v", "t;v;cmd_v").replace(";", delimiter)
    result = values(source(tmp_path, text))
    assert result["v"][1] == pytest.approx([1.5])
    assert result["command_v"][1] == pytest.approx([2.5])


@pytest.mark.parametrize(("stamp", "unit"), [(10**18, 1e-9), (10**15, 1e-6), (10**12, 1e-3)])
def test_stamps_since_1970_are_told_by_their_size(tmp_path, stamp, unit):
    step = round(0.5 / unit)
    result = source(tmp_path, f"timestamp,v\n{stamp},1\n{stamp + step},2\n")
    times, _ = values(result)["v"]
    assert np.diff(times) == pytest.approx([0.5], abs=1e-6)
    assert "read as" in result.warnings[0]


def test_rows_that_the_filter_leaves_out_are_counted(tmp_path):
    text = "t,mode,v,a,b\n0,auto,1,0,0\n1,manual,2,1,0\n2,auto,3,0,2\n3,auto,4,-1,0\n"
    result = source(tmp_path, text, where=["mode=auto", "a!=0 or b > 1.5"])
    assert values(result)["v"][1].tolist() == [3.0, 4.0]
    assert result.warnings[-1].endswith("2 rows excluded by --where")


def test_cells_that_are_empty_cost_only_their_own_stream(tmp_path):
    """Exports of several topics leave cells empty where another topic spoke."""
    result = values(source(tmp_path, "t,cmd_v,v\n0,1,\n0.1,,5\n0.2,2,\n0.3,,6\n"))
    assert result["command_v"][0].tolist() == [0.0, 0.2]
    assert result["v"][1].tolist() == [5.0, 6.0]


def test_rows_that_are_cut_off_or_garbled_are_left_out_and_said(tmp_path):
    result = source(tmp_path, "t,v,cmd_v\n0,1,1\nx,2,2\n0.2,3\n0.3,4,4\n0.4,5")
    assert values(result)["v"][1].tolist() == [1.0, 4.0]
    assert any("3 rows" in warning for warning in result.warnings)


def test_a_cell_without_end_costs_only_its_row(tmp_path):
    result = source(tmp_path, f"t,v,cmd_v\n0,1,1\n0.1,{'9' * 200_000},2\n0.2,3,3\n")
    assert values(result)["v"][1].tolist() == [1.0, 3.0]


def test_a_stamp_that_is_infinite_is_not_taken_for_nanoseconds(tmp_path):
    result = source(tmp_path, "t,v,cmd_v\ninf,1,1\n0.1,2,2\n0.2,3,3\n")
    assert values(result)["v"][0].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("text", "columns", "where", "message"),
    [
        ("a,v\n0,1\n", (), (), "no column holds the time"),
        (b"\x89PNG\r\n\x1a\n\0\0", (), (), "not a table"),
        ("t,v\n0,1\n", (), ("mode=auto",), "no such column"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, columns, where, message):
    with pytest.raises(RecordingError, match=message):
        source(tmp_path, text, columns, where)


@pytest.mark.parametrize("text", ["v", "speed=v", "v=x*0", "v=x*inf", "v=x*much"])
def test_wrong_column_maps_are_refused(text):
    with pytest.raises(RecordingError, match="--columns"):
        parse_columns([text])


@pytest.mark.parametrize("text", ["mode", "=3", ""])
def test_wrong_conditions_are_refused(text):
    with pytest.raises(RecordingError, match="--where"):
        RowFilter.parse([text])


def test_a_clock_that_was_set_back_begins_anew_for_commands_and_states_together(tmp_path):
    rows = [(0.0, 1), (0.1, 2), (9.0, 3), (9.1, 4), (2.0, 5), (2.1, 6)]
    text = "t,v,cmd_v\n" + "".join(f"{t},{x},{10 * x}\n" for t, x in rows)
    order = [(*batch.channels, batch.times.tolist()) for batch in source(tmp_path, text).batches()]
    before, after = [0.0, 0.1, 9.0, 9.1], [2.0, 2.1]
    assert order == [("command_v", before), ("v", before), ("command_v", after), ("v", after)]


def test_rows_that_are_left_out_are_counted_by_cause_in_one_line(tmp_path):
    """One of each: a cell missing, NaN, text, no time, a time that goes back, and one doubled."""
    rows = ["0,1,1", "0.1,2", "0.2,nan,3", "0.3,4,error", "x,5,5", "0.4,6,6", "0.35,7,7", "0.4,8,8"]
    result = source(tmp_path, "\n".join(("t,v,w", *rows, "0.5,9,9\n")))
    values(result)
    (line,) = (warning for warning in result.warnings if "rows ignored" in warning)
    assert line == (
        "log.csv: 6 rows ignored of 9: 2 without a time or with other than 3 cells, 2 with a "
        "number missing or unreadable, 1 whose time goes back, 1 with the time of a row before"
    )


def test_rows_of_several_topics_are_not_left_out(tmp_path):
    """A command and a reading with one stamp are no doubled rows; nor are cells that wait."""
    result = source(tmp_path, "t,cmd_v,v\n0,1,\n0,,5\n0.1,2,\n0.1,,6\n")
    assert [len(result[0]) for result in values(result).values()] == [2, 2]
    assert result.warnings == []


def test_a_clock_that_was_set_back_between_blocks_leaves_nothing_out(tmp_path):
    """5000 rows are two blocks; the second one begins anew."""
    times = [*np.arange(4096) * 0.01, *np.arange(904) * 0.01]
    result = source(tmp_path, "t,v\n" + "".join(f"{t:.2f},1\n" for t in times))
    assert len(values(result)["v"][0]) == 5000
    assert result.warnings == []
