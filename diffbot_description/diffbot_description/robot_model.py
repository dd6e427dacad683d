"""The lumped model of a differential-drive robot: one body and two equal wheels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from diffbot_description.rigid_body import RigidBody
from diffbot_description.urdf_tree import PlacedLink, UrdfTree
from diffbot_description.wheel_geometry import TOLERANCE, WheelGeometry, read_wheel

MIRRORED = ("radius", "mass", "inertia_spin")


@dataclass(frozen=True)
class RobotModel:
    """What the plane motion of the robot depends on. Casters have no mass and no friction.

    wheel_radius r [m]; half_track b [m], half the distance of the contact points; mass_body m_b
    [kg]; inertia_body I_b [kg m^2], yaw inertia about the body's own centre of mass; com_offset d
    [m], how far the body's centre of mass is ahead of the axle; wheel_mass m_w [kg] and
    wheel_inertia_spin J, wheel_inertia_yaw I_wz [kg m^2] of one wheel. I_wz + m_w b^2 is the yaw
    inertia of one wheel about the axle's midpoint: I_wz is the wheel's own if its centre of mass
    is above its contact point. Raises ValueError for values that no robot can have.
    """

    wheel_radius: float
    half_track: float
    mass_body: float
    inertia_body: float
    com_offset: float
    wheel_mass: float
    wheel_inertia_spin: float
    wheel_inertia_yaw: float

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            positive = entry.name not in ("com_offset", "wheel_inertia_yaw")
            if not math.isfinite(value) or (positive and value <= 0):
                limit = "finite and above 0" if positive else "finite"
                raise ValueError(f"{entry.name} = {value} must be {limit}. Correct the robot.")

    @property
    def equivalent_mass(self) -> float:
        """M_e [kg]: the mass that the wheels' forces accelerate, spinning wheels included."""
        spin = 2 * self.wheel_inertia_spin / self.wheel_radius**2
        return self.mass_body + 2 * self.wheel_mass + spin

    @property
    def equivalent_inertia(self) -> float:
        """I_e [kg m^2]: yaw inertia about the axle's midpoint, spinning wheels included."""
        b = self.half_track
        body = self.inertia_body + self.mass_body * self.com_offset**2
        wheels = 2 * (self.wheel_inertia_yaw + self.wheel_mass * b**2)
        return body + wheels + 2 * self.wheel_inertia_spin * (b / self.wheel_radius) ** 2

    def with_payload(self, mass: float, x: float, yaw_inertia: float) -> RobotModel:
        """Return the robot with a load fixed to its body, on the middle line.

        mass [kg] and yaw_inertia [kg m^2] (about the load's own centre of mass) >= 0; x [m] ahead
        of the axle. Raises ValueError otherwise.
        """
        for name, value in (("mass", mass), ("yaw_inertia", yaw_inertia)):
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"payload {name} = {value} must be finite and at least 0.")
        if not math.isfinite(x):
            raise ValueError(f"payload x = {x} m must be finite.")
        total = self.mass_body + mass
        reduced = self.mass_body * mass / total
        return replace(
            self,
            mass_body=total,
            com_offset=(self.mass_body * self.com_offset + mass * x) / total,
            inertia_body=self.inertia_body + yaw_inertia + reduced * (x - self.com_offset) ** 2,
        )

    @classmethod
    def from_urdf(
        cls,
        urdf_text: str,
        left: str = "left_wheel_joint",
        right: str = "right_wheel_joint",
        *,
        wheel_radius: float | None = None,
        locked: Sequence[str] = (),
    ) -> RobotModel:
        """Return the model of any differential-drive robot given as URDF text.

        ``left`` and ``right``: the wheels' joints. ``wheel_radius`` [m]: overrides the radius of
        the wheels' collision shapes. ``locked``: movable joints (swivel casters, arms) that
        count as fixed at zero. Everything fixed to the root link is lumped into the body. The
        root link's x must point forward and its z up. Raises ValueError naming link or joint.
        """
        tree = UrdfTree(urdf_text)
        tree.check_joints(locked)
        wheels = [read_wheel(tree, name, wheel_radius, locked) for name in (left, right)]
        middle = (wheels[0].center + wheels[1].center) / 2
        half_track = float(wheels[0].center[1] - middle[1])
        wheel_yaw = [wheel.yaw_inertia_about(middle) for wheel in wheels]
        _check_mirror(wheels[0], wheels[1], wheel_yaw)
        links = tree.rigid_group(tree.root, (left, right), locked)
        _check_wheels_on_body(tree, links, (left, right))
        body = sum((link.body() for link in links), RigidBody())
        _check_symmetry(links, body, float(middle[1]), half_track)
        return cls(
            wheel_radius=wheels[0].radius,
            half_track=half_track,
            mass_body=body.mass,
            inertia_body=float(body.inertia[2, 2]),
            com_offset=float(body.com[0] - middle[0]),
            wheel_mass=wheels[0].mass,
            # Both wheels are equal up to rounding; the mean keeps left and right on a par.
            wheel_inertia_spin=(wheels[0].inertia_spin + wheels[1].inertia_spin) / 2,
            wheel_inertia_yaw=sum(wheel_yaw) / 2 - wheels[0].mass * half_track**2,
        )


