# SPDX-License-Identifier: Apache-2.0
"""URDF texts for the tests: a small robot of somebody else's, with parts to exchange."""

from __future__ import annotations

WHEEL = """
  <link name="{side}_link">
    <inertial>
      <origin rpy="1.5707963267948966 0 0"/><mass value="{mass}"/>
      <inertia ixx="0.003" iyy="0.003" izz="0.005" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    {shape}
  </link>
  <joint name="{side}_joint" type="{type}">
    <parent link="plate"/><child link="{side}_link"/>
    <origin xyz="{x} {y} 0"/><axis xyz="{axis}"/>
  </joint>
"""

CYLINDER = """<collision>
      <origin rpy="1.5707963267948966 0 0"/>
      <geometry><cylinder radius="0.1" length="0.04"/></geometry>
    </collision>"""

# The root link has no mass; the plate and the battery fixed to it have.
BASE = """
  <link name="root"/>
  <joint name="plate_joint" type="fixed">
    <parent link="root"/><child link="plate"/><origin xyz="0 0 0.1"/>
  </joint>
  <link name="plate">
    <inertial>
      <mass value="4"/><inertia ixx="0.1" iyy="0.1" izz="0.15" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="battery_joint" type="{battery_joint}">
    <parent link="plate"/><child link="battery"/>
    <origin xyz="{battery} 0.05" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 1"/>
  </joint>
  <link name="battery">
    <inertial>
      <mass value="2"/><inertia ixx="0.01" iyy="0.02" izz="0.025" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
"""


def wheel(side: str, **changes: str) -> str:
    """Return one wheel's link and joint; ``changes``: mass, type, x, y, axis, shape."""
    values = {
        "mass": "1",
        "type": "continuous",
        "x": "-0.05",
        "y": "0.2" if side == "left" else "-0.2",
        "axis": "0 1 0",
        "shape": CYLINDER,
    }
    return WHEEL.format(side=side, **{**values, **changes})


def robot(
    left: str | None = None,
    right: str | None = None,
    battery: str = "0.12 0",
    battery_joint: str = "fixed",
    more: str = "",
) -> str:
    """Return the whole URDF."""
    base = BASE.format(battery=battery, battery_joint=battery_joint)
    parts = [base, left or wheel("left"), right or wheel("right"), more]
    return "<robot name='foreign'>" + "".join(parts) + "</robot>"
