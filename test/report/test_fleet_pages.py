# SPDX-License-Identifier: Apache-2.0
"""fleet.html with a page of each robot, and study.html."""

from __future__ import annotations

import json
import math

import browser as chromium
import numpy as np
import pytest
from test_page import needs_browser
from written_pages import assert_drawn, charts_of, numbers, verdict_of

from diffbot_report.page import write_page
from diffbot_study.fleet_alarms import Alarm, Morning
from diffbot_study.fleet_analysis import analyse_fleet
from diffbot_study.fleet_page import write_fleet_pages
from diffbot_study.fleet_rows import COLUMNS
from diffbot_study.study_page import study_page
from diffbot_study.study_summary import study_charts

CENTRE = {"k5": 0.08, "k6": -3.8, "k7": 2.6, "k8": -16.0, "coulomb_left": 0.04}
CENTRE |= {"coulomb_right": 0.04, "residual_v": 0.012}
BEGIN, DAY = 1.93e9, 86400.0


def fleet_rows(folder):
    """8 robots with 8 recordings each; the first got a load, the second is <odd>."""
    generator = np.random.default_rng(5)
    rows = []
    for robot in range(8):
        own = {name: v * math.exp(0.01 * generator.standard_normal()) for name, v in CENTRE.items()}
        for run in range(8):
            row = {**dict.fromkeys(COLUMNS), "robot": "<odd> a/b" if robot == 1 else f"r{robot}"}
            row |= {"key": f"{robot}-{run}", "type": "twil", "usable": "all", "reason": ""}
            path = folder / f"r{robot}" / f"run{run}" / "recording"
            row |= {"path": str(path), "time": BEGIN + DAY * run, "delay": 0.0}
            for name, value in own.items():
                loaded = {"k7": 0.9, "k8": 0.95, "k5": 0.93} if robot == 0 and run > 3 else {}
                brake = 3.0 if robot == 1 and name == "coulomb_left" else 1.0
                row[name] = loaded.get(name, 1.0) * brake * value
                row[name] *= math.exp(0.003 * generator.standard_normal())
                row[f"std_{name}"] = abs(0.003 * value)
            rows.append(row)
    refused = {**rows[-1], "key": "n", "usable": "none", "delay": math.nan, "reason": "refused"}
    rows.append({**refused, **dict.fromkeys(("std_k5", "std_k6", "std_k7", "std_k8"))})
    bad = {**dict.fromkeys(COLUMNS), "robot": "r7", "type": "twil", "usable": "unreadable"}
    rows.append({**bad, "key": "b", "path": "a/torn.mcap", "time": BEGIN, "reason": "torn <here>"})
    return rows


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    rows = fleet_rows(folder)
    report = folder / "r0" / "run3" / "report.html"
    report.parent.mkdir(parents=True)
    report.write_text("its own")
    result = analyse_fleet(rows, 0.01).to_dict()
    # As it is read from fleet.json.
    summary = json.loads(json.dumps({"recordings": {"all": 64, "unreadable": 1}, **result}))
    out = folder / "out"
    out.mkdir()
    (out / "prior_twil.yaml").write_text("fleet_prior: {}")
    (brake,) = [robot for robot in summary["robots"] if robot["alarm"]]
    seen = Alarm("<odd> a/b", "twil", brake["cause"], BEGIN, acknowledged="Ann knows")
    new = Alarm("r0", "twil", "load", BEGIN + 9.5 * DAY)
    morning = Morning(
        now=BEGIN + 10.0 * DAY,
        alarms={("twil", alarm.robot): alarm for alarm in (seen, new)},
        ended=[Alarm("r6", "twil", "encoder", BEGIN, ended=BEGIN + 9.6 * DAY)],
        recordings=8,
        silent={"r7": "has no usable recording for 3 days"},
        copies={"a/torn.mcap": ["b/torn again.mcap"]},
    )
    write_fleet_pages(summary, rows, out, ["in", "--output", "out"], morning)
    return out, summary


def test_the_fleets_page_names_the_robots_that_stand_out_and_leads_to_them(fleet):
    folder, _ = fleet
    page = folder / "fleet.html"
    text = page.read_text(encoding="utf-8")
    tone, verdict = verdict_of(page)
    assert tone == "caution"
    assert verdict == "1 of 8 robots is unlike the others, 1 of 8 has changed over time."
    assert "<a href='robots/r0.html'>r0</a>" in text
    assert "<a href='robots/odd_a_b.html'>&lt;odd&gt; a/b</a>" in text
    assert "torn &lt;here&gt;" in text and "prior_twil.yaml" in text
    assert len(list((folder / "robots").iterdir())) == 8
    charts = charts_of(page)
    shown = numbers(charts["trend_0"]["curves"][0]["y"])
    assert shown[0] / shown[-1] == pytest.approx(1 / 0.9, rel=0.02)
    assert {"spread_0", "first_0"} <= set(charts)


