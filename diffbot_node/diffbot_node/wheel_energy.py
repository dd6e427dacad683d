"""Whether the wheels gain energy against the torque: flipped signs and swapped wheels.

A robot is passive. Between two instants its kinetic energy rises by the torque's work at most, as
friction of any kind only takes energy, plus what a slope gives:

    E(t) - E(t0) <= W + G
    E = M_e v^2 / 2 + I_e omega^2 / 2      W = sum of tau . (change of the wheels' angles)
    G = |way| M_e g sin a + |change of the heading's unit vector| m_b d g sin a

M_e and I_e are what the YAML says, times unknown a_v and a_w in [1 / SPREAD, SPREAD]; the torque
acts 0 to DELAYS steps late. With X_v = M_e (v^2 - v0^2) / 2 - G_v, X_w alike, the statistic is

    S = min over a_v, a_w of (a_v X_v + a_w X_w) - max over delays of (W + N)

where v is the least and v0 the most that encoder counts allow, and N bounds what these (half a
count on each angle) and wrong torque (TORQUE_ERROR of it) can make of W. S > 0 over any window
from SHORTEST to LONGEST: no robot does so under this torque. The torque is blamed when, with signs
flipped or sides swapped, its work would have paid for the gain; a bump fits none. A wheel that
changes its speed faster than any torque could has left the ground: windows begin anew. It is looked
at while a wheel turns against its torque. Friction can do what a wrong torque does as long as that
brakes, so nothing is said before it speeds a wheel up.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffbot_description import RobotModel, closed_form

Array = NDArray[np.float64]

# Masses in a YAML are guesses off by up to 2; a payload doubles them, a radius 30 % off too.
SPREAD = 2.5
# Torque acts up to 5 control periods late.
DELAYS = 5
# Steps of the longest window, 0.5 s at 100 Hz: a weak torque needs time to tell.
LONGEST = 50
# Shortest window, s: a robot that nods, or lifts a wheel, moves its angles for that long by itself.
SHORTEST = 0.05
# Share of the torque that may be ripple, noise or a change within a step.
TORQUE_ERROR = 0.1
SLOPE = 9.81 * math.sin(math.radians(10.0))  # m/s^2, gravity along the steepest floor
# Less than this says nothing about signs: backlash and the give of tyres, rad.
LEAST_TURN = 0.05

# Signs of the works on [left, right], by the own torque (True) or the other wheel's.
WIRINGS = {
    "both wheels turn against their torque": (True, (-1.0, -1.0)),
    "the left wheel turns against its torque": (True, (-1.0, 1.0)),
    "the right wheel turns against its torque": (True, (1.0, -1.0)),
    "the wheels turn as if swapped": (False, (1.0, 1.0)),
    "the wheels turn as if swapped, with both signs flipped": (False, (-1.0, -1.0)),
    "the wheels turn as if swapped, with the left torque's sign flipped": (False, (1.0, -1.0)),
    "the wheels turn as if swapped, with the right torque's sign flipped": (False, (-1.0, 1.0)),
}


class EnergyBalance:
    """Compares kinetic energy and work of the torque over the last steps.

    Args:
        model: of the robot, as its YAML describes it.
        limit: largest torque that will be commanded, N m.
    """

    def __init__(self, model: RobotModel, limit: float) -> None:
        r, b = model.wheel_radius, model.half_track
        k = closed_form(model)
        # The second limit is for friction and the other wheel.
        self._fastest = SPREAD * (k.k7 - b * k.k8) / r * 2.0 * limit
        # From turns [left, right] in rad to way in m and turn of the body in rad.
        self._to_body = np.array([[r, r], [-r / b, r / b]]) / 2.0
        self._inertia = np.array([model.equivalent_mass, model.equivalent_inertia])
        self._weight = SLOPE * np.array(
            [model.equivalent_mass, model.mass_body * abs(model.com_offset)]
        )
        self._resolution = np.array([r, r / b])
        self.reset()

    def reset(self) -> None:
        """Forget the steps. The torque before the next one counts as zero."""
        self._periods: list[float] = []
        self._turns: list[tuple[float, float]] = []
        self._torques: list[tuple[float, float]] = [(0.0, 0.0)] * DELAYS

    def update(
        self,
        period: float,
        turn: tuple[float, float],
        torque: tuple[float, float],
        count: float,
    ) -> str:
        """Take in a step.

        Args:
            period: its duration, s, > 0.
            turn: changes of the wheels' angles, [left, right], rad.
            torque: commanded, mean over the step, [left, right], N m.
            count: angle of an encoder's count at most, rad.

        Returns:
            Which wiring explains the motion, with numbers; "" where the commanded torque may.
        """
        if self._leaps(period, turn, count):
            del self._periods[:], self._turns[:], self._torques[:-DELAYS]
        self._periods.append(period)
        self._turns.append(turn)
        self._torques.append(torque)
        if len(self._periods) > LONGEST:
            del self._periods[0], self._turns[0], self._torques[0]
        against = turn[0] * torque[0] < 0.0 or turn[1] * torque[1] < 0.0
        if len(self._periods) < 3 or not against:
            return ""
        return self._judge(np.array(self._periods), np.array(self._turns), count)

    def _leaps(self, period: float, turn: tuple[float, float], count: float) -> bool:
        """Whether a wheel changes its speed faster than it could with ground under it."""
        if not self._periods:
            return False
        before = self._periods[-1]
        span = 0.5 * (period + before)
        most = self._fastest * span + count / period + count / before
        return any(
            abs(now / period - then / before) > most
            for now, then in zip(turn, self._turns[-1], strict=True)
        )

    def _judge(self, periods: Array, turns: Array, count: float) -> str:
        """Look at all windows that end before the last step and begin after the first or later.

        Works have shape (windows, DELAYS + 1, 2): by the wheels' own torques, and the other's.
        """
        gain = self._least_gain(periods, turns, count)
        own, other, noise = self._works(turns[1:-1], count)
        most = (own + noise).sum(axis=2).max(axis=1)
        turned = np.abs(_sums_to_end(turns[1:-1])).max(axis=1)
        span = _sums_to_end(periods[1:-1])
        telling = (turned >= LEAST_TURN) & (span >= SHORTEST)
        surplus = np.where(telling, gain - most, -np.inf)
        start = int(np.argmax(surplus))
        if not surplus[start] > 0.0:
            return ""
        explained = {
            problem: float(((own if itself else other)[start] * signs).sum(axis=1).max())
            for problem, (itself, signs) in WIRINGS.items()
        }
        problem = max(explained, key=lambda name: explained[name])
        if not explained[problem] > max(float(gain[start]), 0.0):
            return ""
        return (
            f"{problem}; in {span[start]:.3f} s the kinetic energy changed by "
            f"{gain[start]:.3g} J at least, and the torque's work was {most[start]:.3g} J at most"
        )

    def _least_gain(self, periods: Array, turns: Array, count: float) -> Array:
        """What the robot has gained in each window at least, less what a slope gave, J."""
        body = turns @ self._to_body.T
        span = (periods[:-1] + periods[1:])[:, None]
        speed = np.abs(body[:-1] + body[1:]) / span
        error = count * self._resolution / span
        least = np.maximum(speed[-1] - error[-1], 0.0)
        most = speed[:-1] + error[:-1]
        gain = 0.5 * self._inertia * (least**2 - most**2)
        gain -= self._weight * _changes(body[1:-1])
        return np.minimum(gain * SPREAD, gain / SPREAD).sum(axis=1)

    def _works(self, turns: Array, count: float) -> tuple[Array, Array, Array]:
        """Works by the wheels' own and by each other's torques, and what may be wrong with them."""
        torques, n = np.array(self._torques)[1:-1], len(turns)
        acting = np.stack([torques[DELAYS - d : DELAYS - d + n] for d in range(DELAYS + 1)], 1)
        turns = turns[:, None]
        own = acting * turns
        noise = TORQUE_ERROR * np.abs(own)
        noise[:-1] += np.abs(acting[1:] - acting[:-1]) * 0.5 * count
        noise = _sums_to_end(noise)
        noise += (np.abs(acting) + np.abs(acting[-1])) * 0.5 * count
        return _sums_to_end(own), _sums_to_end(acting[:, :, ::-1] * turns), noise


def _changes(body: Array) -> Array:
    """How far a path leads from the beginning of each step on, and how much it turns on the whole.

    Args:
        body: way in m and turn in rad of n steps, shape (n, 2).

    Returns:
        Distance in m and change of the heading's unit vector, shape (n, 2).
    """
    heading = np.concatenate([[0.0], np.cumsum(body[:, 1])])
    middle = 0.5 * (heading[:-1] + heading[1:])
    way = _sums_to_end(body[:, :1] * np.stack([np.cos(middle), np.sin(middle)], 1))
    turn = 2.0 * np.abs(np.sin(0.5 * (heading[-1] - heading[:-1])))
    return np.stack([np.hypot(*way.T), turn], 1)


def _sums_to_end(values: Array) -> Array:
    """Sums along the first axis, from each entry on to the last."""
    return np.cumsum(values[::-1], axis=0)[::-1]
