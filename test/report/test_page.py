# SPDX-License-Identifier: Apache-2.0
"""report.html: what it says, that it loads nothing, and that its charts hold the run's numbers."""

import dataclasses
import html
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import browser as chromium
import numpy as np
import pytest
from drive_example import backstepping_example, linearizing_example
from hypothesis import given
from hypothesis import strategies as st
from ident_example import START, TRUE, VERIFICATION, example_recording, stamp_of
from rich.console import Console
from written_pages import assert_drawn, charts_of, data_of, numbers, verdict_of

from diffbot_description import load_robot
from diffbot_ident.estimate import EstimateState, FrictionEstimate
from diffbot_ident.verification import VerificationState
from diffbot_report.chart import Chart, Curve
from diffbot_report.controller_topics import CONTROLLERS, VELOCITY
from diffbot_report.drawing import Drawing
from diffbot_report.drive_findings import drive_findings
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.ident_findings import identification_findings
from diffbot_report.ident_page import predicted_motion
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.page import Page, Section, Table, Tone, page_text, peaks_kept, points_of_each
from diffbot_report.run_end import ControllerState, Ending, IdentState, Outcome, RunPhase
from diffbot_report.summary import ReportWriter, RunDescription, repeat_command

ROBOT = load_robot("twil")
# The key of a parameter's chart is its symbol.
SYMBOLS = ("K5", "K6", "K7", "K8")
needs_browser = pytest.mark.skipif(
    chromium.program() is None, reason="no Chromium: install the Debian package chromium"
)


def no_pictures():
    """A drawing of nothing: a page needs no matplotlib."""
    drawing = Drawing("no_such_module")
    drawing.start()
    return drawing


def written(findings, folder, run, ending=None):
    """report.html of what a run found, and its summary."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = ReportWriter(run, folder, Console(quiet=True), no_pictures())
    assert writer.write(findings, ending or Ending(Outcome.COMPLETED), 1.0, 0.0)
    return folder / "report.html", json.loads((folder / "summary.json").read_text())


def ident_report(recording, folder, **more):
    findings = identification_findings(recording, ROBOT, 100, "twil")
    return written(findings, folder, RunDescription("ident", "twil", "ideal", 1), **more)


def drive_report(recording, folder, name="backstepping", node="backstep_controller"):
    run = RunDescription(name, "twil", "ideal", 1, {"goal": "1,0,0", "watchdog": False})
    findings = drive_findings(recording, run, node, {}, ROBOT, animation=False)
    return written(findings, folder, run)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Pages of an identification, a pose drive and a velocity drive, with their summaries."""
    folder = tmp_path_factory.mktemp("reports")
    return {
        "ident": ident_report(example_recording(verification=VERIFICATION), folder / "ident"),
        "park": drive_report(backstepping_example((0.5, 0.3, 1.0), 6.0), folder / "park"),
        "steps": drive_report(
            linearizing_example(), folder / "steps", "linearizing", "linearizing_controller"
        ),
    }


def test_the_page_says_what_was_found(reports):
    page, summary = reports["ident"]
    tone, verdict = verdict_of(page)
    assert tone == "good" and "another motion verifies" in verdict
    charts = charts_of(page)
    for i, symbol in enumerate(SYMBOLS):
        estimate, truth = charts[symbol]["curves"]
        value = summary["parameters"][symbol]["value"]
        assert numbers(estimate["y"])[-1] == pytest.approx(value, rel=1e-6)
        half = 1.96 * summary["parameters"][symbol]["std"]
        assert numbers(estimate["band"])[-1] == pytest.approx(half, rel=1e-3)
        assert set(numbers(truth["y"])) == {np.float32(TRUE[i])}
    assert {"held_out_v", "residual_omega", "torque_left", "correlation", "states", "path"} <= set(
        charts
    )


def test_the_page_of_a_drive(reports):
    page, summary = reports["park"]
    tone, verdict = verdict_of(page)
    tracking = summary["tracking"]["true"]
    assert tone == "good"
    assert verdict.startswith(f"Settled after {tracking['settling_time']:.2f} s")
    charts = charts_of(page)
    torque = max(np.abs(numbers(charts[f"command_{i}"]["curves"][0]["y"])).max() for i in range(2))
    assert torque == pytest.approx(summary["peak_torque"], rel=1e-6)
    assert charts["path"]["kind"] == "scene" and charts["path"]["reference"]
    tone, verdict = verdict_of(reports["steps"][0])
    assert tone == "good" and verdict == "All 3 steps of true velocity settled to 1 %."