def test_the_page_of_the_morning_begins_with_what_is_new_and_says_what_to_do(fleet):
    text = (fleet[0] / "fleet.html").read_text(encoding="utf-8")
    for said in (
        "Begin with r0: load",
        "look for a load, or weigh it",
        "seen: Ann knows",
        "lift the wheel and turn it by hand",
        "has no usable recording for 3 days",
        "New recordings: 8.",
        "b/torn again.mcap",
        "no longer",
    ):
        assert said in text
    assert "sigma" not in text.partition("<section id='data'")[0].partition("plotly")[0]
    order = ("Since yesterday", "All robots", "Recordings without", "Changes over time")
    places = [text.index(f"<h2>{title}") for title in order]
    assert places == sorted(places)


def test_a_robots_page_has_its_recordings_and_leads_to_their_reports(fleet):
    folder, summary = fleet
    page = folder / "robots" / "r0.html"
    text = page.read_text(encoding="utf-8")
    assert verdict_of(page)[1].startswith("r0 stands out: load (")
    assert text.count("href='../../r0/run3/report.html'") == 1
    assert "href='../fleet.html'" in text
    assert len(charts_of(page)) == 8
    # Of a healthy robot there is no chart, and hence no library.
    quiet = folder / "robots" / "r5.html"
    assert verdict_of(quiet) == ("good", "r5 is like the others of its type.")
    assert quiet.stat().st_size < 100_000
    change = next(trend for trend in summary["trends"] if trend["alarm"])
    assert (change["name"], change["cause"]) == ("r0", "load")


def test_a_fleet_that_is_too_small_to_compare_says_so(tmp_path):
    rows = fleet_rows(tmp_path)[:3]
    summary = {"recordings": {"all": 3}, **analyse_fleet(rows, 0.01).to_dict()}
    page = write_fleet_pages(summary, rows, tmp_path, ["in"])
    assert verdict_of(page) == ("caution", "No robot has enough recordings to be compared.")


def cell(counts, speed, error, kept):
    return {"counts": counts, "speed": speed, "runs": 20, "failed": 0, "error": error,
            "within_tolerance": kept}  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    file = folder / "mine.yaml"
    file.write_text("kind: identification\n")
    summary = {
        "name": "mine", "description": "which encoder", "runs": 80, "axes": ["counts", "speed"],
        "cells": [cell(512, 0.5, None, 0.2), cell(512, 1.0, 0.04, 0.9), cell(4096, 0.5, 0.02, 0.96),
                  cell(4096, 1.0, 0.01, 1.0)],
        "reasons": {"K5 <is> not identifiable": 3}, "tolerance": {"error": 0.03},
        "shown": {"error": {"name": "error", "unit": "%", "factor": 100.0}},
    }  # fmt: skip
    page = write_page(
        study_page(summary, study_charts(summary), file, ["mine.yaml"]), folder / "study.html"
    )
    return page


def test_a_studys_page_has_maps_curves_and_what_keeps_the_tolerance(study):
    assert verdict_of(study) == (
        "good", "2 of 4 cells meet error &lt;= 0.03 in at least 95 % of their runs.",
    )  # fmt: skip
    charts = charts_of(study)
    assert charts["map_error_0"]["columns"] == ["512", "4096"]
    assert charts["map_error_0"]["rows"] == ["0.5", "1"]
    assert charts["map_error_0"]["values"] == [[None, 2.0], [4.0, 1.0]]
    slow, fast = charts["curve_error"]["curves"]
    assert (slow["name"], fast["name"]) == ("speed 0.5", "speed 1")
    assert numbers(fast["y"]).tolist() == [4.0, 1.0]
    text = study.read_text(encoding="utf-8")
    assert "3 runs without a result: K5 &lt;is&gt; not identifiable" in text


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@needs_browser
def test_a_browser_draws_the_pages_and_follows_a_robots_name(tab, fleet, study):
    folder, _ = fleet
    for page in (study, folder / "fleet.html"):
        tab.open(page, 390)
        assert_drawn(tab, page)
        assert tab.value("document.documentElement.scrollWidth") <= 390
    rows = "Math.max(...Array.from(document.querySelectorAll('tr')).map(r => r.offsetHeight))"
    beyond = (
        "Math.max(...Array.from(document.querySelectorAll('.table'))"
        ".map(t => t.scrollWidth - t.clientWidth))"
    )
    for name in ("fleet.html", "robots/r0.html"):
        tab.open(folder / name, 1280)
        assert tab.value("document.documentElement.scrollWidth") <= 1280
        assert tab.value(rows) < 120 and tab.value(beyond) <= 0, name
    tab.open(folder / "fleet.html", 390)
    robot = folder / "robots" / "odd_a_b.html"
    link = "document.querySelector('a[href=\"robots/odd_a_b.html\"]').href"
    assert tab.value(link) == robot.as_uri()
