# SPDX-License-Identifier: Apache-2.0
"""Robots made from URDFs: both engines move them, and their K5 to K8 come back."""

import numpy as np
import pytest

from diffbot_description import load_robot
from diffbot_study import simulate_identification

# As a small round base is described: wheels about their own z, casters of another size than the
# wheels' height asks for, sensors whose inertias are those of a large body.
ROUND_BASE = """
<robot name="round_base">
  <link name="base_footprint"/>
  <joint name="base_joint" type="fixed">
    <parent link="base_footprint"/><child link="base_link"/><origin xyz="0 0 0.0102"/>
  </joint>
  <link name="base_link">
    <collision>
      <origin xyz="0 0 0.059"/><geometry><cylinder length="0.11" radius="0.17"/></geometry>
    </collision>
    <inertial>
      <origin xyz="{com} 0 0.03"/><mass value="2.4"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.035" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  {wheels}
  <joint name="caster_front_joint" type="fixed">
    <parent link="base_link"/><child link="caster_front"/><origin xyz="0.115 0 0.007"/>
  </joint>
  <link name="caster_front"><collision>
    <geometry><sphere radius="0.0176"/></geometry>
  </collision></link>
  <joint name="caster_back_joint" type="fixed">
    <parent link="base_link"/><child link="caster_back"/><origin xyz="-0.135 0 0.009"/>
  </joint>
  <link name="caster_back"><collision>
    <geometry><sphere radius="0.0176"/></geometry>
  </collision></link>
  <joint name="gyro_joint" type="fixed">
    <parent link="base_link"/><child link="gyro_link"/><origin xyz="0.05 0 0.02"/>
  </joint>
  <link name="gyro_link"><inertial>
    <mass value="0.001"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
</robot>
"""
WHEEL = """
  <link name="wheel_{side}_link">
    <collision><geometry><cylinder length="0.02" radius="0.035"/></geometry></collision>
    <inertial>
      <mass value="0.1"/>
      <inertia ixx="0.00004" iyy="0.00004" izz="{spin}" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="wheel_{side}_joint" type="continuous">
    <parent link="base_link"/><child link="wheel_{side}_link"/>
    <origin xyz="0 {y} 0.0248" rpy="-1.57 0 0"/><axis xyz="0 0 1"/>
  </joint>
"""


def robot(tmp_path, monkeypatch, com, spin):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wheels = [
        WHEEL.format(side=side, y=y, spin=spin) for side, y in (("left", 0.115), ("right", -0.115))
    ]
    path = tmp_path / "round_base.urdf"
    path.write_text(ROUND_BASE.format(com=com, wheels="".join(wheels)))
    return load_robot(path)


@pytest.mark.parametrize(
    ("engine", "com", "spin"),
    [
        ("ideal", 0.03, 0.00007),  # plausible
        ("mujoco", 0.004, 0.001),  # rocks on its casters; a wheel's inertia that no wheel has
    ],
)
def test_a_described_robot_is_identified(engine, com, spin, tmp_path, monkeypatch):
    """12 values: errors of 4 standard deviations come once in 1000 such tests by chance."""
    result = robot(tmp_path, monkeypatch, com, spin)
    errors = [
        simulate_identification(result, engine, seed=seed, seconds=10).normalised_errors
        for seed in range(3)
    ]
    assert np.abs(errors).max() < 4.0
