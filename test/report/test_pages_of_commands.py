# SPDX-License-Identifier: Apache-2.0
"""report.html of identify, faults, reproduce and calibrations, and the page that compares runs."""

import json
import math
from pathlib import Path

import browser as chromium
import numpy as np
import pytest
from ident_example import VERIFICATION, example_recording
from made_recordings.excited_runs import RunSetting, record
from made_recordings.recorded_bag import write_run
from made_recordings.sysid_logs import MadeDrivetrain, make_logs
from test_page import ident_report, needs_browser, verdict_of
from written_pages import assert_drawn, charts_of, data_of, numbers

from diffbot_bringup import cli
from diffbot_bringup.commands.delegated import identify
from diffbot_calibration.calibration_page import (
    calibration_page,
    path_chart,
    write_calibration_page,
)
from diffbot_description.files import SUMMARY, write_json
from diffbot_papers.page import ComparisonTable, PaperPicture, PaperSection, matches
from diffbot_papers.page import page as papers_page
from diffbot_recordings.findings import analyse_axes, motor_findings, voltage_findings
from diffbot_recordings.findings import velocity_findings as findings_of_axes
from diffbot_recordings.identify_page import findings_page
from diffbot_recordings.motor_analysis import analyse_motors
from diffbot_recordings.recording_charts import chart_groups
from diffbot_recordings.segments import Segment
from diffbot_recordings.sysid_log import read_sysid
from diffbot_report.chart import Chart
from diffbot_report.compare_page import compare_page, read_run
from diffbot_report.figure_style import group_figure
from diffbot_report.page import Section, write_page
from faults.row import Outcome, Promise, Row, Verdict
from faults.verdicts import write_verdicts

# One pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


def view(words):
    return cli.main(["view", *words])


def saved(findings, folder):
    """The page of what a recording gave, and its summary."""
    folder.mkdir()
    findings.save(folder, {"name": "identify", "files": ["log.csv"], "outcome": "completed"})
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    texts = {"Repeat this": "diffbot identify log.csv"}
    made = findings_page(findings, summary, folder, "identify log.csv", texts)
    # Its pictures show the charts of the page, none of which has two descriptions.
    groups = [group for group in chart_groups(findings.analyses) if group.charts]
    assert [path.stem for path in findings.draw(folder)] == [group.picture for group in groups]
    charts = {section.title: section.parts for section in made.sections}
    for group in groups:
        figure = group_figure(group, "")
        assert len(figure.axes) == len(group.charts) == len(charts[group.title])
    return write_page(made, folder / "report.html"), summary


def first_order(seed=4):
    """25 s of an axis with a time constant of 0.3 s and a gain of 0.9, at 50 Hz, and its noise."""
    rng = np.random.default_rng(seed)
    command = np.repeat(rng.uniform(-0.5, 0.5, 50), 25)
    v = np.zeros(len(command))
    for k in range(1, len(v)):
        v[k] = v[k - 1] + (0.9 * command[k - 1] - v[k - 1]) * (1.0 - math.exp(-0.02 / 0.3))
    v += 0.003 * rng.standard_normal(len(v))
    return Segment(0.02 * np.arange(len(v)), 0.02, {"command_v": command, "v": v})


def verdict(row, engine="ideal", time=0.08, problems=()):
    about = Row("Silence", row, Promise.ZERO, (engine,), lambda _: None)
    return Verdict(about, engine, Outcome(time, 0.5, 1.0, detail="2 cases"), problems)


