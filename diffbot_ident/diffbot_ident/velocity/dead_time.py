"""Dead time of an axis, in fractions of a sample, by the least residual; and a static power law.

    s_inertia dv/dt + s_drag v = sign(u) |u|^p          u = command(t - d)

d is scanned in whole samples, as the residual may have several minima; from the best one, all
parameters are sought together. The residuals of all d rest on the same samples: those for which
the command of the longest dead time before is known. The intervals of all parameters are joint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, leastsq
from scipy.signal import lfilter

from diffbot_ident.velocity.first_order import FirstOrderFit, OutputError, Stretch, fit_at

# ---
# Search for the dead time, and for one more parameter beside those of a first-order axis.

Array = NDArray[np.float64]

# Step of the derivative by the dead time, in samples.
SEARCH_STEP = 0.2
# Relative changes at which the fit of one dead time of the scan ends: the best is refined later.
TOLERANCE = 1e-4


class Search:
    """Residuals as functions of [log tau, gain, dead time in samples, one more parameter].

    Args:
        stretches: of one period.
        lead: s at each stretch's beginning that only give past commands.
        bent: stretches as the one more parameter makes them; None: there is none.
        bounds: of the one more parameter.
        step: of the derivative by it.
    """

    def __init__(
        self,
        stretches: Sequence[Stretch],
        lead: float,
        bent: Callable[[Stretch, float], Stretch] | None = None,
        bounds: tuple[float, float] = (-math.inf, math.inf),
        step: float = 0.01,
    ) -> None:
        self._stretches = stretches
        self._bent, self._bounds, self._steps = bent, bounds, (SEARCH_STEP, step)
        self._period = stretches[0].period
        self.lead = lead
        self._last: tuple[tuple[float, float | None], OutputError] | None = None

    def problem(self, late: float, more: float | None = None) -> OutputError:
        """Residuals at a dead time in samples, and at one more parameter."""
        key = (float(late), more)
        if self._last is None or self._last[0] != key:
            bent = self._stretches
            if more is not None and self._bent is not None:
                bent = [self._bent(stretch, float(more)) for stretch in self._stretches]
            self._last = key, OutputError(bent, key[0] * self._period, self.lead)
        return self._last[1]

    def scan(self, lates: Sequence[int], more: float | None = None) -> tuple[Array, Array, float]:
        """Errors at dead times of whole samples; the best theta and dead time."""
        errors = np.empty(len(lates))
        theta: Array | None = None
        best = (math.inf, np.zeros(2), 0.0)
        for i, late in enumerate(lates):
            problem = self.problem(late, more)
            if theta is None:
                theta = problem.first_guess()
            # The plain interface of the same MINPACK routine: it is called for every sample.
            found = leastsq(
                problem.residuals,
                theta,
                Dfun=problem.jacobian,
                ftol=TOLERANCE,
                xtol=TOLERANCE,
                maxfev=50,
                full_output=True,
            )
            theta = found[0]
            residuals = problem.residuals(theta)
            errors[i] = math.sqrt(float(residuals @ residuals) / len(residuals))
            if errors[i] < best[0]:
                best = (float(errors[i]), theta, float(late))
        return errors, best[1], best[2]

    def within(self, x: Array) -> Array:
        """Parameters inside their bounds."""
        x = np.array(x)
        x[2] = min(max(x[2], 0.0), self.lead / self._period)
        if len(x) > 3:
            x[3] = min(max(x[3], self._bounds[0]), self._bounds[1])
        return x

    def solve(self, x: Array) -> tuple[FirstOrderFit, Array, Array]:
        """The fit nearest to a start, its parameters, and deviations of those beyond the gain."""
        found = least_squares(
            self.residuals, x, jac=self.jacobian, method="lm", x_scale="jac", max_nfev=60
        )
        x = self.within(found.x)
        problem = self.problem(*x[2:])
        fit, others = fit_at(
            problem, x[:2], int(found.nfev), problem.dead_time, self.jacobian(x)[:, 2:]
        )
        others[0] *= self._period
        # Beyond the scan's own width, the scan says nothing.
        others[0] = others[0] if others[0] < max(self.lead, self._period) else math.inf
        return fit, x, others

    def residuals(self, x: Array) -> Array:
        """Shape (n,)."""
        x = self.within(x)
        return self.problem(*x[2:]).residuals(x[:2])

    def jacobian(self, x: Array) -> Array:
        """Shape (n, len(x)); by differences for the last two."""
        x = self.within(x)
        columns = [self.problem(*x[2:]).jacobian(x[:2])]
        for i, step in zip(range(2, len(x)), self._steps, strict=False):
            low, high = np.array(x), np.array(x)
            low[i] -= step
            high[i] += step
            low, high = self.within(low), self.within(high)
            width = high[i] - low[i]
            if width > 0.0:
                columns.append((self.residuals(high) - self.residuals(low)) / width)
            else:
                columns.append(np.zeros_like(columns[0][:, 0]))
        return np.column_stack(columns)


LONGEST = 1.0
"""Dead times up to this are tried, s."""
# Step of the derivative by the exponent.
EXPONENT_STEP = 0.01
# Exponents that are tried first, and their bounds.
EXPONENTS, LOWEST, HIGHEST = (0.6, 1.5, 2.0), 0.3, 4.0


@dataclass(frozen=True)
class DeadTimeFit:
    """An axis with its dead time.

    Attributes:
        fit: model and intervals, which allow for the dead time and the exponent being estimates.
        dead_time_std: s; infinite: not identifiable.
        exponent: p of the power law; 1: the command as it is.
        exponent_std: 0 where the exponent was not estimated.
        scanned: dead times tried, shape (m,), s.
        errors: root mean square of the residuals at each, shape (m,).
        longest: end of the scan, s.
    """

    fit: FirstOrderFit
    dead_time_std: float
    exponent: float
    exponent_std: float
    scanned: Array
    errors: Array
    longest: float

    @property
    def dead_time(self) -> float:
        """Best dead time, s."""
        return self.fit.dead_time

    @property
    def at_end(self) -> bool:
        """Whether the best dead time is the longest tried: it may be longer still."""
        return self.dead_time > self.longest - 1e-6 or int(np.argmin(self.errors)) + 1 == len(
            self.errors
        )

    def simulate(self, stretch: Stretch) -> Array:
        """Velocity from the first measured sample on, by commands alone, shape (n,)."""
        command = power_law(np.asarray(stretch.command, float), self.exponent)
        start = float(stretch.velocity[0])
        return self.fit.model.simulate(command, stretch.period, start, self.dead_time)


def power_law(command: Array, exponent: float) -> Array:
    """sign(u) |u|^p, shape (n,)."""
    return command if exponent == 1.0 else np.sign(command) * np.abs(command) ** exponent


def scan_dead_times(stretches: Sequence[Stretch], found: DeadTimeFit) -> DeadTimeFit:
    """The fit with the errors of dead times as they are at its own exponent, for pictures."""
    if found.exponent == 1.0:
        return found
    period = stretches[0].period
    search = Search(stretches, found.longest, _bent)
    errors, _, _ = search.scan(range(round(found.longest / period) + 1), found.exponent)
    return replace(found, errors=errors)


def _bent(stretch: Stretch, exponent: float) -> Stretch:
    return replace(stretch, command=power_law(np.asarray(stretch.command, float), exponent))


def fit_dead_time(
    stretches: Sequence[Stretch],
    longest: float = LONGEST,
    with_exponent: bool = False,
    every: int = 1,
) -> DeadTimeFit:
    """Fit an axis and its dead time.

    Args:
        stretches: at least one; of one period.
        longest: end of the scan, s, >= 0; less where the stretches are shorter than thrice that.
        with_exponent: whether the exponent p is fitted, too.
        every: samples between the dead times that are tried first.

    Raises:
        ValueError: nothing to fit, see fit_first_order.
    """
    if not 0.0 <= longest < math.inf:
        raise ValueError(f"longest = {longest}: must be finite and >= 0 s")
    if not stretches:
        raise ValueError("stretches is empty: must hold at least one")
    period = stretches[0].period
    most = max(len(stretch.velocity) for stretch in stretches) // 3
    samples = min(int(longest / period + 1e-9), most)
    search = Search(stretches, samples * period, _bent, (LOWEST, HIGHEST), EXPONENT_STEP)
    errors, theta, late = search.scan(range(0, samples + 1, every))
    exponent = 1.0
    if with_exponent:
        tried = {1.0: (errors, theta, late)}
        for p in EXPONENTS:
            tried[p] = search.scan((0, int(late) // 2, int(late)), p)
        exponent = min(tried, key=lambda p: float(tried[p][0].min()))
        _, theta, late = tried[exponent]
    free = 4 if with_exponent else 3
    x = np.array([*theta, late, exponent])[:free]
    fit, x, others = search.solve(x)
    return DeadTimeFit(
        fit=fit,
        dead_time_std=float(others[0]),
        exponent=float(x[3]) if with_exponent else 1.0,
        exponent_std=float(others[1]) if with_exponent else 0.0,
        scanned=period * np.arange(0, samples + 1, every),
        errors=errors,
        longest=search.lead,
    )


# ---
# Would another model than the first-order one explain what it leaves over?
#
# Each rival adds to the first-order response v_1, for small changes, a linear combination of
#
#     richer linear dynamics    past commands, u(t - i tau / 3)
#     direction                 response to |u|; response of tau times sign(v)
#     speed                     response to u |u|; response of tau times |v|
#     braking                   response of tau times sign(v (u - v / gain))
#     offset                    response to 1
#
# Coefficients are fitted on some samples and judged on others, which gives the share of the
# held-out error that the rival takes away: about 0 where the model is right, 1 where the rival is.


# Past commands of the richest linear dynamics, three of them in a time constant.
LAGS = 12
# Ridge on the coefficients, as a share of each column's power.
RIDGE = 1e-6


def rival_columns(stretch: Stretch, fit: DeadTimeFit) -> dict[str, Array]:
    """Responses that each rival adds, shape (n, columns) each."""
    period, model = stretch.period, fit.fit.model
    tau, gain = model.time_constant, model.gain
    late = round(fit.dead_time / period)
    command = power_law(np.asarray(stretch.command, float), fit.exponent)
    u = _delayed(command, late)
    v = fit.simulate(stretch)
    a = math.exp(-period / tau)

    def response(drive: Array) -> Array:
        return lfilter((0.0, 1.0 - a), (1.0, -a), drive)

    size = max(float(np.abs(u).max()), 1e-300)
    speed = max(float(np.abs(v).max()), 1e-300)
    # What a longer time constant changes: d v / dt / (1 / tau), held back by the axis itself.
    slower = v - gain * u
    step = max(1, round(tau / 3.0 / period))
    lags = [_delayed(u, i * step) for i in range(LAGS)]
    return {
        "richer linear dynamics": np.column_stack([*lags, response(u)]),
        "direction": np.column_stack((response(np.abs(u)), response(slower * np.sign(v)))),
        "speed": np.column_stack(
            (response(u * np.abs(u)) / size, response(slower * np.abs(v)) / speed)
        ),
        "braking": response(slower * np.sign(v * -slower))[:, None],
        "offset": response(np.ones_like(u))[:, None],
    }


def shares(
    stretches: Sequence[Stretch],
    fits: Sequence[DeadTimeFit],
    seen: Sequence[Sequence[NDArray[np.bool_]]],
    held: Sequence[Sequence[NDArray[np.bool_]]],
) -> dict[str, float]:
    """Share of the held-out error that each rival takes away; negative: it only adds.

    Args:
        stretches: m of them.
        fits: one for each fold.
        seen: for each fit and stretch, the samples that the fit rests on, shape (n,).
        held: and those that are new to it.
    """
    left: dict[str, float] = {}
    error = 0.0
    for fit, masks, others in zip(fits, seen, held, strict=True):
        columns = [rival_columns(stretch, fit) for stretch in stretches]
        residuals = [np.asarray(s.velocity, float) - fit.simulate(s) for s in stretches]
        r_fit, r_held = (_chosen(residuals, chosen) for chosen in (masks, others))
        error += float(r_held @ r_held)
        for name in columns[0]:
            parts = [entry[name] for entry in columns]
            x_fit, x_held = (_chosen(parts, chosen) for chosen in (masks, others))
            scale = np.linalg.norm(x_fit, axis=0)
            scale[scale == 0.0] = 1.0
            x = x_fit / scale
            c = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ r_fit) / scale
            left[name] = left.get(name, 0.0) + float(np.sum((r_held - x_held @ c) ** 2))
    return {name: 1.0 - value / error if error > 0.0 else 0.0 for name, value in left.items()}


def _delayed(values: Array, samples: int) -> Array:
    return values[np.maximum(np.arange(len(values)) - samples, 0)]


def _chosen(parts: Sequence[Array], masks: Sequence[NDArray[np.bool_]]) -> Array:
    return np.concatenate([part[mask] for part, mask in zip(parts, masks, strict=True)])


# ---
# A first-order axis with Coulomb friction, driven by an effort such as a voltage.
#
#     ka dv/dt + kv v + ks sign(v) = V(t - d)
#
# An effort that does not brake moves the axis its own way, from the moment at which it exceeds
# friction. The equation is then that of first_order with inertia ka, drag kv and the command
# sign(V) max(|V| - ks, 0).


# Step of the derivative by friction, as a share of the largest effort; it enters linearly.
FRICTION_STEP = 0.02
# Frictions tried first, as shares of the largest effort, and the dead times, each so many samples.
STARTS, EVERY = (0.03, 0.08, 0.15), 6


@dataclass(frozen=True)
class FrictionFit:
    """An axis with friction.

    Attributes:
        fit: inertia is ka (V s^2/m for volts and m/s), drag is kv (V s/m); intervals allow for
            friction and dead time being estimates.
        friction: ks, in the effort's unit.
        friction_std: of it.
        dead_time_std: s; infinite: not identifiable.
    """

    fit: FirstOrderFit
    friction: float
    friction_std: float
    dead_time_std: float

    def simulate(self, stretch: Stretch) -> Array:
        """Velocity by the effort alone, from the first measured sample that counts, shape (n,).

        Samples before it are 0: the axis did not move yet.
        """
        fresh = np.ones(len(stretch.velocity), bool) if stretch.fresh is None else stretch.fresh
        first = int(np.argmax(fresh))
        moved = with_friction(stretch, self.friction)
        free = self.fit.model.simulate(moved.command, stretch.period, 0.0, self.fit.dead_time)
        since = np.arange(len(free) - first)
        decay = np.exp(-stretch.period / self.fit.model.time_constant * since)
        found = np.zeros(len(free))
        found[first:] = free[first:] + (float(stretch.velocity[first]) - free[first]) * decay
        return found


def with_friction(stretch: Stretch, friction: float) -> Stretch:
    """A stretch whose effort is what friction leaves of it: nothing, below friction."""
    effort = np.asarray(stretch.command, float)
    left = np.sign(effort) * np.maximum(np.abs(effort) - friction, 0.0)
    return replace(stretch, command=left)


def fit_with_friction(stretches: Sequence[Stretch], longest: float) -> FrictionFit:
    """Fit ka, kv, ks and the dead time.

    Args:
        stretches: efforts from rest on that do not brake. Samples at rest may count where the
            effort jumps over friction, not where it creeps through it: static friction is larger.
        longest: end of the dead time's scan, s.

    Raises:
        ValueError: nothing to fit, see fit_first_order.
    """
    if not stretches:
        raise ValueError("stretches is empty: must hold at least one")
    period = stretches[0].period
    samples = int(longest / period + 1e-9)
    most = max(float(np.abs(s.command).max(initial=0.0)) for s in stretches)
    search = Search(
        stretches, samples * period, with_friction, (-most, most), FRICTION_STEP * most or 1.0
    )
    # A wrong friction hides the time constant behind another one: several are tried.
    tried = []
    for share in STARTS:
        errors, theta, late = search.scan(range(0, samples + 1, EVERY), share * most)
        tried.append((float(errors.min()), np.array([*theta, late, share * most])))
    start = min(tried, key=lambda entry: entry[0])[1]
    fit, x, others = search.solve(start)
    return FrictionFit(fit, float(x[3]), float(others[1]), float(others[0]))