def _check_wheels_on_body(tree: UrdfTree, links: list[PlacedLink], joints: Sequence[str]) -> None:
    names = {link.name for link in links}
    for joint in joints:
        parent = tree.joints[joint].parent
        if parent not in names:
            raise ValueError(
                f"joint '{joint}' hangs on the link '{parent}', which is not rigidly fixed to the "
                f"root link '{tree.root}'. Make the joints between them fixed or pass them locked."
            )


def _check_mirror(left: WheelGeometry, right: WheelGeometry, yaw: Sequence[float]) -> None:
    if left.center[1] <= right.center[1]:
        raise ValueError(
            f"'{left.joint}' lies to the right of '{right.joint}' (y = {left.center[1]:.4g} and "
            f"{right.center[1]:.4g} m). Exchange left and right."
        )
    pairs = {name: (getattr(left, name), getattr(right, name)) for name in MIRRORED}
    pairs["yaw inertia about the axle's midpoint"] = (yaw[0], yaw[1])
    for name, (first, second) in pairs.items():
        if not math.isclose(first, second, rel_tol=TOLERANCE):
            raise ValueError(
                f"the wheels of '{left.joint}' and '{right.joint}' must be mirror images, but "
                f"their {name} is {first:.6g} and {second:.6g}. Make them equal."
            )
    skew = np.abs(left.center - right.center)[[0, 2]].max()
    if skew > TOLERANCE * (left.center[1] - right.center[1]):
        raise ValueError(
            f"the axles of '{left.joint}' and '{right.joint}' are {skew:.4g} m apart in x or z. "
            "Put both on one line."
        )


def _check_symmetry(
    links: list[PlacedLink], body: RigidBody, middle: float, half_track: float
) -> None:
    """Check that the body's centre of mass lies in the plane y = ``middle`` [m]."""
    if body.mass <= 0:
        raise ValueError(f"the body (link '{links[0].name}') has no mass. Give it an <inertial>.")
    side = float(body.com[1]) - middle
    limit = 1e-3 * half_track
    if abs(side) > limit:
        worst = max(links, key=lambda link: _moment(link, middle) * side)
        raise ValueError(
            f"the body's centre of mass is {side:.4g} m to the left of the middle between the "
            f"wheels; K5 to K8 need it within {limit:.2g} m. Move masses, for example of the link "
            f"'{worst.name}', or add a counterweight."
        )


def _moment(link: PlacedLink, middle: float) -> float:
    body = link.body()
    return body.mass * (float(body.com[1]) - middle)
