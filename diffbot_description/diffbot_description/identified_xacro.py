"""The identified body as a xacro file, for the URDF of any robot."""

from __future__ import annotations

from collections.abc import Sequence

from diffbot_description.robot import Robot

TEMPLATE = """\
<?xml version="1.0" encoding="utf-8"?>
<!-- The body of robot '{name}' as it was identified.

     Use: include this file, and in the link of the body put
       <xacro:identified_inertial/>
     where its <inertial> was, and in the joints of the wheels
       <xacro:identified_dynamics side="left"/>  and  <xacro:identified_dynamics side="right"/>
     where their <dynamics> were. Or copy the numbers below into a plain URDF.

     The mass is that of everything that does not turn with the wheels. Where other links with mass
     are fixed to the body, take their <inertial> out, or their mass off this one.
     x is measured forward from the axle. Give link_x and link_z where the body's link has its
     origin elsewhere than in the middle of the axle: its place ahead of and above it, in m.
     A motion in the plane says nothing about ixx, iyy and the height z: they are as described.
{notes}-->
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="identified_mass" value="{mass!r}"/> <!-- kg -->
  <xacro:property name="identified_com_x" value="{x!r}"/> <!-- m ahead of the axle -->
  <xacro:property name="identified_izz" value="{yaw!r}"/> <!-- kg m^2, about the centre of mass -->
  <!-- [left, right], N m s/rad and N m -->
  <xacro:property name="identified_viscous" value="${{{viscous}}}"/>
  <xacro:property name="identified_coulomb" value="${{{coulomb}}}"/>

  <xacro:macro name="identified_inertial"
               params="z:={z!r} ixx:={roll!r} iyy:={pitch!r} link_x:=0 link_z:=0">
    <inertial>
      <origin xyz="${{identified_com_x - link_x}} 0 ${{z - link_z}}"/>
      <mass value="${{identified_mass}}"/>
      <inertia ixx="${{ixx}}" iyy="${{iyy}}" izz="${{identified_izz}}" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </xacro:macro>

  <xacro:macro name="identified_dynamics" params="side">
    <dynamics damping="${{identified_viscous[side]}}" friction="${{identified_coulomb[side]}}"/>
  </xacro:macro>
</robot>
"""


def inertial_xacro(robot: Robot, notes: Sequence[str] = ()) -> str:
    """Return a xacro file with macros for the body's <inertial> and the wheel joints' <dynamics>.

    ``robot`` has the identified body; z in the file is measured from the axle. ``notes`` are lines
    for its comment.
    """
    # Two hyphens end an XML comment.
    lines = "".join(f"       {line}".rstrip().replace("--", "- -") + "\n" for line in notes)
    body = robot.body
    return TEMPLATE.format(
        name=robot.name,
        notes="\n" + lines if lines else "",
        mass=body.mass,
        x=body.center_of_mass.x,
        z=body.center_of_mass.z - robot.wheels.radius,
        yaw=body.inertia.yaw,
        roll=body.inertia.roll,
        pitch=body.inertia.pitch,
        viscous="dict(left={!r}, right={!r})".format(*robot.friction.viscous),
        coulomb="dict(left={!r}, right={!r})".format(*robot.friction.coulomb),
    )
