# SPDX-License-Identifier: Apache-2.0
"""Differential-drive robots with imperfections, independent of the suite's engines and models.

Written from Newton's and Euler's equations, without the packages' code. Many robots move at once,
one per column; the integration is explicit, of second order, with steps of at most 0.1 ms.

With F the force of the floor on the robot at a wheel, forward positive:

    M0 dv/dt = m_b d omega^2 + F_l + F_r + F_x
    I0 domega/dt = -m_b d v omega + b (F_r - F_l) + N_z
    J dw/dt = tau - friction(w) - r F             M0 = m_b + 2 m_w
                                                  I0 = I_b + m_b d^2 + 2 (I_wz + m_w b^2)

Wheels that roll have w r = v -+ b omega. Wheels that creep have w r - (v -+ b omega) =
creep |w r| F / (typical force). With backlash, part of J turns with motor and encoder and meets the
rest only at both ends of the gap; viscous friction acts on the motor, dry friction on the wheel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
GRAVITY = 9.81
STEP = 1e-4  # longest integration step, s
HOLD, MOST_YAW = 0.2, 15.0  # of the excitation: holds, s, and largest yaw acceleration, rad/s^2


@dataclass(frozen=True)
class Robots:
    """n robots; arrays of shape (n,), pairs [left, right] of shape (2, n), SI units.

    Attributes:
        mass, inertia: Body's mass, kg, and yaw inertia about its centre of mass, kg m^2.
        ahead: Distance of the centre of mass ahead of the axle, m.
        wheel_mass, wheel_yaw, wheel_spin: Each wheel's mass, kg, and inertias, kg m^2, with rotor.
        radius, half_track: Wheel radius and half the track, m.
        viscous, coulomb: Friction of the wheels, N m s/rad and N m.
        torque: Amplitude of the excitation at each wheel, N m.
        speed, yaw_rate: Speeds from which the excitation brakes, m/s and rad/s.
        period: Control period, s.
        counts: Encoder counts per turn.
        noise: Standard deviation of the acting torque, as a share of the commanded one.
    """

    mass: Array
    inertia: Array
    ahead: Array
    wheel_mass: Array
    wheel_yaw: Array
    wheel_spin: Array
    radius: Array
    half_track: Array
    viscous: Array
    coulomb: Array
    torque: Array
    speed: Array
    yaw_rate: Array
    period: Array
    counts: Array
    noise: Array

    @property
    def equivalent_mass(self) -> Array:
        """M_e, kg."""
        return self.mass + 2.0 * self.wheel_mass + 2.0 * self.wheel_spin / self.radius**2

    @property
    def equivalent_inertia(self) -> Array:
        """I_e, kg m^2."""
        return (
            self.inertia
            + self.mass * self.ahead**2
            + 2.0 * (self.wheel_yaw + self.wheel_mass * self.half_track**2)
            + 2.0 * self.wheel_spin * self.half_track**2 / self.radius**2
        )

    @property
    def truth(self) -> Array:
        """K5..K8 of the closed form, shape (4, n)."""
        moment = self.mass * self.ahead
        return np.array(
            [
                moment / self.equivalent_mass,
                -moment / self.equivalent_inertia,
                1.0 / (self.radius * self.equivalent_mass),
                -self.half_track / (self.radius * self.equivalent_inertia),
            ]
        )


PAIRS = ("lag", "backlash", "creep", "offset", "scale", "radius_error", "count_error")


@dataclass(frozen=True)
class Imperfections:
    """What the robots have beyond the model; arrays of shape (n,), 0 where there is nothing.

    Shares of torques are of the excitation's amplitude.

    Attributes:
        delay: Time from a command to the beginning of its effect, s.
        lag: Time constants of the motors' torques, s, (2, n).
        backlash: Gaps between motors and wheels, rad, (2, n).
        creep: Slip of the wheels at the typical force of the excitation, (2, n).
        turning_viscous, turning_coulomb: Moment against turning, N m s/rad and N m.
        stiction, stribeck: Static friction beyond the Coulomb friction, as a share of it, and wheel
            speed over which it vanishes, rad/s.
        caster: Force of a dragging caster, N, behind the axle by the half track.
        slope: Slope of the floor, rad.
        offset, scale: Torque beyond the commanded one, N m, and acting over commanded, less 1, (2,
            n).
        radius_error: True over assumed radius, less 1, (2, n).
        saturation: Share that no torque exceeds; 0: no limit.
        sag, warm_up: Shares of the torque, and of the viscous friction, lost over the run.
        late: Largest lateness of the stamps, s, uniform from 0.
        jitter: Standard deviation of the control period, s, with true stamps.
        rounding: Stamps are rounded to multiples of this, s.
        dropped: Share of the samples that are lost.
        stale, burst: Share of the samples that repeat the one before, and further ones that do.
        count_error: Counts per turn over the assumed ones, less 1, (2, n).
        slew: Largest rate of the torques, in amplitudes per second; 0: no limit.
        quantum: Step of the acting torques, as a share; 0: none.
        forward_gain: Gain of forward torques, less 1; that of the others is less than 1 by it.
        ripple, flat: Torque that varies 12 times per turn of a wheel, and of a flat spot, as
            shares.
        quadratic: Friction with the square of the speed, as a share at full speed.
        rougher: Share by which Coulomb friction grows in the middle of the run.
        bumps: Random accelerations of the robot over 50 ms, m/s^2.
        filtered: Time constant of a filter through which efforts are reported, s.
        settling: Share of the torque lost with a time constant of a fifth of the run.
        clock_drift: Share by which the clock of the stamps gains over the run.
        one_sided: Share by which forward Coulomb friction exceeds the backward one.
    """

    delay: Array
    lag: Array
    backlash: Array
    creep: Array
    turning_viscous: Array
    turning_coulomb: Array
    stiction: Array
    stribeck: Array
    caster: Array
    slope: Array
    offset: Array
    scale: Array
    radius_error: Array
    saturation: Array
    sag: Array
    warm_up: Array
    late: Array
    jitter: Array
    rounding: Array
    dropped: Array
    stale: Array
    burst: Array
    count_error: Array
    slew: Array
    quantum: Array
    forward_gain: Array
    ripple: Array
    flat: Array
    quadratic: Array
    rougher: Array
    bumps: Array
    filtered: Array
    settling: Array
    clock_drift: Array
    one_sided: Array

    def __post_init__(self) -> None:
        # Both wheels alike where one number is given.
        for name in PAIRS:
            value = np.asarray(getattr(self, name))
            object.__setattr__(self, name, np.broadcast_to(value, (2, value.shape[-1])))

    @classmethod
    def none(cls, n: int) -> Imperfections:
        """Return n robots without any imperfection."""
        return cls(**{f.name: np.zeros(n) for f in fields(cls)})


def draw(n: int, seed: int) -> Robots:
    """Draw n robots of 1 to 200 kg with wheels of 3 to 20 cm, periods of 5 to 20 ms."""
    random = np.random.default_rng([seed, n])

    def log(low: float, high: float, *shape: int) -> Array:
        return np.exp(random.uniform(np.log(low), np.log(high), (*shape, n)))

    radius = log(0.03, 0.2)
    mass = log(1.0, 200.0) * np.clip(radius / 0.08, 0.3, 1.0)
    half_track = radius * random.uniform(1.5, 4.0, n)
    wheel_mass = mass * random.uniform(0.02, 0.08, n)
    spin = wheel_mass * radius**2 * random.uniform(0.4, 0.9, n)
    size = half_track * random.uniform(0.5, 1.0, n)
    ahead = half_track * random.uniform(0.1, 0.5, n) * random.choice([-1.0, 1.0], n)
    zero = np.zeros(n)
    drawn = Robots(
        mass=mass,
        inertia=mass * size**2,
        ahead=ahead,
        wheel_mass=wheel_mass,
        wheel_yaw=0.5 * spin + wheel_mass * radius**2 / 12.0,
        wheel_spin=spin,
        radius=radius,
        half_track=half_track,
        viscous=np.zeros((2, n)),
        coulomb=np.zeros((2, n)),
        torque=zero,
        speed=random.uniform(0.4, 1.2, n),
        yaw_rate=random.uniform(2.0, 4.0, n),
        period=random.choice([0.005, 0.01, 0.02], n),
        counts=np.round(log(500.0, 16384.0)),
        noise=random.uniform(0.003, 0.02, n),
    )
    acceleration = random.uniform(1.5, 4.0, n)
    torque = 0.5 * acceleration * drawn.radius * drawn.equivalent_mass
    top = drawn.speed / drawn.radius
    return replace(
        drawn,
        torque=torque,
        coulomb=torque * random.uniform(0.03, 0.2, (2, n)),
        viscous=torque / top * random.uniform(0.01, 0.1, (2, n)),
    )


@dataclass
class TorqueLog:
    """Readings of one robot, as its driver publishes them.

    Attributes:
        stamps: Stamps, s, (m,).
        angles: Wheel angles by the encoders [left, right], rad, (m, 2).
        efforts: Torques commanded over the period before each stamp [left, right], N m, (m, 2).
    """

    stamps: Array
    angles: Array
    efforts: Array


# Where there is backlash: share of the spin inertia that turns with the motor; stiffness of the
# teeth as a frequency of that share, rad/s, and damping ratio.
MOTOR_FRACTION, TEETH, DAMPING = 0.5, 1500.0, 0.7
# Time of bumps, s; ripples per turn of a wheel; sine of half of the angle of a flat spot.
BUMP, RIPPLES, FLAT = 0.05, 12.0, 0.05
# Wheel speed below which creep no longer falls, m/s.
CREEPING = 0.02
_SIDE = np.array([[-1.0], [1.0]])
# Rows of a plant's state: v, omega, heading; speeds and angles of wheels and motors; torques.
V, OMEGA, HEADING = 0, 1, 2
WHEEL, ANGLE, MOTOR, MOTOR_ANGLE, TORQUE = (slice(k, k + 2) for k in (3, 5, 7, 9, 11))
ROWS = 13


class TorquePlant:
    """The moving robots over a run of a duration, s; `state` is in SI units, (ROWS, n)."""

    def __init__(self, robots: Robots, imperfect: Imperfections, duration: float) -> None:
        self._robots, self._imperfect, self._duration = robots, imperfect, duration
        self.state = np.zeros((ROWS, len(robots.mass)))
        self._before: Array | None = None  # rates of the step before
        self._radius = robots.radius * (1.0 + imperfect.radius_error)
        self._mass = robots.mass + 2.0 * robots.wheel_mass
        self._inertia = (
            robots.inertia
            + robots.mass * robots.ahead**2
            + 2.0 * (robots.wheel_yaw + robots.wheel_mass * robots.half_track**2)
        )
        # A robot's imperfections are the same in all steps: which there are, and what they limit.
        self._has = {f.name: bool(np.any(getattr(imperfect, f.name))) for f in fields(imperfect)}
        saturation = np.where(imperfect.saturation > 0.0, imperfect.saturation, np.inf)
        self._most = robots.torque * saturation
        self._scale = 1.0 + imperfect.scale
        self._loose = imperfect.backlash > 0.0
        self._slew = np.where(imperfect.slew > 0.0, imperfect.slew * robots.torque, np.inf)
        self._lags = (imperfect.lag > 0.0) | (imperfect.slew > 0.0)
        self._random = np.random.default_rng(len(robots.mass))
        self._bump = np.zeros((2, len(robots.mass)))
        self._lag = np.maximum(imperfect.lag, STEP)
        self._creeps = (imperfect.creep > 0.0).any(axis=0)
        self._own = np.where(self._loose, 1.0 - MOTOR_FRACTION, 1.0) * robots.wheel_spin
        self._rotor = MOTOR_FRACTION * robots.wheel_spin
        # A sign that turns round over this speed, rad/s, keeps explicit steps stable.
        strongest = robots.coulomb.max(axis=0) * (1.0 + imperfect.stiction + imperfect.rougher)
        body = 1.0 / robots.equivalent_mass + robots.half_track**2 / robots.equivalent_inertia
        self._soft = 2.0 * STEP * strongest * self._radius**2 * body + 1e-5
        # Rolling wheels move with the body: their masses, and the inverse of all masses.
        spin = (
            robots.wheel_spin * np.where(self._loose, 1.0 - MOTOR_FRACTION, 1.0) / self._radius**2
        )
        a = self._mass + spin.sum(axis=0)
        c = self._inertia + robots.half_track**2 * spin.sum(axis=0)
        mixed = robots.half_track * (spin[1] - spin[0])
        det = a * c - mixed**2
        self._inverse = c / det, -mixed / det, a / det

    def step(self, command: Array, time: float, step: Array) -> None:
        """Move the robots by a step, s, with these commands acting, N m, shape (2, n)."""
        if self._has["bumps"]:
            new = self._random.normal(0.0, 1.0, self._bump.shape) * np.sqrt(2.0 * step / BUMP)
            self._bump = self._bump * (1.0 - step / BUMP) + new
        rates = self._rates(command, time)
        # Adams and Bashforth's second order.
        mean = rates if self._before is None else 1.5 * rates - 0.5 * self._before
        self.state, self._before = self.state + step * mean, rates

    def _rates(self, command: Array, time: float) -> Array:
        extra, state = self._imperfect, self.state
        fraction = time / self._duration
        if self._has["saturation"]:
            command = np.clip(command, -self._most, self._most)
        aim = command * self._scale
        if self._has["sag"] or self._has["settling"]:
            lost = extra.sag * fraction + extra.settling * (1.0 - np.exp(-5.0 * fraction))
            aim = aim * (1.0 - lost)
        if self._has["forward_gain"] or self._has["offset"]:
            aim = aim * (1.0 + extra.forward_gain * np.sign(command)) + extra.offset
        if self._has["quantum"]:
            quantum = np.maximum(extra.quantum, 1e-9) * self._robots.torque
            aim = np.round(aim / quantum) * quantum
        if self._has["ripple"] or self._has["flat"]:
            turned = state[ANGLE]
            near = np.sin(0.5 * turned) / FLAT
            dip = near * np.exp(0.5 - 0.5 * near**2)
            wave = extra.ripple * np.cos(RIPPLES * turned) + extra.flat * dip
            aim = aim + self._robots.torque * wave
        rates = np.empty_like(state)
        torque, rates[TORQUE] = aim, 0.0
        if self._has["lag"] or self._has["slew"]:
            torque = np.where(self._lags, state[TORQUE], aim)
            rising = np.clip((aim - state[TORQUE]) / self._lag, -self._slew, self._slew)
            rates[TORQUE] = np.where(self._lags, rising, 0.0)
        viscous = self._robots.viscous * (1.0 - extra.warm_up * fraction) * state[MOTOR]
        if self._has["quadratic"]:
            top = self._robots.speed / self._robots.radius
            most = extra.quadratic * self._robots.torque
            viscous = viscous + most * state[WHEEL] * np.abs(state[WHEEL]) / top**2
        dry = self._dry_friction(state[WHEEL])
        if self._has["rougher"] or self._has["one_sided"]:
            dry = dry * (1.0 + extra.rougher * (fraction > 0.5))
            dry = dry * (1.0 + extra.one_sided * (state[WHEEL] > 0.0))
        drive = torque - viscous
        on_wheel = drive - dry
        if self._has["backlash"]:
            teeth = self._teeth()
            on_wheel = np.where(self._loose, teeth - dry, on_wheel)
        rates[V], rates[OMEGA], rates[WHEEL] = self._body(on_wheel)
        rates[HEADING], rates[ANGLE], rates[MOTOR_ANGLE] = state[OMEGA], state[WHEEL], state[MOTOR]
        rates[MOTOR] = rates[WHEEL]
        if self._has["backlash"]:
            rates[MOTOR] = np.where(self._loose, (drive - teeth) / self._rotor, rates[WHEEL])
        return rates

    def _dry_friction(self, speed: Array) -> Array:
        robots, extra = self._robots, self._imperfect
        size = robots.coulomb
        if self._has["stiction"]:
            near = np.exp(-((speed / np.maximum(extra.stribeck, 1e-6)) ** 2))
            size = size * (1.0 + extra.stiction * near)
        dry: Array = size * np.tanh(speed / self._soft)
        return dry

    def _teeth(self) -> Array:
        state = self.state
        twist = state[MOTOR_ANGLE] - state[ANGLE]
        half = 0.5 * self._imperfect.backlash
        depth = twist - np.clip(twist, -half, half)
        push = TEETH**2 * depth + 2.0 * DAMPING * TEETH * (state[MOTOR] - state[WHEEL])
        # Teeth push, and never pull.
        return np.where(depth * push > 0.0, self._rotor * push, 0.0)

    def _body(self, drive: Array) -> tuple[Array, Array, Array]:
        robots, extra = self._robots, self._imperfect
        v, omega, heading = self.state[:3]
        b, moment = robots.half_track, robots.mass * robots.ahead
        force, yaw = moment * omega**2, -moment * v * omega
        if self._has["slope"]:
            pull = GRAVITY * np.sin(extra.slope)
            force = force + (robots.mass + 2.0 * robots.wheel_mass) * pull * np.cos(heading)
            yaw = yaw - moment * pull * np.sin(heading)
        if self._has["bumps"]:
            bump = extra.bumps * self._bump
            force = force + self._mass * bump[0]
            yaw = yaw + self._inertia / b * bump[1]
        if self._has["caster"]:
            aside = -b * omega
            speed = np.sqrt(v**2 + aside**2) + 1e-3
            force = force - extra.caster * v / speed
            yaw = yaw + b * extra.caster * aside / speed
        if self._has["turning_coulomb"]:
            dry = extra.turning_coulomb * np.tanh(omega / 5e-3)
            yaw = yaw - dry - extra.turning_viscous * omega
        # Rolling: F = (drive - J dw/dt) / r with dw/dt = (dv/dt -+ b domega/dt) / r.
        push = drive / self._radius
        along, around = force + push[0] + push[1], yaw + b * (push[1] - push[0])
        first, mixed, last = self._inverse
        v_rate, omega_rate = first * along + mixed * around, mixed * along + last * around
        wheel_rate = (v_rate + _SIDE * b * omega_rate) / self._radius
        if not self._has["creep"]:
            return v_rate, omega_rate, wheel_rate
        push = self._creep_forces(drive)
        slow, turn = push.sum(axis=0) + force, b * (push[1] - push[0]) + yaw
        return (
            np.where(self._creeps, slow / self._mass, v_rate),
            np.where(self._creeps, turn / self._inertia, omega_rate),
            np.where(self._creeps, (drive - self._radius * push) / self._own, wheel_rate),
        )

    def _creep_forces(self, drive: Array) -> Array:
        robots, radius = self._robots, self._radius
        rolled = radius * self.state[WHEEL]
        moves = self.state[V] + _SIDE * robots.half_track * self.state[OMEGA]
        typical = robots.torque / robots.radius
        stiff = typical / (np.maximum(self._imperfect.creep, 1e-3) * (np.abs(rolled) + CREEPING))
        # Implicit in the motion of wheel and body, so that a stiff contact stays stable.
        body = 1.0 / self._mass + robots.half_track**2 / self._inertia
        within = 1.0 + 2.0 * STEP * stiff * (radius**2 / self._own + 2.0 * body)
        ahead = 2.0 * STEP * stiff * radius * drive / self._own
        forces: Array = (stiff * (rolled - moves) + ahead) / within
        return forces


@dataclass
class ExcitedDriver:
    """Excitation, delayed commands and readings of the robots.

    `levels`: sizes of the torques, as shares of the amplitude; `seconds`: time of their holds.
    """

    robots: Robots
    imperfect: Imperfections
    random: np.random.Generator
    levels: tuple[float, ...] = (1.0,)
    seconds: float = HOLD
    hold: Array = field(init=False)

    def __post_init__(self) -> None:
        robots = self.robots
        self.hold = np.maximum(1, np.round(self.seconds / robots.period)).astype(int)
        self.commanded = self.drawn = np.zeros((2, len(self.hold)))
        turning = 2.0 * robots.torque * robots.half_track / robots.radius
        self.gentle = np.minimum(1.0, MOST_YAW * robots.equivalent_inertia / turning)

    def command(self, index: int, plant: TorquePlant) -> None:
        """Draw new torques where a hold ends; brake robots that are too fast."""
        robots, (v, omega), n = self.robots, plant.state[:2], len(self.hold)
        bits = self.random.choice([-1.0, 1.0], (2, n)) * self.random.choice(self.levels, (2, n))
        drawn = np.where(index % self.hold == 0, bits * robots.torque, self.drawn)
        self.drawn = drawn
        both, apart = 0.5 * (drawn[0] + drawn[1]), 0.5 * (drawn[1] - drawn[0])
        both = np.where(np.abs(v) > robots.speed, -np.sign(v) * np.abs(both), both)
        apart = np.where(np.abs(omega) > robots.yaw_rate, -np.sign(omega) * np.abs(apart), apart)
        self.commanded = np.array([both - self.gentle * apart, both + self.gentle * apart])


def drive(
    robots: Robots,
    imperfect: Imperfections,
    duration: float,
    seed: int,
    levels: tuple[float, ...] = (1.0,),
    watch: Callable[[TorquePlant], None] | None = None,
    driver_type: type[ExcitedDriver] | None = None,
    hold: float = HOLD,
) -> list[TorqueLog]:
    """Excite the robots and return what their drivers publish.

    Args:
        robots, imperfect: n robots that share a control period.
        duration: Length of the run, s.
        seed: Seed of excitation, noise and stamps.
        levels, hold: Sizes of the torques, as shares of the amplitude, and time of their holds, s.
        watch: Called after each control period.
        driver_type: Commands the robots instead of the excitation.
    """
    period = float(robots.period[0])
    if not np.all(robots.period == period):
        raise ValueError("robots.period: all robots of a run must share one control period")
    n, periods = len(robots.mass), round(duration / period)
    random = np.random.default_rng([seed, n, periods])
    steps = round(np.ceil(period / STEP))
    plant = TorquePlant(robots, imperfect, duration)
    driver = (driver_type or ExcitedDriver)(robots, imperfect, random, levels, hold)
    jitter = np.clip(random.normal(0.0, 1.0, (periods + 1, n)), -3.0, 3.0) * imperfect.jitter
    length = np.maximum(period + np.diff(jitter, axis=0, prepend=0.0), 0.2 * period)
    read_at = np.concatenate((np.zeros((1, n)), np.cumsum(length[1:], axis=0)))
    late = int(np.ceil(imperfect.delay.max() / period)) + 2
    commands = np.zeros((late + 1, 2, n))  # the newest first
    angles, efforts = np.zeros((periods + 1, n, 2)), np.zeros((periods + 1, n, 2))
    acting = np.zeros((2, n))
    for index in range(periods + 1):
        angles[index], efforts[index] = plant.state[MOTOR_ANGLE].T, driver.commanded.T
        driver.command(index, plant)
        commands = np.concatenate((driver.commanded[None], commands[:-1]))
        noise = 1.0 + robots.noise * random.normal(0.0, 1.0, (2, n))
        if index == periods:
            break
        own = length[index + 1]
        step = own / steps
        for k in range(steps):
            # The command sent `delay` before the middle of this step acts now.
            age = np.ceil((imperfect.delay - (k + 0.5) * step) / period).clip(0.0, late)
            acting = np.take_along_axis(
                commands, np.broadcast_to(age.astype(int), (1, 2, n)), axis=0
            )[0]
            plant.step(acting * noise, index * period, step)
        if watch is not None:
            watch(plant)
    return [
        _published(
            read_at[:, i],
            angles[:, i],
            efforts[:, i],
            float(robots.counts[i]),
            imperfect,
            i,
            random,
        )
        for i in range(n)
    ]


def _published(
    times: Array,
    angles: Array,
    efforts: Array,
    counts: float,
    imperfect: Imperfections,
    i: int,
    random: np.random.Generator,
) -> TorqueLog:
    count = 2.0 * np.pi / counts
    angles = angles * (1.0 + imperfect.count_error[:, i])
    angles = np.floor(angles / count + random.uniform(0.0, 1.0, 2)) * count
    angles, efforts = angles - angles[0], efforts.copy()
    if imperfect.filtered[i] > 0.0:
        fraction = 1.0 - np.exp(-np.diff(times, prepend=times[0]) / imperfect.filtered[i])
        for k in range(1, len(times)):
            efforts[k] = efforts[k - 1] + fraction[k] * (efforts[k] - efforts[k - 1])
    times = times + imperfect.clock_drift[i] * times**2 / times[-1]
    stamps = times + random.uniform(0.0, 1.0, len(times)) * imperfect.late[i]
    if imperfect.rounding[i] > 0.0:
        stamps = np.round(stamps / imperfect.rounding[i]) * imperfect.rounding[i]
    for k in np.flatnonzero(random.random(len(times)) < imperfect.stale[i]).tolist():
        if k:
            repeats = slice(k, k + 1 + int(imperfect.burst[i]))
            angles[repeats], efforts[repeats] = angles[k - 1], efforts[k - 1]
    kept = random.random(len(times)) >= imperfect.dropped[i]
    kept[:2] = True
    return TorqueLog(stamps[kept], angles[kept], efforts[kept])
