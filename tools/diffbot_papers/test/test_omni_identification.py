# SPDX-License-Identifier: Apache-2.0
"""Friction and inertia of the omnidirectional robot: the paper's numbers, and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_papers.omni import model as published
from diffbot_papers.omni.coasting import (
    Coasting,
    coasting_speed,
    fit_coasting,
    fit_coasting_published,
    fit_inertia,
    inertia_published,
)
from diffbot_papers.omni.experiments import (
    OmniSensors,
    Repeated,
    SensorModel,
    coast,
    coasting_of,
    drive_steadily,
    hang,
    repeat_experiments,
    steady_points,
)
from diffbot_papers.omni.model import OmniRobot, OmniState, simulate
from diffbot_papers.omni.omni_identification import (
    HangingRig,
    SteadyFit,
    UncertainValue,
    combined,
    fit_acceleration,
    fit_acceleration_published,
    fit_steady,
    mean,
)

EXACT = SensorModel(0.0, 0.0)
NO_NOISE = OmniSensors(EXACT, EXACT, EXACT)
RUNS, COASTS = 20, 3
ROBOT = OmniRobot()


# The paper's own data.


@pytest.mark.parametrize(
    ("axis", "viscous", "coulomb"), [(0, 3.4775, 28.541), (1, 2.9115, 28.4744), (2, 0.7355, 5.1223)]
)
def test_table_2_from_table_1(axis, viscous, coulomb):
    """np.polyfit's line to Table 1; the printed Table 2 is within 1 % of it and its intervals."""
    fit = fit_steady(published.TABLE_1_SPEEDS, published.TABLE_1_FORCES[axis])
    slope, intercept = np.polyfit(published.TABLE_1_SPEEDS, published.TABLE_1_FORCES[axis], 1)
    assert (fit.viscous.value, fit.coulomb.value) == pytest.approx((slope, intercept), rel=1e-9)
    assert (slope, intercept) == pytest.approx((viscous, coulomb), rel=1e-4)
    printed = published.TABLE_2.viscous[axis], published.TABLE_2.coulomb[axis]
    assert printed == pytest.approx((slope, intercept), rel=0.01)
    assert fit.viscous.covers(printed[0]) and fit.coulomb.covers(printed[1])


def test_line_intervals_are_those_of_numpy():
    """np.polyfit gives the same covariance."""
    data = published.TABLE_1_SPEEDS, published.TABLE_1_FORCES[0]
    fit = fit_steady(*data)
    covariance = np.polyfit(*data, 1, cov=True)[1]
    np.testing.assert_allclose(fit.covariance, covariance, rtol=1e-9)
    stds = fit.viscous.std, fit.coulomb.std
    assert stds == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-9)
    # t of 2 degrees of freedom, from any table.
    assert fit.viscous.half_width == pytest.approx(4.3027 * fit.viscous.std, rel=1e-4)


def test_table_4_as_printed_and_with_the_falling_mass():
    """J as printed to its digits; corrected, its mean is 1.351, beside 1.358 of methods 1 + 2."""
    rigs = [HangingRig(row.load) for row in published.TABLE_4]
    pairs = list(zip(rigs, published.TABLE_4, strict=True))
    old = [rig.inertia_published(row.acceleration).value for rig, row in pairs]
    new = [rig.inertia(row.acceleration).value for rig, row in pairs]
    assert old == pytest.approx([row.inertia for row in published.TABLE_4], abs=1.1e-4)
    assert np.mean(old) == pytest.approx(published.TABLE_6_METHOD_3, abs=6e-4)
    assert mean(new).value == pytest.approx(1.351, abs=5e-4)
    excess = np.divide(old, new) - 1.0
    assert excess.min() > 0.02 and excess.max() < 0.05


# Properties.


@given(st.floats(0.05, 5.0), st.floats(0.05, 0.5), st.floats(0.1, 5.0))
def test_corrected_inertia_undoes_the_fall_and_the_printed_one_does_not(load, radius, inertia):
    """The acceleration follows from energy: m g h = (J W^2 + m (r W)^2) / 2, h = r theta."""
    rig = HangingRig(load, radius)
    theta = 1.0
    speed = math.sqrt(2.0 * load * rig.gravity * radius * theta / (inertia + load * radius**2))
    acceleration = speed**2 / (2.0 * theta)
    assert rig.acceleration(inertia) == pytest.approx(acceleration, rel=1e-12)
    assert rig.inertia(acceleration).value == pytest.approx(inertia, rel=1e-9)
    too_much = rig.inertia_published(acceleration).value - inertia
    assert too_much == pytest.approx(load * radius**2, rel=1e-9)


