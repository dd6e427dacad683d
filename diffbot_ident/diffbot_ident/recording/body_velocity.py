"""Body velocities of robots that say only how fast their wheels turn."""

from __future__ import annotations

from collections.abc import Iterator

from arc_odometry import WheelGeometry
from diffbot_ident.recording.stream import Block, Progress, Source

WHEELS = ("left_velocity", "right_velocity")


class BodyVelocitySource:
    """A source with v and w, worked out from the wheels where it has none of its own.

    Args:
        source: with left_velocity and right_velocity, rad/s.
        geometry: of the wheels.
    """

    def __init__(self, source: Source, geometry: WheelGeometry) -> None:
        self._source = source
        self._geometry = geometry
        self._added = tuple(name for name in ("v", "w") if name not in source.channels)
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
