# SPDX-License-Identifier: Apache-2.0
"""Detection of implausible inertias of URDF links, and a better guess for each.

Inertias are often copied, rounded up or in another unit. A part whose shapes reach R from its
centre of mass has at most m R^2; one of length L along an axis a mean square distance of at most
L^2 / 4 along it. A heavy part has not much less than a solid box of its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from diffbot_description.findings import DescriptionFindings
from diffbot_description.urdf_shapes import Shape, ShapeReader
from diffbot_description.urdf_tree import ROUNDING, Array, PlacedLink, RigidBody, inertial

# Smallest inertia of a real part, as a share of a solid box of its size.
LEAST_FRACTION = 0.1
# Links with a smaller share of the mass hardly matter: neither their inertias nor their densities.
HEAVY_FRACTION = 0.05
_SLACK = 1.1  # factor on sizes: shapes are often drawn a little too small
# Spin inertia of a wheel, from a heavy hub to a thin rim, as shares of m r^2.
SPIN_SHARES = (0.25, 1.0)


def box_inertia(mass: float, size: Array) -> Array:
    """Return the inertia (3, 3) [kg m^2] of a solid box of edges ``size`` (3,) [m]."""
    squares = np.asarray(size) ** 2
    inertia: Array = mass / 12.0 * np.diag(squares.sum() - squares)
    return inertia


def cylinder_inertia(mass: float, radius: float, width: float) -> tuple[float, float]:
    """Return spin and yaw inertia [kg m^2] of a solid disc of that radius and width [m]."""
    return mass * radius**2 / 2, mass * (3 * radius**2 + width**2) / 12


def bounds(shapes: Sequence[Shape]) -> tuple[Array, Array] | None:
    """Return the lowest and highest coordinates (3,) of shapes; None if there are none."""
    if not shapes:
        return None
    corners = [shape.corners for shape in shapes]
    return np.min([low for low, _ in corners], axis=0), np.max([top for _, top in corners], axis=0)


def group_body(
    links: Sequence[PlacedLink], shapes: ShapeReader, findings: DescriptionFindings
) -> RigidBody:
    """Return rigidly joined links as one body in the root link's frame, with plausible inertias."""
    bodies = [_own_body(link) for link in links]
    total = sum(body.mass for body in bodies)
    box = None if shapes.hidden(links) else bounds(shapes.all_shapes(links))
    largest = None if box is None else box[1] - box[0]
    checked = [
        _checked(link, body, shapes, total, largest, findings)
        for link, body in zip(links, bodies, strict=True)
        if body.mass > 0
    ]
    return sum(checked, RigidBody())


def raw_body(links: Sequence[PlacedLink]) -> RigidBody:
    """Return rigidly joined links as one body in the root link's frame, as given in the URDF."""
    return sum(map(_own_body, links), RigidBody())


def _own_body(link: PlacedLink) -> RigidBody:
    return inertial(link.element, solid=False).moved(link.rotation, link.translation)


def _checked(
    link: PlacedLink,
    body: RigidBody,
    shapes: ShapeReader,
    total: float,
    largest: Array | None,
    findings: DescriptionFindings,
) -> RigidBody:
    own = shapes.all_shapes([link])
    heavy = body.mass > HEAVY_FRACTION * total
    box = bounds(own)
    size = box[1] - box[0] if box is not None else (largest if heavy else None)
    guess = np.zeros((3, 3)) if size is None else box_inertia(body.mass, size)
    reach = _reach(own, body.com, largest)
    # Without shapes it fills the box of all only if it has most of the mass.
    fills = heavy and (box is not None or body.mass > total / 2)
    why = _fault(body, guess, reach, fills) or _beyond_ends(body, box)
    if why is None:
        return body
    shown = _shown(body.inertia)
    kind = "a point" if size is None else f"a solid box of {metres(size)}"
    findings.replaced(
        f"link '{link.name}' ({body.mass:.4g} kg)",
        f"inertias {shown} kg m^2 {why}",
        f"{_shown(guess)}, of {kind}",
    )
    return replace(body, inertia=guess)


def _reach(own: Sequence[Shape], com: Array, largest: Array | None) -> float | None:
    """Return the largest distance of the part from its centre of mass, m; None without shapes."""
    if own:
        return max(float(np.linalg.norm(shape.center - com)) + shape.reach for shape in own)
    return None if largest is None else float(np.linalg.norm(largest))


def _fault(body: RigidBody, guess: Array, reach: float | None, fills: bool) -> str | None:
    """Describe what is wrong with an inertia; None if it is plausible.

    `guess`: of a solid box, (3, 3), kg m^2; `reach` from the centre of mass, m; `fills`: whether
    the inertia cannot be far below that of the box.
    """
    low, middle, high = np.linalg.eigvalsh(body.inertia)
    if low < -ROUNDING * abs(high) or high > (low + middle) * (1 + ROUNDING):
        return "belong to no solid body (one is negative or above the sum of the others)"
    if reach is not None and high > body.mass * (_SLACK * reach) ** 2:
        gyration = float(np.sqrt(high / body.mass))
        return f"need mass {gyration:.2g} m from its middle, the part reaches {reach:.2g} m"
    if fills and np.any(np.diag(body.inertia) < LEAST_FRACTION * np.diag(guess)):
        return f"are below {LEAST_FRACTION:.0%} of a solid box of its size"
    return None


def _beyond_ends(body: RigidBody, box: tuple[Array, Array] | None) -> str | None:
    """Describe an inertia too large for masses inside the part's box; None if it is plausible."""
    if box is None:
        return None
    squares = np.square(box[1] - box[0]) / 4.0
    most = body.mass * (squares.sum() - squares)
    if np.all(np.diag(body.inertia) <= _SLACK**2 * most):
        return None
    return f"are above {_shown(np.diag(most))} kg m^2, of masses at the ends of the part's box"


def _shown(inertia: Array) -> str:
    return ", ".join(f"{value:.3g}" for value in np.diag(inertia))


def metres(size: Iterable[float]) -> str:
    """Return lengths, m, in words."""
    return " x ".join(f"{value:.3g}" for value in size) + " m"
