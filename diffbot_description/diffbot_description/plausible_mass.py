# SPDX-License-Identifier: Apache-2.0
"""Detection of masses and sizes of a URDF that no robot has, such as those in another unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from diffbot_description.findings import DescriptionFindings, joined
from diffbot_description.plausible_inertia import HEAVY_FRACTION, bounds, metres, raw_body
from diffbot_description.urdf_shapes import ShapeReader
from diffbot_description.urdf_tree import PlacedLink
from diffbot_description.urdf_wheels import Wheel

DENSEST = 15_000.0  # maximum density, kg/m^3; masses may be in grams beyond it
LIGHTEST = 5.0  # minimum density of a body that takes torques, kg/m^3; foam has 15
LARGEST_HULL = 30.0  # maximum size of the hull, as a multiple of the track
_UNITS = "(kg, not g) or the shapes (m, not mm)"


def check_wheel_density(side: Sequence[Wheel], shapes: ShapeReader) -> None:
    """Raise ValueError for a wheel that is denser than metal."""
    for wheel in side:
        mass = raw_body(wheel.links).mass
        box = bounds(shapes.all_shapes(wheel.links))
        volume = max(
            math.pi * wheel.radius**2 * wheel.width,
            0.0 if box is None else float(np.prod(box[1] - box[0])),
        )
        if mass > DENSEST * volume:
            raise ValueError(
                f"the wheel of joint '{wheel.joint.name}', {mass:.4g} kg with a radius of "
                f"{wheel.radius:.3g} m and a width of {wheel.width:.3g} m, is heavier than solid "
                f"metal ({mass / volume:.3g} kg/m^3, at most {DENSEST:g}). Correct its mass (kg, "
                "not g) or its shapes (m, not mm)."
            )


def check_hull(
    hull: Mapping[str, float],
    track: float,
    mass: float,
    links: Sequence[PlacedLink],
    shapes: ShapeReader,
) -> None:
    """Raise ValueError for a hull that is too large, or too small for the mass, kg, of the body."""
    size = hull_size(hull)
    if max(size) > LARGEST_HULL * track:
        own = {link.name: bounds(shapes.all_shapes([link])) for link in links}
        extents = {name: float(np.max(box[1] - box[0])) for name, box in own.items() if box}
        name = max(extents, key=lambda each: extents[each])
        raise ValueError(
            f"the body's shapes are {metres(size)} at a track of {track:.3g} m, those of link "
            f"'{name}' {extents[name]:.3g} m. Correct them (m, not mm); a mesh in millimetres "
            'needs scale="0.001 0.001 0.001".'
        )
    volume = float(np.prod(size))
    if mass > DENSEST * volume:
        much = f" ({mass / volume:.3g} kg/m^3)" if volume > 1e-9 else ""
        raise ValueError(
            f"the body's mass = {mass:.4g} kg in a hull of {metres(size)} is heavier than solid "
            f"metal{much}. Correct the masses {_UNITS}, or give --mass KILOGRAMS."
        )


def check_not_empty(hull: Mapping[str, float], mass: float, links: Sequence[PlacedLink]) -> None:
    """Raise ValueError if the masses of the body's links can only be stand-ins."""
    volume = float(np.prod(hull_size(hull)))
    if mass < LIGHTEST * volume:
        without = joined([x.name for x in links if x.has_shape and not x.body_mass() > 0])
        hint = f" (of {without})" if without else ""
        raise ValueError(
            f"the body's mass = {mass:.4g} kg in a hull of {volume:.3g} m^3 is lighter "
            f"than foam ({mass / volume:.3g} kg/m^3, at least {LIGHTEST:g}). Give the "
            f"missing masses{hint}, or --mass KILOGRAMS, or --command velocity if it takes cmd_vel."
        )


def say_dense_links(
    links: Sequence[PlacedLink], shapes: ShapeReader, findings: DescriptionFindings
) -> None:
    """Note links that carry weight and are denser than metal: their shapes may stand for others."""
    total = sum(link.body_mass() for link in links)
    for link in links:
        mass, box = link.body_mass(), bounds(shapes.all_shapes([link]))
        if box is None or not mass > HEAVY_FRACTION * total:
            continue
        if mass > DENSEST * float(np.prod(box[1] - box[0])):
            findings.assumed.append(
                f"body.mass: link '{link.name}' ({mass:.4g} kg) is denser than solid metal in "
                f"its shapes, {metres(box[1] - box[0])}: check its mass {_UNITS}"
            )


def hull_size(hull: Mapping[str, float]) -> tuple[float, float, float]:
    """Return length, width and height of a hull, m."""
    return hull["front"] - hull["rear"], hull["width"], hull["top"] - hull["bottom"]
