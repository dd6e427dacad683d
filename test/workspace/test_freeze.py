# SPDX-License-Identifier: Apache-2.0
"""What freeze.py calls quick is what was frozen, with any family of kernels."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from freeze import TOLERANCE, compare_case, read, relative_difference  # noqa: E402
from freeze_cases import Case, cases  # noqa: E402

# Of families of kernels; on the machine that froze the numbers it is TOLERANCE.
ACROSS = 1e-6
QUICK = [case for case in cases() if case.quick]


@pytest.mark.kernels
@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_a_run_is_what_was_frozen(case, tmp_path):
    frozen = read(case.group)["cases"][case.name]
    assert len(frozen) >= 10
    differences = compare_case(case, case.compute(tmp_path), frozen, ACROSS, properties=True)
    assert not differences, "\n".join(map(str, differences))


def test_quick_cases_are_of_each_kind():
    words = {word for case in QUICK for word in case.name.split()}
    assert words >= {"ident", "rls", "backstepping", "pose", "linearizing", "siwek"}
    assert len([case for case in cases() if case.group == "runs"]) >= 14


@pytest.mark.parametrize(
    ("value", "frozen", "difference"),
    [
        (1.0, 1.0, 0.0),
        (1.001, 1.0, 1e-3),
        (-2.0, 2.0, 2.0),
        (1e-20, 0.0, 0.0),
        (1e-3, 0.0, 1e9),
        (None, None, 0.0),
        ("completed", "completed", 0.0),
        ("failed", "completed", float("inf")),
        (None, 1.0, float("inf")),
        (True, 1.5, float("inf")),
        (float("nan"), 1.0, float("inf")),
    ],
)
def test_differences_are_relative_to_the_frozen_value(value, frozen, difference):
    assert relative_difference(value, frozen) == pytest.approx(difference)


def test_every_difference_is_told_by_name():
    case = Case("runs", "a run", lambda folder: {})
    frozen = {"a": 1.0, "b": 2.0, "gone": 3.0}
    differences = compare_case(case, {"a": 1.0, "b": 2.0 + 1e-8, "new": 0.0}, frozen, TOLERANCE)
    assert {each.key for each in differences} == {"b", "gone", "new"}
    assert str(differences[0]) == "a run: b: 2.00000001, frozen 2.0 (5.0e-09)"


def test_of_a_chaotic_run_properties_alone_count_across_kernels():
    case = Case("runs", "a run", lambda folder: {}, chaotic=True, properties=("peak torque",))
    frozen, now = {"x": 1.0, "peak torque": 5.0}, {"x": 2.0, "peak torque": 5.0}
    assert compare_case(case, now, frozen, TOLERANCE, properties=True) == []
    assert len(compare_case(case, now, frozen, TOLERANCE)) == 1
    now["peak torque"] = 4.0
    assert len(compare_case(case, now, frozen, ACROSS, properties=True)) == 1
