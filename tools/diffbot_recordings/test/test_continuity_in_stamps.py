# SPDX-License-Identifier: Apache-2.0
"""Nothing is discontinuous in the stamps: tiny changes of them change values by next to nothing."""

import numpy as np
import pytest
from clocked_robot import GEOMETRY, readings, rows

from diffbot_ident.samples.wheel_speeds import level_side, nearest
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import analyse_recording
from diffbot_recordings.samples import Batch
from diffbot_recordings.segments import Segmenter, SegmentSettings
from diffbot_recordings.torque_analysis import _cycle

HEADER = "left_position,right_position,left_effort,right_effort"


def recorded(seed):
    """Samples of a random robot that stands first: of period, encoder, noise and lost ones."""
    random = np.random.default_rng([seed, 9])
    period = float(random.choice([0.004, 0.005, 0.008, 0.01, 0.02]))
    counts = int(np.exp(random.uniform(np.log(500.0), np.log(16384.0))))
    times = period * np.arange(round(random.uniform(20.0, 24.0) / period))
    angles, torques = readings(times, seed, counts, random.uniform(0.003, 0.02))
    still = round(1.6 / period)
    times = np.concatenate((times, times[-1] + period * np.arange(1, still + 1)))
    angles = np.pad(angles, ((still, 0), (0, 0)), mode="edge")
    torques = np.pad(torques, ((still, 0), (0, 0)))
    kept = random.random(len(times)) > random.choice([0.0, 0.01, 0.1])
    return random, rows(times, angles, torques)[kept]


def identified(path, samples, time="time"):
    np.savetxt(path, samples, "%.17g", ",", header=f"{time},{HEADER}", comments="")
    options = Options(
        [path], wheel_radius=GEOMETRY.left_radius, track=2.0 * GEOMETRY.half_track, pictures=False,
        page=False,
    )  # fmt: skip
    values = analyse_recording(options).verdicts[0].values
    return {each.name: (each.value, each.std) for each in values if np.isfinite(each.std)}


def test_a_tiny_change_of_the_stamps_changes_hardly_anything(tmp_path):
    """Rounding errors, 1 us, the epoch's offset, another unit: below 0.01 standard deviations.

    1e-13 s once changed a value by 1.1 of them, and the epoch's offset by 1.45.
    """
    random, samples = recorded(2)
    expected = identified(tmp_path / "a.csv", samples)
    assert {"K5", "K6", "K7", "K8"} <= {*expected}
    noise = random.uniform(-1e-6, 1e-6, len(samples))
    changes = {
        "1e-13 s": lambda t: t + 1e-13,
        "1 us": lambda t: t + 1e-6,
        "1 us at random": lambda t: t + noise,
        "epoch": lambda t: t + 1.7e9,
        "ms": lambda t: 1e3 * t,
    }
    for name, change in changes.items():
        changed = samples.copy()
        changed[:, 0] = change(samples[:, 0])
        result = identified(tmp_path / "b.csv", changed, "time_ms" if name == "ms" else "time")
        assert {*result} == {*expected}
        for value, (one, std) in expected.items():
            assert abs(result[value][0] - one) <= 0.01 * std, (name, value)
            assert result[value][1] == pytest.approx(std, rel=0.01), (name, value)


@pytest.mark.parametrize("error", [-1e-9, 0.0, 1e-9])
def test_usual_ratios_are_rounded_alike_whatever_the_rounding_errors(error):
    """Halves are usual: 0.05 s / 0.02 s, and the side of the level at 100 and at 50 Hz."""
    assert nearest(0.05 / (0.02 + error)) == 2
    assert level_side(0.01 + error) == 4 and level_side(0.02 + error) == 2
    assert _cycle(1602, 0.01 + error) == (1602, 1202)
    assert _cycle(0, 0.005 + error) == (4000, 3000)


@pytest.mark.parametrize("error", [-1e-9, 0.0, 1e-9])
def test_gaps_and_rests_of_whole_periods_are_cut_alike(error):
    """Gap, rest and shortest time are whole numbers of periods, and their limits."""
    period = 0.02 + error
    times = 5.0 + period * np.arange(400)
    moving = np.ones(400)
    moving[200:249] = 0.0  # 50 periods are 1 s
    kept = np.ones(400, bool)
    kept[100:102] = False  # 0.06 s
    batch = {"left_velocity": moving[kept], "right_velocity": moving[kept]}
    settings = SegmentSettings(
        gap=0.06, shortest=0.5, still={each: 0.1 for each in batch}, uniform=False
    )
    (result,) = Segmenter(settings).segments([Batch(times[kept], batch)], [*batch])
    assert len(result.times) == 398