def test_an_invalid_estimate_leaves_its_reason_and_no_numbers(tmp_path):
    why = "K7 has the wrong sign; check for a flipped torque sign or swapped wheels"
    wild = replace(
        example_recording().estimate,
        values=(7e150, -7e150, -7e150, 7e150),
        covariance=tuple(map(tuple, (7e150 * np.eye(4)).tolist())),
        residual_std=(7e150, 7e150),
        delay=7.0,
        friction=FrictionEstimate((7e150,) * 4, (1.0,) * 4),
    ).as_a_whole(EstimateState.INVALID, why)
    recording = example_recording()
    recording.add_estimate(stamp_of(START + 20.1), wild)
    console = Console(width=200, file=io.StringIO())
    console.print(identification_findings(recording, ROBOT, 200, "twil").table(""))
    page, summary = ident_report(recording, tmp_path)
    shown = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.S)
    table = console.file.getvalue()
    for text in (shown, table, json.dumps(data_of(page)), json.dumps(summary)):
        assert not re.search(r"e\+?150|70000|torque delay 7", text)
    assert verdict_of(page) == ("bad", f"These parameters must not be used: {why}")
    assert f"K5, K6, K7, K8 invalid: {why}" in table
    assert "not identifiable" not in shown + table
    for symbol in SYMBOLS:
        entry = summary["parameters"][symbol]
        assert (entry["value"], entry["std"], entry["state"]) == (None, None, "invalid")
        assert entry["reason"] == why


def test_a_drive_that_is_cut_off_far_from_its_goal_is_told_a_duration_that_is_enough(tmp_path):
    page, _ = drive_report(backstepping_example((1000.0, 0.0, 0.0), 4.0), tmp_path)
    tone, _ = verdict_of(page)
    (advised,) = re.findall(r"need more time: duration:=(\d+)", page.read_text(encoding="utf-8"))
    assert tone == "caution"
    assert 1000.0 / ROBOT.limits.linear_velocity < int(advised) < 10000


def test_it_repeats_the_run(reports):
    text = reports["park"][0].read_text(encoding="utf-8")
    assert (
        "./diffbot launch backstepping robot:=twil sim:=ideal seed:=1 goal:=1,0,0 watchdog:=false"
        in text
    )
    run = RunDescription("ident", "my robot.yaml", "", None, {"arena": "", "until": "k7 1%"})
    assert repeat_command(run) == (
        "./diffbot launch ident 'robot:=my robot.yaml' sim:=none 'until:=k7 1%'"
    )


def test_the_command_that_repeats_a_run_works_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("true.yaml").touch()
    arguments = {"simulated_robot": "true.yaml", "parameters": "robot", "laps": 2}
    run = RunDescription("backstepping", "twil", "mujoco", 1, arguments)
    assert repeat_command(run).split(" ")[-3:] == [
        f"simulated_robot:={tmp_path / 'true.yaml'}",
        "parameters:=robot",
        "laps:=2",
    ]


def test_a_verification_that_is_not_decided_refutes_nothing(tmp_path):
    unknown = {
        name: (math.nan, math.nan) for name in vars(VERIFICATION)
        if name.startswith(("one_step", "horizon_"))
    }  # fmt: skip
    state, reason = VerificationState.NOT_VERIFIED, "not decided: too short"
    undecided = replace(VERIFICATION, state=state, reason=reason, **unknown)
    page, summary = ident_report(example_recording(verification=undecided), tmp_path)
    assert summary["verification"]["state"] == "not_verified"
    tone, verdict = verdict_of(page)
    assert tone == "caution" and "not verified" in verdict and "too short" in verdict
    text = page.read_text(encoding="utf-8")
    assert "verification:=10" in text and "Drive with them" not in text
    assert "refuted" not in text


def test_a_robot_is_named_by_its_file_in_commands(tmp_path):
    run = RunDescription("ident", "hauler", "mujoco", 1, robot_file="/robots/my hauler.yaml")
    findings = identification_findings(
        example_recording(verification=VERIFICATION), ROBOT, 100, "hauler"
    )
    page, summary = written(findings, tmp_path, run)
    text = html.unescape(page.read_text(encoding="utf-8"))
    for launch in ("ident", "backstepping"):
        assert f"./diffbot launch {launch} 'robot:=/robots/my hauler.yaml'" in text
    assert summary["robot"] == "hauler"