@given(
    st.floats(0.2, 3.0),
    st.just(0.0) | st.floats(-0.1, 2.0),
    st.floats(0.6, 5.0),
    st.floats(0.05, 0.9),
)
def test_derivatives_of_coasting_are_differences_of_it(start, rate, deceleration, fraction):
    """Before standstill, by central differences; and the standstill is where the speed is 0."""

    def speed(t, *p):
        return float(coasting_speed([t], *p)[0][0])

    p = np.array([start, rate, deceleration])
    # Where rate is tiny, log1p of a product that is not exact would be the test's own error.
    small = abs(rate) < 1e-6
    until = start / deceleration if small else np.log1p(rate * start / deceleration) / rate
    time = fraction * until
    derivatives = coasting_speed([time], *p)[1][0]
    for i, h in enumerate((1e-6, 1e-5, 1e-6)):
        step = h * np.eye(3)[i]
        slope = (speed(time, *(p + step)) - speed(time, *(p - step))) / (2.0 * h)
        assert derivatives[i] == pytest.approx(slope, abs=1e-5 * (1.0 + abs(slope)))
    assert speed(1.001 * until, *p) == 0.0
    assert speed(0.999 * until, *p) > 0.0


def test_intervals_pass_the_friction_s_uncertainty_on_to_the_inertia():
    """The standard deviation of J against that of refits with B_w, C_w drawn anew."""
    speed = coasting_speed(0.04 * np.arange(15), 1.8, 0.53, 3.73)[0]
    covariance = np.array([[0.05**2, -0.9 * 0.05 * 0.06], [-0.9 * 0.05 * 0.06, 0.06**2]])
    centre = np.array([0.53, 3.73]) * 1.374
    drawn = np.random.default_rng(5).multivariate_normal(centre, covariance, 100)

    def with_friction(b, c):
        return SteadyFit(UncertainValue(b, 0.05, 2), UncertainValue(c, 0.06, 2), covariance)

    results = [fit_inertia([Coasting(0.04, speed)], with_friction(*f)).value for f in drawn]
    reported = fit_inertia([Coasting(0.04, speed)], with_friction(*centre))
    assert reported.value == pytest.approx(1.374, rel=1e-6)
    # 100 draws give a standard deviation to 7 %; 15 % is twice that.
    assert np.std(results) == pytest.approx(reported.std, rel=0.15)


def test_degrees_of_freedom_of_a_sum():
    """Welch and Satterthwaite: n equal parts of k each have n k, one part alone keeps its own."""
    assert combined((1.0, 1.0, 1.0), (5, 5, 5))[1] == pytest.approx(15.0)
    assert combined((2.0, 0.0), (3, math.inf)) == pytest.approx((2.0, 3.0))
    assert combined((1.0,), (math.inf,))[1] == math.inf
    assert UncertainValue(2.0, 0.1, math.inf).half_width == pytest.approx(0.1959964)
    assert UncertainValue(2.0, 0.1).scaled(UncertainValue(3.0, 0.2)).std == pytest.approx(0.5)


# Simulated experiments.


@pytest.fixture(scope="module")
def experiments():
    """RUNS repetitions of methods 1 and 2 with the stated noise, seed 6."""
    random, sensors = np.random.default_rng(6), OmniSensors()
    points = steady_points(drive_steadily(ROBOT, sensors, random, RUNS), ROBOT)
    return points, coast(ROBOT, sensors, random, RUNS * COASTS)


def coastings(experiments, run, axis):
    return [coasting_of(experiments[1], COASTS * run + i, axis) for i in range(COASTS)]


def covered(estimates, truth):
    return sum(e.covers(truth) for e in estimates)


# Of 20 intervals of 95 %, 15 or fewer hold the truth in 0.3 % of all cases (binomial).
LEAST = 16


