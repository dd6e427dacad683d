"""Mass, centre of mass and inertia of a rigid body, and how rigid bodies add up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def _matrix() -> np.ndarray:
    return np.zeros((3, 3))


@dataclass(frozen=True, eq=False)
class RigidBody:
    """A rigid body; all vectors in one common frame.

    mass [kg]; com (3,) [m], centre of mass; inertia (3, 3) [kg m^2] about the centre of mass.
    The default has no mass.
    """

    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=_matrix)

    def moved(self, rotation: np.ndarray, translation: np.ndarray) -> RigidBody:
        """Return the body as seen from a frame in which its own frame has this pose."""
        return RigidBody(
            self.mass,
            rotation @ self.com + translation,
            rotation @ self.inertia @ rotation.T,
        )

    def __add__(self, other: RigidBody) -> RigidBody:
        """Return both bodies welded together (theorem of Huygens and Steiner)."""
        mass = self.mass + other.mass
        if mass == 0:
            return RigidBody()
        com = (self.mass * self.com + other.mass * other.com) / mass
        return RigidBody(mass, com, self.inertia_about(com) + other.inertia_about(com))

    def inertia_about(self, point: np.ndarray) -> np.ndarray:
        """Return the inertia (3, 3) [kg m^2] about a point (3,) [m]."""
        offset = self.com - point
        return self.inertia + self.mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