def test_a_run_that_failed_or_found_nothing_has_a_page_that_says_so(tmp_path):
    failed = Ending(Outcome.FAILED, "the <simulator> has ended")
    page, _ = ident_report(IdentRecording(), tmp_path / "failed", ending=failed)
    assert verdict_of(page) == ("bad", "The run failed: the &lt;simulator&gt; has ended")
    page, _ = ident_report(IdentRecording(), tmp_path / "nothing")
    assert verdict_of(page)[0] == "bad"
    page, _ = ident_report(example_recording(unknown=(0, 1)), tmp_path / "open")
    tone, verdict = verdict_of(page)
    assert tone == "caution" and "K5, K6" in verdict
    refuted = example_recording(
        verification=replace(VERIFICATION, state=VerificationState.REFUTED, reason="slips")
    )
    tone, verdict = verdict_of(ident_report(refuted, tmp_path / "refuted")[0])
    assert tone == "bad" and "refuted" in verdict


def test_without_plotly_the_run_has_its_summary_and_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("diffbot_report.page.find_spec", lambda name: None)
    console = Console(record=True, width=200)
    findings = identification_findings(example_recording(), ROBOT, 100, "twil")
    writer = ReportWriter(RunDescription(), tmp_path, console, no_pictures())
    assert writer.write(findings, Ending(Outcome.COMPLETED), 1.0, 0.0)
    assert (
        "report.html not written: No module named 'plotly'; install plotly" in console.export_text()
    )
    assert (tmp_path / "summary.json").exists() and not (tmp_path / "report.html").exists()


def test_text_from_a_run_cannot_become_script():
    evil = "</script><script>alert(1)</script><b>"
    chart = Chart("c", evil, evil, [Curve(evil, [0.0, 1.0], [0.0, 1.0])], note=evil)
    page = Page(evil, Tone.GOOD, evil, evil, Table([evil], [[evil]]), [evil],
                [Section(evil, evil, [chart])], {"reason": evil}, {evil: evil})  # fmt: skip
    text = page_text(page)
    # The page's own three and no other; Plotly's script has none in it.
    assert "<script>alert" not in text and "<b></" not in text
    assert len(re.findall(r"<script[ >]", text)) == text.count("</script>") == 3


def test_the_last_line_names_ros_its_middleware_and_the_versions():
    versions = {"ros": "jazzy", "middleware": "rmw_<x>_cpp", "rclpy": "7.1.6", "numpy": "2.4.6"}
    page = Page("t", Tone.GOOD, "v", "a", Table((), ()), summary={"versions": versions})
    text = page_text(page)
    assert "ROS 2 jazzy, by rmw_&lt;x&gt;_cpp, rclpy 7.1.6, numpy 2.4.6</footer>" in text
    assert "<footer" not in page_text(dataclasses.replace(page, summary={}))


def test_columns_of_numbers_stand_right_and_a_head_alone_is_left_out():
    def text(rows):
        return page_text(
            Page("", Tone.GOOD, "", "", Table(["", "drift", "what"], rows), [], [], {})
        )

    numbers_last = text([["x", "so", "0.171"], ["y", "", "-1.2e-05"], ["z", "–", "never"]])
    assert "<th scope='col' class='number'>what</th>" in numbers_last
    assert "<td data-name='what' class='number'>0.171</td>" in numbers_last
    assert "class='number'" not in text([["x", "0.2 so", "reproduced"], ["y", "1", "0.171"]])
    assert "<table" in numbers_last and "<table" not in text([])


def test_a_velocity_robot_has_its_commands_and_sigma_and_no_torque(tmp_path):
    n = 200
    stamps = np.arange(1, n + 1) * 10_000_000
    rows = np.zeros((n, 32))
    rows[:, 6:12] = 0.3, 0.1, 0.3, 0.1, 0.5, -0.25
    rows[:, 12:16] = np.where(np.arange(n)[:, None] < 100, 0.5, (3.4, 4.6, 0.86, 0.25))
    rows[:, 16:20], rows[:, 20:22] = 0.01, (0.7, 3.14)
    rows[:50, 16:20] = np.inf  # while the dead time is not known
    recording = DriveRecording(CONTROLLERS["velocity_tracking_controller"])
    recording.add_status(stamps, rows)
    recording.adaptation.true_parameters.add(0, (3.446, 4.576, 0.86, 0.254))
    recording.add_state(
        ControllerState(int(stamps[-1]), RunPhase.DONE, elapsed=2.0, law="adaptive")
    )
    page, _ = drive_report(recording, tmp_path, "siwek", "velocity_tracking_controller")
    charts = charts_of(page)
    for k, name in enumerate(VELOCITY.parameters):
        in_use, true = charts[f"live_{name}"]["curves"]
        assert numbers(in_use["y"])[[0, -1]] == pytest.approx(rows[[0, -1], 12 + k])
        assert numbers(in_use["band"])[-1] == pytest.approx(1.96 * 0.1, rel=1e-3)
        assert set(numbers(true["y"])) == {np.float32((3.446, 4.576, 0.86, 0.254)[k])}
    text = page.read_text(encoding="utf-8")
    assert "largest command of v" in text and "largest torque" not in text