def calibration(outcome="completed", identified=True):
    def entry(value, half, known=True, **more):
        bounds = {"lower": value - half, "upper": value + half} if known else {}
        return {"value": value, "lower": None, "upper": None, **bounds, "identified": known, **more}

    slow = "no turn was fast enough: 0.2 rad/s, 1 needed"
    return {
        "name": "calibrate", "outcome": outcome, "reason": "the gyro fell silent",
        "calibration": {
            "outcome": "calibrated", "source": "gyro", "notes": ["twice"],
            "given": {"left_radius": 0.1, "right_radius": 0.1, "track": 0.33},
            "left_radius": entry(0.0994, 0.0002),
            "right_radius": entry(0.1003, 0.0002),
            "track": entry(0.3312, 0.0011, identified, reason=None if identified else slow),
            "radius_ratio": entry(1.009, 0.0003, unit="1"),
            "held_out": {"after": {"nees": 1.1}, "bounds": [0.8, 1.2], "consistent": True},
            "gyro": {"scale": entry(1.002, 0.003, unit="1"), "bias": entry(0.01, 0.002)},
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def pages(folder):
    """Pages with their summaries, of each kind."""
    results = {}
    write_run(folder / "bag", record(RunSetting(), 3, 20.0).samples, "mcap")
    words = [str(folder / "bag"), "--robot", "twil", "--html", "--output", str(folder / "torque")]
    assert identify(words) == 0
    results["torque"] = folder / "torque" / "report.html"
    axes = analyse_axes([first_order()])
    results["velocity"], _ = saved(
        findings_of_axes(axes, "25 s", "a robot", "log"), folder / "axes"
    )
    log = folder / "log.json"
    (made,) = make_logs([MadeDrivetrain(ks=(0.6, 0.6), kv=(2.7, 2.7), ka=(0.5, 0.5), ramp=1.0)], 5)
    log.write_text(json.dumps(made))
    results["voltage"], _ = saved(voltage_findings([read_sysid(log)]), folder / "voltage")
    (folder / "faults").mkdir()
    rows = [verdict("states stop: ident"), verdict("states stop: backstep_controller"),
            verdict("dt 0: ident", "mujoco", 0.3, ("zero after 300 ms",))]  # fmt: skip
    paths = write_verdicts(rows, folder / "faults", 1.0, 3, "./diffbot faults")
    assert [path.name for path in paths] == ["faults.md", "summary.json", "report.html"]
    results["faults"] = paths[-1]
    table = ComparisonTable(
        "Table 1", (matches("K7", "1/(kg m)", 2.5, 2.501), matches("m", "kg", 1.0, 2.0))
    )
    section = PaperSection(
        "A robot", "Somebody.", ("What.",), (table,), (PaperPicture("p", "It", PNG),)
    )
    summary = {"name": "reproduce", "outcome": "completed", "rows": [{"ours": 2.501}]}
    (folder / "papers").mkdir()
    results["papers"] = write_page(
        papers_page([section], summary, "./diffbot reproduce"), folder / "papers" / "report.html"
    )
    (folder / "calibration").mkdir()
    sense = path_chart({"before": [[0.0, 0.0], [1.0, 0.5]], "after": [[0.0, 0.0], [1.0, 0.0]]})
    ways = Section("Way", "", [sense])
    page = calibration_page(calibration(), folder / "calibration", "./diffbot", [ways])
    results["calibration"] = write_page(page, folder / "calibration" / "report.html")
    return {
        kind: (path, json.loads((path.parent / "summary.json").read_text(encoding="utf-8"))
               if (path.parent / "summary.json").exists() else data_of(path)["summary"])
        for kind, path in results.items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def compared(folder):
    """Two identifications that differ in K7 only, a drive, and garbage: their folders."""
    ident_report(example_recording(verification=VERIFICATION), folder / "before")
    after = example_recording(seed=2)
    ident_report(after, folder / "after")
    summary = json.loads((folder / "after" / "summary.json").read_text())
    k7 = summary["parameters"]["K7"]
    k7["value"] += 20.0 * k7["std"]
    k7["interval95"] = [end + 20.0 * k7["std"] for end in k7["interval95"]]
    write_json(folder / "after" / SUMMARY, summary)
    (folder / "garbage").mkdir()
    (folder / "garbage" / "summary.json").write_text('{"parameters": [1, 2')
    return folder


def test_the_page_of_a_torque_robot_has_the_numbers_of_its_summary(pages):
    page, summary = pages["torque"]
    tone, said = verdict_of(page)
    assert (tone, said) == ("good", "Identified and usable: torque robot.")
    charts = charts_of(page)
    for name in ("K5", "K6", "K7", "K8"):
        entry = summary["parameters"][name]
        assert charts[name]["values"][0] == entry["value"]
        assert charts[name]["half_widths"][0] == pytest.approx(1.96 * entry["std"], rel=1e-4)
    # Where one side's prediction ends, so does what was measured.
    measured, predicted = charts["held_out_v"]["curves"]
    assert len(numbers(measured["y"])) == len(numbers(predicted["y"])) > 100
    text = page.read_text(encoding="utf-8")
    assert "./diffbot identify" in text and "dynamic_parameters.yaml" in text


def test_the_page_of_a_launched_calibration_repeats_the_launch(tmp_path):
    """Of a run that found something, and of one that was stopped before it could."""
    launched = {"robot": "twil", "sim": "ideal", "seed": 3, "arguments": "arena:=3.5 sense:="}
    for number, result in enumerate((calibration(), {**calibration("stopped"), "calibration": {}})):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_json(folder / SUMMARY, {**result, **launched})
        page = write_calibration_page(None, folder)
        text = page.read_text(encoding="utf-8")
        assert "./diffbot launch calibrate robot:=twil sim:=ideal seed:=3 arena:=3.5<" in text
    assert verdict_of(page) == ("bad", "Stopped: the gyro fell silent.")


def test_the_page_of_a_velocity_robot_says_each_axis_and_its_evidence(pages):
    page, summary = pages["velocity"]
    result = summary["verdicts"]["forward axis"]
    text = page.read_text(encoding="utf-8")
    assert f"{result['r_squared_held_out']:.4f}" in text
    charts = charts_of(page)
    best = charts["dead_time_v"]["events"][0][0]
    assert best == pytest.approx(result["parameters"]["dead time"]["value"])
    rest = numbers(charts["residual_v"]["curves"][0]["y"])
    rms = np.sqrt(np.nanmean(rest.astype(float) ** 2))
    assert rms == pytest.approx(result["error_held_out"], rel=1e-3)


def test_the_page_of_a_log_of_voltages_predicts_each_test(pages):
    charts = charts_of(pages["voltage"][0])
    keys = {key for key, chart in charts.items() if "slow tests" in str(chart["curves"])}
    assert len(keys) >= 3 and sum(key.startswith("held_out") for key in charts) >= 4


def test_motors_without_a_result_have_a_page_that_says_so(tmp_path):
    noise = np.random.default_rng(1).standard_normal
    channels = {f"{side}_{what}": noise(400) for side in ("left", "right")
                for what in ("voltage", "current", "velocity")}  # fmt: skip
    findings = motor_findings(analyse_motors([(0.01, channels)]), "4 s", "log")
    page, summary = saved(findings, tmp_path / "out")
    assert summary["usable"] == "none" and verdict_of(page)[0] == "bad"
    assert {"voltage_0", "rest_1"} <= set(charts_of(page))


def test_the_fault_page_counts_and_an_interrupted_table_says_so(pages, tmp_path):
    page, summary = pages["faults"]
    tone, said = verdict_of(page)
    assert tone == "bad" and said.startswith("2 of 3 rows keep their promise; longest time")
    assert summary["outcome"] == "completed"
    write_verdicts([verdict("a: ident")], tmp_path, 1.0, 2, "./diffbot faults")
    tone, said = verdict_of(tmp_path / "report.html")
    assert tone == "caution" and said.startswith("Interrupted after 1 of 2 rows: 1 of 1 rows")


def test_the_page_of_papers_says_what_is_missed(pages):
    tone, said = verdict_of(pages["papers"][0])
    assert (tone, said) == ("caution", "Of 2 published values: 1 reproduced, 1 not reached.")
    text = pages["papers"][0].read_text(encoding="utf-8")
    # Tables and pictures need no plotting library.
    assert len(text) < 100_000 and "not reached: A robot, m: published 1 kg, ours 2" in text


def test_the_page_of_a_calibration(pages, tmp_path):
    page, _ = pages["calibration"]
    assert verdict_of(page) == ("good", "Calibrated: both radii and the track.")
    assert charts_of(page)["way"]["equal"]

    def said(summary):
        page = calibration_page(summary, tmp_path, "./diffbot calibrate")
        return page.tone.value, page.verdict

    tone, text = said(calibration(identified=False))
    assert tone == "caution" and "except track" in text
    noise = calibration()
    noise["calibration"]["path_noise"] = {"value": 2e-9, "identified": False, "unit": "m^2/m"}
    noise["calibration"]["bias_walk"] = {
        "value": 8e-9, "lower": 2e-9, "upper": 3e-8, "identified": True, "unit": "1",
    }  # fmt: skip
    assert said(noise)[1] == "Calibrated: both radii and the track; not identified: path noise."
    rows = calibration_page(noise, tmp_path, "./diffbot calibrate").answer.rows
    assert ["path noise", "m²/m", "2e-09", "not identified"] in [row[:4] for row in rows]
    assert ["bias walk", "", "8e-09", "2e-09", "3e-08"] in [row[:5] for row in rows]
    assert said(calibration("failed")) == (
        "bad",
        "The calibration failed: the gyro fell silent",
    )
    assert said(calibration("stopped"))[1].startswith("Interrupted")
    refused = {"calibration": {"outcome": "refused", "reason": "it drifts more than before"}}
    assert said(refused) == ("bad", "Refused: it drifts more than before")
    for garbage in ({}, {"calibration": 3}, {"calibration": {"track": [1], "given": 7}}):
        assert said(garbage)[0] == "bad"


def test_the_comparison_finds_what_differs_and_only_that(compared):
    page = compare_page([read_run(compared / name) for name in ("before", "after")], "./diffbot")
    assert page.tone.value == "good" and page.verdict == "K7 differs significantly."
    rows = {row[0]: row for row in page.answer.rows}
    assert "differs" in rows["K7"][-1] and "differs" not in rows["K5"][-1]
    curves = {part.key for section in page.sections for part in section.parts
              if isinstance(part, Chart)}  # fmt: skip
    assert {"curve_K5", "curve_v", "curve_torque_left"} <= curves


def test_figures_of_many_runs_have_a_column_each_with_their_change(tmp_path):
    runs = []
    for name, torque in (("a", 2.0), ("b", 3.0), ("c", None), ("d", 1.0), ("e", 2.0)):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / SUMMARY, {"peak_torque": torque, "samples": 100})
        runs.append(read_run(tmp_path / name))
    (section,) = [s for s in compare_page(runs, "./diffbot").sections if s.title == "Figures"]
    (table,) = section.parts
    assert table.head == ["", "a", "b", "c", "d", "e"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["peak torque"] == ["2.000", "3.000 (+50 %)", "–", "1.000 (-50 %)", "2.000 (+0 %)"]


def test_no_interval_of_the_comparison_reaches_below_zero_where_nothing_can_be(tmp_path):
    """Friction by its deviation would; a noise level lies unlike far from its ends."""

    def entry(value, low, high):
        return {"value": value, "std": (high - low) / 3.92, "interval95": [low, high],
                "unit": "N m", "identified": True}  # fmt: skip

    runs = []
    for name, more in (("a", 0.0), ("b", 0.5)):
        (tmp_path / name).mkdir()
        summary = {
            "friction": {
                "coulomb_left": entry(1.0 + more, -2.0, 4.0),
                "viscous_left": entry(0.5 - 2.0 * more, -2.5 - 2.0 * more, 3.5 - 2.0 * more),
            },
            "calibration": {
                "bias_walk": entry(8.0, 2.0, 30.0),
                "gyro_delay": entry(0.1, -1.0, 1.2),
            },
        }
        write_json(tmp_path / name / SUMMARY, summary)
        runs.append(read_run(tmp_path / name))
    page = compare_page(runs, "./diffbot view")
    write_page(page, tmp_path / "report.html")
    charts = list(charts_of(tmp_path / "report.html").values())
    (friction,) = [c for c in charts if c["values"] == [1.0, 1.5]]
    assert friction["below"] == [1.0, 1.5]
    assert friction["half_widths"] == [3.0, 2.5]
    (walk,) = [c for c in charts if c["values"] == [8.0, 8.0]]
    assert walk["below"] == [6.0, 6.0]
    assert walk["half_widths"] == [22.0, 22.0]
    # What was found below 0 is drawn whole, and so are the others beside it.
    (viscous,) = [c for c in charts if c["values"] == [0.5, -0.5]]
    assert viscous["below"] == viscous["half_widths"] == [3.0, 3.0]
    # A delay may be negative.
    (delay,) = [c for c in charts if c["values"] == [0.1, 0.1]]
    assert delay["below"] == pytest.approx([1.1, 1.1])
    rows = {row[0]: row for row in page.answer.rows}
    assert rows["calibration: bias walk"][2] == "8 (2 to 30)"


def test_garbage_is_named_and_does_not_hide_the_others(compared, tmp_path, capsys):
    pair = [str(compared / "before"), str(compared / "garbage"), "--output", str(tmp_path / "a")]
    assert view(pair) == 0
    reported = capsys.readouterr()
    tone, said = verdict_of(Path(reported.out.strip()))
    assert tone == "caution" and "garbage cannot be read" in said
    assert reported.err.startswith("diffbot view: garbage: summary.json cannot be read: ")
    assert view([str(compared / "garbage"), "--output", str(tmp_path / "b")]) == 2
    assert (*capsys.readouterr(), (tmp_path / "b").exists()) == ("", reported.err, False)
    # One run that has a page is shown as it is.
    assert view([str(compared / "before")]) == 0
    assert capsys.readouterr().out.strip() == str(compared / "before" / "report.html")
    assert view([str(compared / "nothing")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    (tmp_path / "bag" / "recording").mkdir(parents=True)
    bag = str(tmp_path / "bag")
    assert view([bag, "--output", str(tmp_path / "c")]) == 2
    assert f"view {bag}/recording" in capsys.readouterr().err
    assert view(["--help"]) == 0
    text = capsys.readouterr().out
    assert "--port" in text and "--output" in text


def test_each_comparison_has_a_folder_of_its_own(compared, tmp_path, capsys, monkeypatch):
    """Started in the same second, too: the second must not overwrite the first."""
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        assert view([str(compared / "before"), str(compared / "after")]) == 0
    pages = set(capsys.readouterr().out.split())
    assert len(pages) == 3 and all(Path(page).is_file() for page in pages)


@pytest.mark.parametrize(
    "summary",
    ["[]", "null", '{"parameters": {"K5": {"value": "x", "interval95": "ab", "closed_form": []}}}',
     '{"rows": [1, {"row": 3}], "arguments": 4, "outcome": ["failed"], "verdicts": {"a": 1}}',
     '{"tracking": {"true": {"rms": 1e400}}, "parameters": {"K5": 1}}', "\ud800" * 3],
)  # fmt: skip
def test_no_summary_breaks_the_comparison(summary, compared, tmp_path):
    (tmp_path / "summary.json").write_bytes(summary.encode(errors="surrogatepass"))
    page = compare_page([read_run(tmp_path), read_run(compared / "before")], "./diffbot view")
    write_page(page, tmp_path / "report.html")
    assert data_of(tmp_path / "report.html")["charts"]


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@needs_browser
@pytest.mark.parametrize("kind", ["torque", "voltage", "papers", "calibration"])
def test_a_browser_draws_each_page_without_a_request(tab, pages, kind):
    page, _ = pages[kind]
    tab.open(page, 390)
    assert_drawn(tab, page)
    assert tab.value("document.documentElement.scrollWidth") <= 390


@needs_browser
def test_a_browser_filters_the_rows_of_the_fault_table(tab, pages):
    page, summary = pages["faults"]
    tab.open(page)
    assert_drawn(tab, page)
    assert len(summary["rows"]) == tab.value("diffbot.data.summary.rows.length") == 3
    field = "document.querySelector('.filter input')"
    tab.value(f"{field}.value = 'ident mujoco'; {field}.dispatchEvent(new Event('input'))")
    rows = "[...document.querySelectorAll('.filter ~ .table tbody tr')].filter(r => !r.hidden)"
    assert tab.value(f"{rows}.map(r => r.cells[0].textContent)") == ["dt 0"]
    assert tab.value("document.querySelector('.filter output').textContent") == "1 of 3"


@needs_browser
def test_a_browser_draws_the_comparison(tab, compared, tmp_path):
    words = [str(compared / name) for name in ("before", "after")]
    assert view([*words, "--output", str(tmp_path)]) == 0
    tab.open(tmp_path / "report.html")
    assert_drawn(tab, tmp_path / "report.html")
    shown = tab.value("Array.from(document.getElementById('interval_2').data[0].x)")
    results = [json.loads((Path(word) / "summary.json").read_text()) for word in words]
    assert shown == [summary["parameters"]["K7"]["value"] for summary in results]
    tab.press("+")
    assert tab.value("diffbot.scenes.paths.state().zoom") == 1.5