@pytest.mark.parametrize("axis", range(3))
def test_method_1_recovers_friction_within_its_intervals(experiments, axis):
    speeds, forces = experiments[0]
    fits = [fit_steady(s, f) for s, f in zip(speeds[:, axis], forces[:, axis], strict=True)]
    assert covered((f.viscous for f in fits), ROBOT.viscous[axis]) >= LEAST
    assert covered((f.coulomb for f in fits), ROBOT.coulomb[axis]) >= LEAST
    assert np.mean([f.coulomb.half_width for f in fits]) < 0.1 * ROBOT.coulomb[axis]


@pytest.mark.parametrize("axis", range(3))
def test_method_2_recovers_friction_over_mass_within_its_intervals(experiments, axis):
    fits = [fit_coasting(coastings(experiments, run, axis)) for run in range(RUNS)]
    mass = ROBOT.masses[axis]
    assert covered((f.rate for f in fits), ROBOT.viscous[axis] / mass) >= LEAST
    assert covered((f.deceleration for f in fits), ROBOT.coulomb[axis] / mass) >= LEAST
    assert np.mean([f.deceleration.half_width for f in fits]) < 0.12 * ROBOT.coulomb[axis] / mass


def test_methods_1_and_2_recover_the_inertia_within_its_interval(experiments):
    speeds, forces = experiments[0]
    results = [
        fit_inertia(coastings(experiments, run, 2), fit_steady(speeds[run, 2], forces[run, 2]))
        for run in range(RUNS)
    ]
    assert covered(results, ROBOT.inertia) >= LEAST
    assert np.mean([e.half_width for e in results]) < 0.03 * ROBOT.inertia


def test_euler_takes_noise_for_viscous_friction_and_the_closed_form_does_not():
    """Bias s^2 / (T var V), here 0.015 1/s of 0.1; 400 fits know theirs to 0.0026 1/s."""
    random, noise, time = np.random.default_rng(2), 0.0085, 0.04 * np.arange(45)
    truth = coasting_speed(time, 1.3, 0.1066, 0.8414)[0]

    def rates(fit, count):
        noisy = truth + noise * random.standard_normal((count, 5, len(time)))
        return [fit([Coasting(0.04, row) for row in rows]).rate.value for rows in noisy]

    said = noise**2 / (0.04 * (0.9 * 1.3) ** 2 / 12.0)
    assert np.mean(rates(fit_coasting_published, 400)) - 0.1066 == pytest.approx(said, abs=0.006)
    ours = rates(fit_coasting, 40)
    assert abs(np.mean(ours) - 0.1066) < 3.0 * np.std(ours) / math.sqrt(40)


def test_without_noise_all_methods_find_the_truth():
    """Euler's, too, but for its first-order error of T / 2 times the rate."""
    random = np.random.default_rng(0)
    recording = coast(ROBOT, NO_NOISE, random)
    runs = [[coasting_of(recording, 0, axis)] for axis in range(3)]
    for axis, run in enumerate(runs):
        truth = ROBOT.viscous[axis] / ROBOT.masses[axis], ROBOT.coulomb[axis] / ROBOT.masses[axis]
        ours, old = fit_coasting(run), fit_coasting_published(run)
        assert (ours.rate.value, ours.deceleration.value) == pytest.approx(truth, rel=1e-6)
        assert (old.rate.value, old.deceleration.value) == pytest.approx(truth, rel=0.02)
    j = inertia_published(runs[2], ROBOT.viscous[2], ROBOT.coulomb[2]).value
    assert j == pytest.approx(ROBOT.inertia, rel=0.02)
    rig = HangingRig(0.51)
    angle = hang(rig, ROBOT.inertia, EXACT, random)[0]
    assert fit_acceleration(0.04, angle).value == pytest.approx(rig.acceleration(ROBOT.inertia))
    assert fit_acceleration_published(0.04, angle).value == pytest.approx(
        rig.acceleration(ROBOT.inertia)
    )


def test_method_3_recovers_the_inertia_only_with_the_falling_mass():
    rig, sensor = HangingRig(1.0), OmniSensors().angle
    angles = hang(rig, ROBOT.inertia, sensor, np.random.default_rng(3), RUNS)
    accelerations = [fit_acceleration(0.04, angle) for angle in angles]
    assert covered((rig.inertia(a) for a in accelerations), ROBOT.inertia) >= LEAST
    assert covered((rig.inertia_published(a) for a in accelerations), ROBOT.inertia) == 0