@pytest.mark.parametrize(("passed", "moved"), [(0.0, 0.0), (1.0, 0.0), (0.0, 0.1)])
def test_a_law_that_followed_no_live_estimate_says_which_gate_was_shut(tmp_path, passed, moved):
    recording = backstepping_example((0.3, 0.0, 0.0), 1.0)
    rows = np.zeros((10, 26 + 2))
    rows[:, 2:6] = 0.1, -1.0, 0.5, -2.0
    rows[5:, 4] += moved
    rows[:, 26:] = passed, 1.0
    recording.adaptation.add(("estimated", "excited"), np.arange(1, 11) * 100_000_000, rows)
    page, _ = drive_report(recording, tmp_path, "adaptive")
    said = "the gate 'estimated' rejected 10 of 10"
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert (said in text) == (not passed and not moved)


@pytest.mark.parametrize(
    ("shown", "look"),
    [
        ("all", "open {}/report.html in a browser"),
        ("html", "open {}/report.html in a browser"),
        ("png", "look at the pictures in {}"),
    ],
)
def test_the_last_line_says_what_to_do_next(tmp_path, shown, look):
    console = Console(record=True, width=300)
    findings = identification_findings(
        example_recording(verification=VERIFICATION), ROBOT, 100, "twil"
    )
    folder = tmp_path / "my run"
    folder.mkdir()
    writer = ReportWriter(RunDescription("ident", "twil"), folder, console, no_pictures(), shown)
    assert writer.write(findings, Ending(Outcome.COMPLETED), 1.0, 0.0)
    assert console.export_text().splitlines()[-1] == (
        f"Next: {look.format(folder)}. Drive with them: ./diffbot launch "
        f"backstepping robot:=twil sim:=none 'parameters:={folder}/dynamic_parameters.yaml'"
    )


@pytest.mark.parametrize("shown", ["all", "png"])
def test_a_run_that_never_began_shows_no_table_of_dashes(tmp_path, shown):
    console = Console(record=True, width=300)
    findings = identification_findings(IdentRecording(), ROBOT, 100, "twil")
    writer = ReportWriter(RunDescription("ident", "twil"), tmp_path, console, no_pictures(), shown)
    writer.write(findings, Ending(Outcome.FAILED, "ident-2 (exit code 1)"), None, 0.0)
    text = console.export_text()
    assert "failed: ident-2 (exit code 1)" in text and "K5" not in text
    assert "Next:" not in text, "there is nothing to look at"


def test_a_long_run_stays_small_and_keeps_its_peaks():
    """An hour at 100 Hz, with one sample that stands out."""
    time = np.arange(360_000) * 0.01
    values = np.sin(time)
    values[123_456], values[234_567] = 5.0, -7.0
    kept = peaks_kept(values, 6000)
    assert len(kept) <= 6002
    assert values[kept].max() == 5.0 and values[kept].min() == -7.0


@pytest.mark.parametrize("curves", [1, 10, 16, 40, 60])
def test_many_long_curves_share_the_room_of_a_page(curves):
    """The library is 4.8 MB; an hour of all curves of a page with bands has the rest of 6 MB."""
    assert curves * points_of_each(curves) * 3 * 4 * 4 / 3 < 1.0e6
    assert points_of_each(curves) >= 1000


@given(
    st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=200),
    st.integers(4, 60),
)
def test_thinning_keeps_ends_order_and_extremes(values, most):
    kept = peaks_kept(values, most)
    assert kept[0] == 0 and kept[-1] == len(values) - 1
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= max(most + 2, min(len(values), most))
    array = np.array(values)
    finite = array[np.isfinite(array)]
    if len(finite) == len(array):
        assert array[kept].max() == finite.max() and array[kept].min() == finite.min()


