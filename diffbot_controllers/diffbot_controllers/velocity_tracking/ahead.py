"""Looking ahead by the dead time of a robot, with the commands that are already under way."""

from __future__ import annotations

from collections import deque

from arc_odometry import Arc, Pose
from diffbot_controllers.motion import REST, Reference, Velocity
from diffbot_controllers.velocity_tracking.kinematic import MovingReference
from diffbot_ident.velocity.sigma import Sigma


class Ahead:
    """Keeps the commands under way and tells where they lead to.

    Args:
        dead_time: from a command to its effect, s, >= 0.
    """

    def __init__(self, dead_time: float) -> None:
        self._dead_time = dead_time
        self.reset()

    def reset(self) -> None:
        """No command is under way: the robot was told to rest for longer than the dead time."""
        self._held: deque[tuple[float, float, Velocity]] = deque()

    def hold(self, start: float, end: float, command: Velocity) -> None:
        """A command held between two stamps, s, the newest so far."""
        self._held.append((start, end, command))
        while self._held and self._held[0][1] <= end - self._dead_time:
            self._held.popleft()

    def state(self, pose: Pose, velocity: Velocity, sigma: Sigma) -> tuple[Pose, Velocity]:
        """Pose and velocity at the time at which the next command acts, from those of now.

        The velocity follows (3) exactly; the way of a piece is the arc of its mean velocity.
        """
        if not self._held:
            return self._moved(pose, velocity, REST, self._dead_time, sigma)
        now = self._held[-1][1]
        begin = now - self._dead_time
        before = self._held[0][0] - begin
        if before > 0.0:
            pose, velocity = self._moved(pose, velocity, REST, before, sigma)
        for start, end, command in self._held:
            duration = end - max(start, begin)
            pose, velocity = self._moved(pose, velocity, command, duration, sigma)
        return pose, velocity

    @staticmethod
    def _moved(
        pose: Pose, velocity: Velocity, command: Velocity, duration: float, sigma: Sigma
    ) -> tuple[Pose, Velocity]:
        after = Velocity(*sigma.after(velocity, command, duration))
        return _arc(velocity, after, duration).end(pose), after


def reference_ahead(reference: MovingReference, duration: float) -> Reference:
    """The reference after a duration, s, if its accelerations stay; the error grows with t^3."""
    now = Velocity(reference.v, reference.omega)
    after = Velocity(now.v + duration * reference.dv, now.omega + duration * reference.domega)
    pose = _arc(now, after, duration).end(Pose(reference.x, reference.y, reference.theta))
    return Reference(*pose, *after, reference.dv, reference.domega)


def _arc(first: Velocity, last: Velocity, duration: float) -> Arc:
    """Way of a velocity that changes evenly."""
    half = 0.5 * duration
    return Arc(half * (first.v + last.v), half * (first.omega + last.omega))
