# SPDX-License-Identifier: Apache-2.0
"""The file of adapted parameters: checked before it is trusted, never half written."""

import pytest

from diffbot_controllers.parameter_reader import CHECKPOINT_PERIOD, ParameterCheckpoint
from diffbot_description import DynamicParameters

LEARNT = DynamicParameters(0.056, -2.5, 1.76, -10.7)
FRICTION = (0.01, 0.02, 0.1, 0.2)


def test_what_is_kept_is_restored(tmp_path):
    path = tmp_path / "new" / "twil.yaml"
    assert ParameterCheckpoint(str(path), "twil").restore() is None
    ParameterCheckpoint(str(path), "twil").write(LEARNT, FRICTION)
    assert ParameterCheckpoint(str(path), "twil").restore() == (LEARNT, FRICTION)
    assert [p.name for p in path.parent.iterdir()] == ["twil.yaml"]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (("robot: twil", "robot: agv"), "another robot than 'twil'"),
        (("k7: 1.76", "k7: .nan"), "k7 = nan"),
        (("k7: 1.76", "k7: -1.76"), "must be > "),
        (("k8: -10.7", "k8: many"), "must be a number"),
        (("ros__parameters", "parameters"), "no k5 to k8"),
        (("viscous_left: 0.01", "viscous_left: -1.0"), "viscous_left = -1.0: must be >= 0"),
        (("k6: -2.5", "k6: [-2.5"), "no valid YAML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_its_field(tmp_path, edit, says):
    path = tmp_path / "kept.yaml"
    ParameterCheckpoint(str(path), "twil").write(LEARNT, FRICTION)
    path.write_text(path.read_text().replace(*edit))
    with pytest.raises(ValueError, match=says):
        ParameterCheckpoint(str(path), "twil").restore()


def test_it_is_written_now_and_then_and_only_what_is_new(tmp_path):
    path = tmp_path / "kept.yaml"
    kept = ParameterCheckpoint(str(path), "twil")
    kept.keep(LEARNT, FRICTION, 0.0)
    other = DynamicParameters(0.06, -2.5, 1.8, -10.7)
    kept.keep(other, FRICTION, CHECKPOINT_PERIOD - 0.1)
    assert ParameterCheckpoint(str(path), "twil").restore() == (LEARNT, FRICTION)
    kept.keep(other, FRICTION, CHECKPOINT_PERIOD + 0.1)
    assert ParameterCheckpoint(str(path), "twil").restore() == (other, FRICTION)
    path.unlink()
    kept.write(other, FRICTION)
    assert not path.exists()  # nothing new


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="parameter 'last_good' = .*give a file in a folder"):
        ParameterCheckpoint(str(tmp_path / "file" / "kept.yaml"), "twil")