@pytest.mark.parametrize("gravity", [(0.0, 0.0), (0.15, -0.1)], ids=["level", "sloped"])
def test_a_true_model_predicts_the_held_out_motion(gravity):
    """From torques and headings alone, but for a start every 2 s."""
    from diffbot_ident.prediction_model import Model

    model = Model(TRUE, gravity=gravity)
    times = np.arange(400) * 0.01
    rng = np.random.default_rng(3)
    torque = np.repeat(rng.choice([-0.3, 0.3], (20, 2)), 20, axis=0)
    velocity = np.zeros((400, 2))
    heading = np.full((400, 1), 0.4)
    for k in range(1, 400):
        # The torque of row k acted until its stamp; a velocity is that of its period's middle.
        acting = 0.5 * (torque[k - 1] + torque[k])
        step, heading[k] = model.advance(
            velocity[k - 1][:, None], heading[k - 1], acting[:, None], 0.01, ROBOT.geometry
        )
        velocity[k] = step[:, 0]
    motion = np.column_stack([velocity, torque, heading])
    predicted = predicted_motion(times, motion, model, ROBOT)
    rest = motion[:, :2] - predicted
    assert np.abs(rest[:199]).max() < 1e-9
    wrong = predicted_motion(times, motion, Model((0.1, -4.0, 2.0, -12.0)), ROBOT)
    assert np.sqrt(np.mean((motion[:, :2] - wrong) ** 2)) > 10 * np.sqrt(np.mean(rest**2))


def test_held_out_states_are_kept_one_by_one():
    recording = example_recording(verification=VERIFICATION)
    times, motion = recording.held_out()
    assert len(times) == round(100 * VERIFICATION.duration)
    assert motion.shape == (len(times), 5)
    state = IdentState(0, RunPhase.EXCITING)
    assert state.phase is not RunPhase.VERIFYING


@pytest.fixture(scope="module")
def page_in_browser(tmp_path_factory):
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@needs_browser
@pytest.mark.parametrize(
    ("kind", "width", "dark"),
    [("ident", 1280, False), ("ident", 390, True), ("park", 1280, False), ("steps", 390, False)],
)
def test_a_browser_draws_every_chart_without_a_request(page_in_browser, reports, kind, width, dark):
    page, summary = reports[kind]
    page_in_browser.open(page, width, dark)
    assert_drawn(page_in_browser, page)
    assert page_in_browser.value("diffbot.data.summary.outcome") == summary["outcome"]
    # Nothing is wider than the screen.
    assert page_in_browser.value("document.documentElement.scrollWidth") <= width
    assert page_in_browser.value("document.documentElement.classList.contains('dark')") is dark
    if "states" in charts_of(page):
        # They end where the run ends, not where the last state began.
        times = numbers(charts_of(page)["states"]["x"])
        shown = page_in_browser.value("document.getElementById('states')._fullLayout.xaxis.range")
        assert shown == pytest.approx([times[0], times[-1]], abs=1e-3)


def test_pages_of_poses_and_of_identifications_show_the_states(reports):
    """The browser's test looks at their ends."""
    for kind in ("ident", "park"):
        assert "states" in charts_of(reports[kind][0])


@needs_browser
def test_zoom_is_shared_play_moves_and_keys_work(page_in_browser, reports):
    tab = page_in_browser
    tab.open(reports["park"][0])
    tab.value("Plotly.relayout('command_0', {'xaxis.range': [1, 2]}).then(() => 0)")
    for key in ("command_1", "velocity_v", "error_heading"):
        tab.wait(f"document.getElementById('{key}')._fullLayout.xaxis.range[1] === 2")
    tab.value("Plotly.relayout('command_1', {'xaxis.autorange': true}).then(() => 0)")
    tab.wait("document.getElementById('velocity_v')._fullLayout.xaxis.range[1] > 5")
    assert tab.value("diffbot.scenes.path.state().running") is False
    tab.press(" ")
    tab.wait("diffbot.scenes.path.state().now > 0.2 && diffbot.scenes.path.state().running")
    tab.press(" ")
    assert tab.value("diffbot.scenes.path.state().running") is False
    assert tab.value("document.documentElement.classList.contains('dark')") is False
    tab.press("d")
    assert tab.value("document.documentElement.classList.contains('dark')") is True
    assert tab.complaints == []
