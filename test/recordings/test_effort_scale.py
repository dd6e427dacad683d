# SPDX-License-Identifier: Apache-2.0
"""`identify` on efforts of unknown scale: a weighed mass, a known load, and what contradicts.

Recordings are of the ideal engine, 30 s, with encoders of 4096 counts, 1 % torque noise, friction.
"""

from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from identify_command import identify
from made_recordings.excited_runs import RunSetting, driver, next_torque

from diffbot_description import load_robot
from diffbot_recordings.options import parse_mass
from diffbot_recordings.samples import Batch, Recording
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot

CONSTANT, LOAD, PLACE = 0.35, 3.0, 0.05
ROBOT = ("--robot", "twil")
HEADER = "time,left_position,right_position,left_effort,right_effort"


def driven(seed, load):
    """Rows of a recording in ampere."""
    setting = RunSetting()
    robot = setting.make_robot()
    source, actuator, encoders = driver(setting, robot, seed)
    with closing(make_simulator("ideal", robot)) as engine:
        if load:
            engine.set_payload(load, PLACE, 0.1, 0.02)
        virtual = VirtualRobot(engine, actuator, encoders, setting.period)
        samples = [virtual.sample]
        for _ in range(3000):
            samples.append(virtual.advance(next_torque(source, samples, setting)))
    return [(s.stamp, *s.position, *(t / CONSTANT for t in s.effort)) for s in samples]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables without and with the load, and without positions."""
    folder = tmp_path_factory.mktemp("tables")
    for name, load, seed in (("bare", 0.0, 5), ("loaded", LOAD, 6)):
        rows = np.array(driven(seed, load))
        np.savetxt(folder / f"{name}.csv", rows, delimiter=",", header=HEADER, comments="")
    rows = np.column_stack((np.arange(0, 20, 0.02), *np.zeros((2, 1000))))
    np.savetxt(folder / "axis.csv", rows, delimiter=",", header="time,command_v,v", comments="")
    return folder


def test_torques_in_a_described_dead_band_are_none():
    """In N m, after the scale; what is not known stays so."""
    batch = Batch(np.arange(4.0), {"left_effort": np.array([0.2, -0.2, 1.0, np.nan])})
    source = SimpleNamespace(batches=lambda: iter([batch]))
    recording = Recording(
        "torque", [source], ("left_effort",), torque_scale=(0.5, 0.5), dead_band=(0.15, 0.0)
    )
    (result,) = recording.batches()
    np.testing.assert_array_equal(result.channels["left_effort"], [0.0, 0.0, 0.5, np.nan])


def weighed():
    model = load_robot("twil").model
    return model.mass_body + 2.0 * model.wheel_mass


def holds(result, true, deviations=3.0):
    return abs(result["value"] - true) < deviations * result["std"]


def check(summary, path):
    """The constant, K5..K8 and friction are those in N m."""
    robot = RunSetting().make_robot()
    scale = summary["torque_constant"]
    assert holds(scale, CONSTANT)
    assert scale["std"] < 0.02 * CONSTANT
    with closing(make_simulator("ideal", robot)) as engine:
        truth = engine.parameters()
    for name, true in zip(("K5", "K6", "K7", "K8"), truth, strict=True):
        assert holds(summary["parameters"][name], true), name
    for side, true in zip(("left", "right"), robot.friction.coulomb, strict=True):
        assert holds(summary["friction"][f"coulomb_{side}"], true)
    drive = yaml.safe_load((path / "out" / "twil_identified.yaml").read_text())["drive"]
    assert drive["effort_unit"] == "ampere"
    assert drive["torque_constant"] == pytest.approx(scale["left_right"])


def test_the_weighed_mass_tells_the_torque_of_an_ampere(tables, tmp_path, capsys):
    mass = f"{weighed()}+-0.02"
    status, summary = identify(
        tmp_path, tables / "bare.csv", *ROBOT, "--effort-unit", "ampere", "--mass", mass
    )
    assert status == 0
    check(summary, tmp_path)
    said = capsys.readouterr().out
    assert "drive: {effort_unit: ampere, torque_constant: [0.3" in said
    assert "counts as exact" in said


def test_a_known_load_tells_it_without_the_wheels_inertia(tables, tmp_path, capsys):
    files = (tables / "bare.csv", tables / "loaded.csv")
    words = ("--effort-unit", "ampere", "--load", LOAD, "--load-at", PLACE)
    status, summary = identify(tmp_path, *files, *ROBOT, *words)
    assert status == 0
    check(summary, tmp_path)
    mass = summary["torque_constant"]["effective_mass"]
    assert holds(mass, load_robot("twil").model.equivalent_mass)
    assert "by K5 the load lay" not in capsys.readouterr().out
    # With the mass as well, the constant is no less sure.
    _, both = identify(tmp_path, *files, *ROBOT, *words, "--mass", weighed())
    assert both["torque_constant"]["std"] <= summary["torque_constant"]["std"]
    assert holds(both["torque_constant"], CONSTANT)


@pytest.mark.parametrize("ways", ["mass", "load"])
def test_wheels_of_unlike_constants_are_told_by_the_motion(tables, tmp_path, capsys, ways):
    """The right motor needs 0.8 of the current of the left one for the same torque."""
    files = []
    for name in ("bare", "loaded")[: 1 if ways == "mass" else 2]:
        rows = np.loadtxt(tables / f"{name}.csv", delimiter=",", skiprows=1)
        rows[:, 4] *= 0.8
        files.append(tmp_path / f"{name}.csv")
        np.savetxt(files[-1], rows, delimiter=",", header=HEADER, comments="")
    words = ("--mass", f"{weighed()}+-0.02") if ways == "mass" else ("--load", LOAD)
    status, summary = identify(tmp_path, *files, *ROBOT, "--effort-unit", "ampere", *words)
    assert status == 0
    scale = summary["torque_constant"]
    assert holds(scale, CONSTANT * (1.0 + 1.0 / 0.8) / 2.0)
    left, right = scale["left_right"]
    assert right / left == pytest.approx(1.0 / 0.8, rel=2e-3)
    with closing(make_simulator("ideal", RunSetting().make_robot())) as engine:
        for name, true in zip(("K5", "K6", "K7", "K8"), engine.parameters(), strict=True):
            assert holds(summary["parameters"][name], true), name
    said = " ".join(capsys.readouterr().out.split())
    assert "the right wheel's constant is 1.25 ± 0.00" in said
    assert "not alike" not in said


def test_a_load_elsewhere_is_told_by_k5(tables, tmp_path, capsys):
    words = ("--effort-unit", "unknown", "--load", LOAD, "--load-at", -0.1)
    identify(tmp_path, tables / "bare.csv", tables / "loaded.csv", *ROBOT, *words)
    said = capsys.readouterr().out
    assert "warning: by K5 the load lay 0.0" in said
    assert "effort_unit: percent" in said


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        ("bare", "--mass 20", "for other efforts set --effort-unit"),
        ("bare", "--mass 0 --effort-unit ampere", "must be kg above 0"),
        ("bare", "--mass 20+-15 --effort-unit ampere", "less than half"),
        ("bare", "--mass 20 --effort-unit volt", "have no torque of a unit"),
        ("bare", "--mass 20 --effort-unit ampere --torque-constant 0.3", "give one"),
        ("bare", "--load 3 --effort-unit ampere", "needs two recordings"),
        ("bare", "--load-at 0.1 --effort-unit ampere", "only with --load"),
        ("bare", "--wheel-inertia 0.1 --effort-unit ampere", "only with --mass"),
        ("bare", "--effort-unit unknown", "--mass"),
        ("axis", "--mass 20 --effort-unit ampere", "for torque robots"),
        ("loaded bare", "--load 3 --effort-unit ampere", "without the load first"),
        ("bare bare", "--load 3 --effort-unit ampere", "too little"),
        ("bare loaded", "--load 3 --mass 40 --effort-unit ampere", "contradict each other"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(tables, tmp_path, capsys, files, words, said):
    paths = [tables / f"{name}.csv" for name in files.split()]
    try:
        status, summary = identify(tmp_path, *paths, *ROBOT, *words.split())
    except SystemExit as error:
        status, summary = error.code, None
    assert (status, summary) == (2, None)
    message = capsys.readouterr().err
    assert said in message
    assert "Traceback" not in message


def test_without_a_description_the_wheels_inertia_is_asked_for(tables, tmp_path, capsys):
    robot = load_robot("twil")
    wheels = ("--wheel-radius", robot.wheels.radius, "--track", robot.wheels.separation)
    words = (*wheels, "--effort-unit", "ampere", "--mass", weighed())
    assert identify(tmp_path, tables / "bare.csv", *words)[0] == 2
    assert "--wheel-inertia" in capsys.readouterr().err
    inertia = robot.model.wheel_inertia_spin
    status, summary = identify(tmp_path, tables / "bare.csv", *words, "--wheel-inertia", inertia)
    assert status == 0
    assert holds(summary["torque_constant"], CONSTANT)


@pytest.mark.parametrize("text", ["25", "25+-0.125", "25±0.125", "25 +/- 0.125"])
def test_a_mass_is_read_with_its_interval(text):
    value = parse_mass(text)
    assert value.value == 25.0
    assert value.interval95 == pytest.approx((24.875, 25.125), rel=1e-6)
