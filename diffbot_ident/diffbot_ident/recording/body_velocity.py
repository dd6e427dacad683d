"""Body velocities of robots that say only how fast their wheels turn.

Wheels that take turns to say so, more slowly than the rows come, would make a velocity of a new
reading and an old one: `continuous` takes each wheel on a straight line between its own readings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.recording.stream import Block, Progress, Source
from diffbot_ident.recording.uniform_stretch import UniformStretch
from diffbot_ident.velocity.refresh import interpolated, refreshed

WHEELS = ("left_velocity", "right_velocity")
FRESH = "fresh"


class BodyVelocitySource:
    """A source with v and w, worked out from the wheels where it has none of its own.

    Args:
        source: with left_velocity and right_velocity, rad/s.
        geometry: of the wheels.
        added: what the wheels tell, of "v" and "w".
    """

    def __init__(
        self, source: Source, geometry: WheelGeometry, added: Sequence[str] = ("v", "w")
    ) -> None:
        self._source = source
        self._geometry = geometry
        self._added = tuple(added)
        self.name = source.name
        self.channels = (*source.channels, *self._added)

    @property
    def warnings(self) -> list[str]:
        """See stream.Source."""
        return self._source.warnings

    @property
    def progress(self) -> Progress:
        """See stream.Source."""
        return self._source.progress

    def blocks(self) -> Iterator[Block]:
        """See stream.Source."""
        for block in self._source.blocks():
            if not all(name in block.channels for name in WHEELS):
                yield block
                continue
            v, w = self._geometry.body_velocity(*(block.channels[name] for name in WHEELS))
            found = {"v": v, "w": w}
            channels = {**block.channels, **{name: found[name] for name in self._added}}
            yield Block(block.times, channels)


def continuous(
    stretches: Sequence[UniformStretch], geometry: WheelGeometry, axes: Sequence[str]
) -> tuple[list[UniformStretch], float]:
    """Stretches whose velocities are made of wheel speeds between readings, where these are slow.

    Args:
        stretches: with the channels of WHEELS.
        geometry: of the wheels.
        axes: what the wheels tell, of "v" and "w".

    Returns:
        the stretches, with a channel FRESH (1 where one of the wheels has a new reading), and the
        time between two readings of a wheel, s; as they are, and 0, where wheels are not slow.
    """
    found = [refreshed([stretch.channels[wheel] for stretch in stretches]) for wheel in WHEELS]
    holds = [held for _, held in found if held > 0.0]
    if not holds:
        return list(stretches), 0.0
    changed = []
    for i, stretch in enumerate(stretches):
        masks = [new[i] for new, _ in found]
        speeds = [
            interpolated(stretch.channels[wheel], new)
            for wheel, new in zip(WHEELS, masks, strict=True)
        ]
        body = dict(zip(("v", "w"), geometry.body_velocity(*speeds), strict=True))
        channels = {axis: body[axis] for axis in axes}
        channels[FRESH] = np.logical_or(*masks).astype(float)
        changed.append(replace(stretch, channels={**stretch.channels, **channels}))
    return changed, stretches[0].period * float(np.mean(holds))
