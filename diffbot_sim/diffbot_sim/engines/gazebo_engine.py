# SPDX-License-Identifier: Apache-2.0
"""Gazebo 11 with ODE as an engine; see gazebo/world.py for its accuracy."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

from diffbot_description import Robot, wheel_friction
from diffbot_description.robot import Pair
from diffbot_sim.engines.caster_drag import CasterDrag
from diffbot_sim.engines.contact_engine import ContactEngine
from diffbot_sim.gazebo import server as protocol
from diffbot_sim.gazebo.installation import MISSING, find_installation, plugin
from diffbot_sim.gazebo.server import GazeboServer
from diffbot_sim.gazebo.world import PhysicsSettings, write_world
from diffbot_sim.simulator import (
    LARGEST_TILT,
    SETTLING_TIME,
    Triple,
    check_balance,
    check_payload,
    check_pose,
    roll_pitch_yaw,
)


class GazeboSimulator(ContactEngine):
    """A robot in a Gazebo server of its own; see Simulator and make_simulator.

    Runs are bit-identical: the physics advances only in `step`.

    Raises:
        ImportError: There is no Gazebo 11 on this machine.
        ValueError: The robot cannot stand on its wheels and casters.
        OSError: Gazebo does not start; the message has the end of its log.
    """

    def __init__(
        self,
        robot: Robot,
        settings: PhysicsSettings | None = None,
        gui: bool = False,
        pictures: Path | None = None,
        seed: int = 0,
    ) -> None:
        installation = find_installation()
        if installation is None:
            raise ImportError(MISSING)
        settings = settings or PhysicsSettings()
        super().__init__("Gazebo", robot, settings.inner_step)
        self.draws = gui or pictures is not None
        self._folder = tempfile.TemporaryDirectory(prefix="diffbot_gazebo_")
        world = write_world(installation, Path(self._folder.name), robot, settings, pictures)
        self._server = GazeboServer(
            installation, plugin(installation), world, gui, pictures is not None, seed
        )
        self._stand = (0.0, 0.0, 0.0)
        try:
            if pictures is not None:
                self._server.wait_for_picture(pictures)
            self._server.exchange_all(list(self._friction_requests()))
            self._settle()
        except BaseException:
            self.close()
            raise

    @property
    def paused(self) -> bool:
        self._server.look_around()
        return self._server.paused

    @paused.setter
    def paused(self, value: bool) -> None:
        self._server.set_paused(value)

    def reset(self, pose: Triple = (0.0, 0.0, 0.0)) -> None:
        x, y, theta = check_pose(pose)
        place = protocol.request(protocol.PLACE, x, y, *self._stand, theta)
        self._state = self._server.exchange(place)
        self._zero = self._raw_angles()
        self._theta = theta
        self.time = 0.0

    def wheel_angles(self) -> Pair:
        """See Simulator.wheel_angles."""
        left, right = (a - b for a, b in zip(self._raw_angles(), self._zero, strict=True))
        return left, right

    def wheel_velocities(self) -> Pair:
        """See Simulator.wheel_velocities; relative to the body, as encoders see them."""
        return self._state.rates

    def pose(self) -> Triple:
        """See Simulator.pose; corrected to the time of the velocities, like the wheel angles."""
        (x, y, _), (vx, vy, _) = self._state.position, self._state.linear
        half_step = 0.5 * self._inner_step
        theta = self._theta - half_step * self._state.angular[2]
        return x - half_step * vx, y - half_step * vy, theta

    def _velocity(self, heading: float) -> Pair:
        vx, vy, _ = self._state.linear
        v = vx * math.cos(heading) + vy * math.sin(heading)
        return v, self._state.angular[2]

    def _do_steps(self, count: int, torque: Pair, push: Pair, drag: Pair = (0.0, 0.0)) -> None:
        values = (*torque, self._inner_step, *drag, *push)
        self._state = self._server.exchange(
            protocol.request(protocol.STEP, *values, steps=count), count
        )

    def _is_lost(self) -> bool:
        return not all(map(math.isfinite, (*self._state.rates, *self._state.position)))

    def set_payload(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        check_payload(mass, x, z, yaw_inertia)
        check_balance(self._robot, mass, x, yaw_inertia)
        before = self.wheel_angles()
        self._payload = (mass, x, z, yaw_inertia)
        payload = protocol.request(protocol.PAYLOAD, *self._payload)
        self._state, *_ = self._server.exchange_all([payload, *self._friction_requests()])
        # A joint's angle restarts at 0 when the centre of mass of its body moves.
        now = self._raw_angles()
        self._zero = (now[0] - before[0], now[1] - before[1])

    def _friction_requests(self) -> Iterator[bytes]:
        mass, x, _, _ = self._payload
        self._drag = CasterDrag(self._robot, self.parameters(), mass, x)
        values = (*self.parameters(), self._bare.wheel_radius, self._bare.half_track)
        yield protocol.request(protocol.MODEL, *values)
        for side, law in enumerate(wheel_friction(self._robot, mass, x)):
            directions = (1.0, -1.0)
            friction = (
                law.viscous,
                *map(law.sliding, directions),
                *map(law.breakaway, directions),
                law.stribeck_velocity or 0.0,
                law.gear_loss,
            )
            yield protocol.request(protocol.FRICTION, *friction, steps=side)

    def draw_line(
        self,
        start: Pair,
        end: Pair,
        colour: Triple,
        height: float,
        width: float,
    ) -> None:
        """Draw a line on the floor, from x, y to x, y (m), of a width (m), for window and camera.

        Colour: red, green, blue, 0..1. Of two lines the higher one (height in m) covers the other.
        """
        self._server.exchange(protocol.request(protocol.LINE, *start, *end, *colour, height, width))

    def attitude(self) -> Triple:
        """Return the height of the axle's midpoint (m), and roll and pitch of the body (rad)."""
        roll, pitch, _ = roll_pitch_yaw(*self._state.rotation)
        return self._state.position[2], roll, pitch

    def close(self) -> None:
        self._server.close()
        self._folder.cleanup()

    def _raw_angles(self) -> Pair:
        # ODE's angles are half an inner step ahead of its velocities.
        half_step = 0.5 * self._inner_step
        left, right = (
            a - half_step * b for a, b in zip(self._state.angles, self._state.rates, strict=True)
        )
        return left, right

    def _yaw(self) -> float:
        return roll_pitch_yaw(*self._state.rotation)[2]

    def _settle(self) -> None:
        self._state = self._server.exchange(protocol.request(protocol.LOOK))
        self._theta, self.time = self._yaw(), 0.0
        self.step((0.0, 0.0), SETTLING_TIME)
        self._stand = self.attitude()
        _, roll, pitch = self._stand
        if not max(abs(roll), abs(pitch)) < LARGEST_TILT:
            raise ValueError(
                f"{self._robot.name} cannot stand: put on its wheels it leans "
                f"{math.degrees(roll):.1f} degrees aside and {math.degrees(pitch):.1f} forward "
                f"after {SETTLING_TIME} s; bring the centre of mass between wheels and casters, "
                "and the casters' lowest points to the height of the wheels'"
            )
        self.reset()
