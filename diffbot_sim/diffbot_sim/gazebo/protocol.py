"""Messages between the engine and its plugin in Gazebo; plugin/diffbot_gazebo.cc is the other end.

Both are packed C structures with natural alignment, in the machine's byte order.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

LOOK, STEP, PLACE, PAYLOAD, LINE = range(5)
VALUES = 9

_REQUEST = struct.Struct(f"=II{VALUES}d")
_ANSWER = struct.Struct("=II17d")

ANSWER_SIZE = _ANSWER.size


def request(kind: int, *values: float, steps: int = 0) -> bytes:
    """Return a request.

    Its kind and values:
        LOOK: none; say the state.
        STEP: torque left, right (N m), length of an inner step (s); `steps` of them are done.
        PLACE: x, y, z (m), roll, pitch, yaw (rad) of base_link, which is then at rest.
        PAYLOAD: mass (kg), x, z (m), inertia (kg m^2), as of Simulator.set_payload.
        LINE: x, y of both ends (m), red, green, blue (0..1), height above the floor, width (m).
    """
    return _REQUEST.pack(kind, steps, *values, *(0.0,) * (VALUES - len(values)))


@dataclass(frozen=True)
class Answer:
    """The state of the robot after a request; pairs are [left, right], SI units.

    Attributes:
        notice: it was said without a request, because the pause began or ended.
        paused: the world's time stands still until somebody lets it go on.
        angles, rates: of the wheel joints, rad and rad/s.
        position: of base_link in the world, m.
        rotation: of base_link, quaternion w, x, y, z.
        linear, angular: velocity of base_link's origin (m/s) and spin (rad/s), in the world.
    """

    notice: bool
    paused: bool
    angles: tuple[float, float]
    rates: tuple[float, float]
    position: tuple[float, float, float]
    rotation: tuple[float, float, float, float]
    linear: tuple[float, float, float]
    angular: tuple[float, float, float]

    @classmethod
    def unpack(cls, data: bytes) -> Answer:
        """Read an answer; struct.error when the other end speaks another protocol."""
        notice, paused, *v = _ANSWER.unpack(data)
        return cls(
            bool(notice),
            bool(paused),
            *(tuple(v[a:b]) for a, b in ((0, 2), (2, 4), (4, 7), (7, 11), (11, 14), (14, 17))),
        )
