# SPDX-License-Identifier: Apache-2.0
"""Which parameter files a controller takes, and what it says of the others."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from diffbot_controllers.parameter_reader import DynamicsFile, usable_dynamics
from diffbot_description import DynamicParameters

GOOD = {
    "k5": 0.084,
    "k6": -3.77,
    "k7": 2.65,
    "k8": -16.1,
    "covariance_diagonal": [1e-6, 1e-3, 1e-5, 1e-3],
    "state": "estimated",
    "robot": "twil",
}


def written(folder, **changes):
    content = {k: v for k, v in {**GOOD, **changes}.items() if v is not None}
    path = folder / "dynamic_parameters.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": content}}))
    return str(path)


def test_a_good_file_is_read(tmp_path):
    assert DynamicsFile(written(tmp_path)).dynamics("twil") == DynamicParameters(
        0.084, -3.77, 2.65, -16.1
    )


def test_a_file_written_by_hand_needs_only_the_numbers(tmp_path):
    path = written(tmp_path, covariance_diagonal=None, state=None, robot=None, k7=2)
    assert DynamicsFile(path).dynamics("twil").k7 == 2.0


def test_a_centre_of_mass_on_the_axle_makes_k5_and_k6_nil(tmp_path):
    path = written(tmp_path, covariance_diagonal=[math.inf, math.inf, 1e-5, 1e-3])
    assert DynamicsFile(path).dynamics("twil") == DynamicParameters(0.0, 0.0, 2.65, -16.1)


def test_a_verified_file_is_read(tmp_path):
    path = written(tmp_path, verification={"state": "verified"})
    assert DynamicsFile(path).dynamics("twil").k7 == 2.65


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k7": None}, r"k7 = None: must be a number"),
        ({"k7": "2.6"}, r"k7 = '2.6': must be a number"),
        ({"k7": True}, r"k7 = True: must be a number"),
        ({"k7": math.nan}, r"k7 = nan: must be finite"),
        ({"k5": math.inf}, r"k5 = inf: must be finite"),
        ({"k7": 0.0}, r"k7 = 0.0: must be > .* singular"),
        ({"k8": 16.1}, r"k8 = 16.1: must be < .* order the wheels"),
        ({"k6": 3.77}, r"k5 = 0.084 and k6 = 3.77 have the same sign"),
        ({"state": "unestimated"}, r"state = 'unestimated': must be 'estimated'"),
        ({"robot": "agv"}, r"robot = 'agv': .* another robot than 'twil'"),
        ({"covariance_diagonal": [0.0]}, r"covariance_diagonal = \[0.0\]: must be 4"),
        ({"covariance_diagonal": [0.1, math.inf, 0.1, 0.1]}, r"variance of k6 = inf"),
        ({"covariance_diagonal": [0.1, -1.0, 0.1, 0.1]}, r"variance of k6 = -1.0"),
        ({"verification": {"state": "refuted", "reason": "slip"}}, r"'refuted' \(slip\): must be"),
        ({"verification": {"state": "not_verified"}}, r"'not_verified': must be 'verified'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, changes, message):
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError, match=message) as error:
        DynamicsFile(path).dynamics("twil")
    assert path in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no k5 to k8"),
        ("[1, 2", "no valid YAML"),
        ("ident:\n  ros__parameters:\n    amplitude: 1.0\n", "no k5 to k8"),
        ("\x00\xff", "no valid YAML"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "other.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        DynamicsFile(str(path)).dynamics("twil")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"nothing\.yaml': No such file.*identify"):
        DynamicsFile(str(tmp_path / "nothing.yaml")).dynamics("twil")


def test_wrong_signs_within_the_uncertainty_pass():
    """A centre of mass on the axle: K5 and K6 are noise around 0."""
    usable_dynamics((0.001, 0.02, 2.6, -16.0), (1e-6, 1e-3, 1e-5, 1e-3))
    with pytest.raises(ValueError, match="same sign"):
        usable_dynamics((0.01, 0.2, 2.6, -16.0), (1e-6, 1e-3, 1e-5, 1e-3))


@given(st.lists(st.floats(), min_size=4, max_size=4), st.lists(st.floats(), min_size=4, max_size=4))
def test_nothing_unusable_passes(values, variances):
    try:
        dynamics = usable_dynamics(values, variances)
    except ValueError:
        return
    assert all(map(math.isfinite, values))
    assert dynamics.k7 > 0.0 > dynamics.k8
