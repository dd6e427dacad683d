# SPDX-License-Identifier: Apache-2.0
import json
import math

from hypothesis import given
from hypothesis import strategies as st

from diffbot_view.store import MOST_ROWS, Store

SPACING = {"a": 0.1, "b": 1.0}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.floats(-2.0, 5.0),
        st.floats(allow_nan=True, allow_infinity=True, width=32),
    ),
    max_size=60,
)


class Browser:
    """Does with what it is told what the page's script does."""

    def __init__(self):
        self.cursor, self.state, self.series = {}, {}, {}

    def ask(self, store):
        text, self.cursor = store.since(self.cursor)
        if text is None:
            return False
        reported = json.loads(text)
        self.state.update(reported.get("state", {}))
        for name, part in reported.get("series", {}).items():
            rows = self.series.setdefault(name, [])
            assert part["from"] <= len(rows)
            rows[part["from"] :] = part["rows"]
        return True


@given(STEPS, st.lists(st.integers(0, 60), max_size=5))
def test_a_browser_that_asks_at_any_times_has_what_one_has_that_comes_last(steps, asked):
    store, browser, time = Store(SPACING), Browser(), 0.0
    for number, (name, step, value) in enumerate(steps):
        time += step
        store.add(name, time, [value, 1.0])
        store.set(newest=number)
        if number in asked:
            browser.ask(store)
    browser.ask(store)
    late = Browser()
    late.ask(store)
    assert browser.state == late.state
    for name in SPACING:
        assert browser.series.get(name, []) == late.series.get(name, [])
        times = [row[0] for row in late.series.get(name, [])]
        assert times == sorted(times)


def test_who_has_all_is_told_nothing():
    store, browser = Store(SPACING), Browser()
    store.add("a", 0.0, [1.0])
    assert browser.ask(store) and not browser.ask(store)
    store.set(x=1)
    assert browser.ask(store) and not browser.ask(store)
    store.set(x=1)
    assert not browser.ask(store)


def test_a_long_run_keeps_its_whole_length_in_a_bounded_number_of_rows():
    store, browser = Store(SPACING), Browser()
    for number in range(5 * MOST_ROWS):
        store.add("a", 0.1 * number, [float(number)])
        if number % 777 == 0:
            browser.ask(store)
    browser.ask(store)
    rows = browser.series["a"]
    assert MOST_ROWS / 2 <= len(rows) <= MOST_ROWS
    assert rows[0][0] == 0.0 and rows[-1][0] > 0.1 * 5 * MOST_ROWS - 2.0
    steps = [after[0] - before[0] for before, after in zip(rows, rows[1:], strict=False)]
    assert max(steps) < 1.2 * min(steps)


def test_time_that_is_set_back_begins_anew_and_a_late_row_is_left_out():
    store, browser = Store(SPACING), Browser()
    for time in (10.0, 11.0, 10.8, 12.0):
        store.add("a", time, [time])
    browser.ask(store)
    assert [row[0] for row in browser.series["a"]] == [10.0, 11.0, 12.0]
    store.add("a", 0.0, [0.0])
    browser.ask(store)
    assert browser.series["a"] == [[0.0, 0.0]]


def test_what_is_not_finite_is_null():
    store = Store(SPACING)
    store.add("a", 0.0, [math.nan, math.inf, 1.23456789])
    store.set(x=[math.inf, {"y": math.nan}, "text"])
    text, _ = store.since({})
    reported = json.loads(text, parse_constant=lambda name: 1 / 0)
    assert reported["series"]["a"]["rows"] == [[0.0, None, None, 1.2346]]
    assert reported["state"]["x"] == [None, {"y": None}, "text"]
