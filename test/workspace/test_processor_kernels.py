# SPDX-License-Identifier: Apache-2.0
"""Families of kernels: what is chosen is in use, and what a processor cannot run is left out."""

import os

import pytest

from diffbot_bringup import processor_kernels as kernels
from diffbot_bringup.commands import test as command
from diffbot_bringup.processor_kernels import CORE, NEEDS, PLAIN, Kernels, families, probe

ALL = tuple({feature for needs in NEEDS.values() for feature in needs})


@pytest.fixture
def machine(monkeypatch):
    """Make a machine: its features, and the cores that come for the names."""

    def make(features=ALL, cores=None, crashing=()):
        def answer(variables):
            name = variables.get(CORE, "Haswell")
            if name in crashing:
                return None
            on = () if kernels.WITHOUT in variables else ("X",)
            core = (cores or {}).get(name, name)
            return Kernels({"numpy": core, "scipy": core}, (*features, *on), on)

        monkeypatch.setattr(kernels, "probe", answer)

    return make


def test_a_family_takes_effect_in_each_openblas_and_in_numpy():
    before = probe({})
    if not before.cores:
        pytest.skip("NumPy here does not use OpenBLAS")
    assert set(probe({CORE: "Nehalem"}).cores.values()) == {"Nehalem"}
    (plain,) = kernels._plain(before)
    assert not set(plain.kernels.features) & set(before.switchable)
    assert before.switchable == () or len(plain.kernels.features) < len(before.features)


def test_families_without_their_features_are_left_out_with_a_line(machine):
    machine(features=[f for f in ALL if not f.startswith("AVX512")])
    result, left_out = families()
    names = [family.name for family in result]
    assert "SkylakeX" not in names and names[-1] == PLAIN
    (line,) = [line for line in left_out if line.startswith("SkylakeX")]
    assert "this processor has no AVX512F" in line


def test_each_set_of_kernels_is_run_once(machine):
    machine(cores={"Zen": "Haswell"})
    result, left_out = families()
    assert [f.name for f in result].count("Haswell") == 1
    assert "Zen: skipped, this OpenBLAS uses Haswell's kernels for it" in left_out


def test_one_that_ends_its_process_is_left_out(machine):
    machine(crashing=("SkylakeX",))
    result, left_out = families()
    assert "SkylakeX" not in [f.name for f in result]
    assert "SkylakeX: skipped, a process that uses it crashes at once" in left_out


def test_the_family_that_all_tests_ran_with_is_not_run_again(machine):
    machine(cores={"Zen": "Haswell"})
    every, others = families()[0], families(others=True)
    assert {f.name for f in every} - {f.name for f in others[0]} == {"Haswell"}
    assert "Haswell: skipped, all tests ran with it" in others[1]


def test_the_worst_status_counts_and_each_family_is_told(machine, monkeypatch, capfd, tmp_path):
    machine(features=NEEDS["Nehalem"])
    (tmp_path / "test_a.py").write_text(
        f"import os\n\n\ndef test_a():\n    assert os.environ.get('{CORE}') != 'Nehalem'\n"
    )
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)
    arguments = ["-q", "-p", "no:cacheprovider", str(tmp_path)]
    assert command.run_families(str(tmp_path), arguments) == 1
    said = capfd.readouterr().out
    assert "kernels: Nehalem: FAILED, status 1" in said
    assert f"kernels: {PLAIN}: passed" in said and "Haswell: skipped" in said
