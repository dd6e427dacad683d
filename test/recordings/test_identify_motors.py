# SPDX-License-Identifier: Apache-2.0
"""`identify` on logs of two motors on a stand: parameters, faults by name, several files."""

import numpy as np
import pytest
from identify_command import identify
from made_recordings.motor_logs import FAULTS, drawn, make_log


def write(path, columns):
    names = list(columns)
    table = np.column_stack([columns[name] for name in names])
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.6g")
    return path


@pytest.mark.parametrize("files", [1, 3])
def test_resistance_and_ke_are_found_from_one_log_or_several(tmp_path, files):
    rng = np.random.default_rng(11)
    motors = drawn(rng)
    paths = [write(tmp_path / f"log{k}.csv", make_log(motors, rng)) for k in range(files)]
    status, summary = identify(tmp_path, *paths)
    assert status == 0, summary["reason"]
    for side, motor in zip(("left", "right"), motors, strict=True):
        result = summary["motors"][f"{side} motor"]["parameters"]
        for name, true in (("R", motor.resistance), ("Ke", motor.constant)):
            assert result[name]["value"] == pytest.approx(true, rel=0.05)
            assert abs(result[name]["value"] - true) < 4.0 * result[name]["std"]
    assert (tmp_path / "out" / "motor_parameters.yaml").exists()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(tmp_path, fault):
    rng = np.random.default_rng(12)
    motors = drawn(rng)
    path = write(tmp_path / "log.csv", make_log(motors, rng, fault))
    status, summary = identify(tmp_path, path)
    assert status == 1
    assert FAULTS[fault] in summary["reason"]
