# SPDX-License-Identifier: Apache-2.0
"""Exported gains and speeds on the robots that they were identified from, two of the benchmark's.

`./diffbot python benchmarks/exported_gains.py` has the table over many robots.
"""

import sys
from pathlib import Path

import pytest
import yaml

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def gains():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import exported_gains
    finally:
        sys.path.remove(str(BENCHMARKS))
    return exported_gains


# Without and with a torque delay (1.8 periods); Coulomb friction of 24 and 14 % of the excitation.
@pytest.mark.parametrize("seed", [6, 13])
def test_settling_and_overshoot_are_as_predicted(gains, seed, tmp_path):
    answers = gains.answers(seed, tmp_path)
    assert len(answers) == 2
    for answer in answers:
        allowed = max(0.1 * answer.predicted_settling, answer.period)
        assert abs(answer.settling - answer.predicted_settling) <= allowed
        assert abs(answer.overshoot_error) <= 0.1


def test_a_wrong_inertia_would_be_seen(gains, tmp_path, monkeypatch):
    """The comparison fails where the file is of another robot: half of its mass."""
    identify = gains.identify

    def of_a_lighter_robot(drawn, folder):
        result = identify(drawn, folder)
        path = folder / "dynamic_parameters.yaml"
        document = yaml.safe_load(path.read_text())
        section = document["/**"]["ros__parameters"]
        for name in ("k7", "k8"):
            section[name] *= 2.0
        path.write_text(yaml.safe_dump(document))
        return result

    monkeypatch.setattr(gains, "identify", of_a_lighter_robot)
    answers = gains.answers(2, tmp_path)
    assert any(abs(answer.settling_error) > 0.1 for answer in answers)


def test_bends_at_the_speed_of_the_table_stay_near_the_tolerance(gains, tmp_path):
    bends = gains.bends(2, tmp_path)
    assert len(bends) >= 4
    for bend in bends:
        assert 0.5 * bend.tolerance < bend.deviation < 1.2 * bend.tolerance