def test_coasting_backwards_in_several_runs_or_cut_off_is_as_good():
    time = 0.04 * np.arange(40)
    runs = [Coasting(0.04, sign * coasting_speed(time, 1.2, 0.1, 0.85)[0]) for sign in (1, -1)]
    cut = [Coasting(0.04, run.speed[:20]) for run in runs]
    for some in (runs, cut):
        fit = fit_coasting(some)
        assert (fit.rate.value, fit.deceleration.value) == pytest.approx((0.1, 0.85), rel=1e-6)
        assert fit.starts == pytest.approx((1.2, 1.2), rel=1e-6)


def test_only_the_ratio_to_the_mass_shows_in_coasting():
    """Twice mass and friction coast alike; B and C come with the mass's own uncertainty."""
    heavy = OmniRobot(mass=70.0, viscous=(7.46, 6.68, 0.73), coulomb=(58.9, 59.22, 5.12))
    results = []
    for robot in (ROBOT, heavy):
        states = [OmniState(np.array([1.3, 0.0, 0.0]), np.zeros(4), np.zeros(3))]
        for _ in range(35):
            states.append(simulate(robot, states[-1], None, 0.04))
        results.append(fit_coasting([Coasting(0.04, np.array([s.velocity[0] for s in states]))]))
    assert results[0].rate.value == pytest.approx(results[1].rate.value, rel=1e-9)
    viscous, coulomb = results[1].friction(UncertainValue(70.0, 0.7))
    assert (viscous.value, coulomb.value) == pytest.approx((7.46, 58.9), rel=1e-6)
    assert coulomb.std == pytest.approx(0.01 * 58.9, rel=1e-3)


def test_repeated_estimates_are_summed_up():
    """By hand: values 9, 11, 13 +- 1.5 of a truth of 10."""
    repeated = Repeated("m", "q", 10.0, np.array([9.0, 11.0, 13.0]), np.array([1.5, 1.5, 1.5]))
    summary = (repeated.bias, repeated.spread, repeated.half_width, repeated.coverage)
    assert summary == pytest.approx((0.1, 0.2, 0.15, 2.0 / 3.0))


# Refusals.


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: fit_steady([1.0, 2.0], [1.0, 2.0]), "at least 3"),
        (lambda: fit_steady([1.0, 1.0, -1.0], [1.0, 2.0, 3.0]), "need different"),
        (lambda: fit_steady([1.0, 0.0, 2.0], [1.0, 2.0, 3.0]), "no known sign"),
        (lambda: fit_steady([1.0, math.nan, 2.0], [1.0, 2.0, 3.0]), "finite"),
        (lambda: fit_steady([1.0, 2.0, 3.0], [1.0, 2.0]), "one force for each"),
        (lambda: Coasting(0.04, np.array([1.0, 0.5, 0.0, 0.0])), "readings before standstill"),
        (lambda: Coasting(0.0, np.ones(9)), "period = 0.0"),
        (lambda: Coasting(0.04, np.array([1.0] * 8 + [math.nan])), "finite"),
        (lambda: fit_coasting([]), "no runs"),
        (lambda: fit_coasting([Coasting(0.04, np.linspace(1.0, 1.5, 20))]), "must fall"),
        (lambda: repeat_experiments(ROBOT, np.random.default_rng(0), 1), "runs = 1"),
        (lambda: fit_coasting_published([]), "no runs"),
        (lambda: HangingRig(0.0), "load = 0.0"),
        (lambda: HangingRig(1.0).inertia(-0.9), "must be > 0"),
        (lambda: HangingRig(1.0).inertia(40.0), "cannot fall faster"),
        (lambda: fit_acceleration(0.04, [1.0, 2.0]), "at least 4"),
        (lambda: SensorModel(-1.0, 0.0), "noise = -1.0"),
        (lambda: mean([1.0]), "at least 2"),
    ],
)
def test_bad_data_are_refused_by_name(make, word):
    with pytest.raises(ValueError, match=word):
        make()
