"""What the ident node reports at one instant, free of ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNESTIMATED = "unestimated"
ESTIMATED = "estimated"
INVALID = "invalid"

WAITING = "waiting"
EXCITING = "exciting"
VERIFYING = "verifying"
DONE = "done"
STOPPED = "stopped"

NOT_VERIFIED = "not_verified"
VERIFIED = "verified"
REFUTED = "refuted"

Four = tuple[float, float, float, float]
Pair = tuple[float, float]
UNKNOWN: Pair = (math.nan, math.nan)


@dataclass(frozen=True)
class ParameterSample:
    """One estimate of K5..K8 of (41) of Lages (2017); units m, 1/m, 1/(kg m), 1/(kg m^2).

    Attributes:
        time: stamp in robot time, s.
        values: [K5, K6, K7, K8].
        variances: of the values, in their units squared; infinite where not identifiable.
        state: "unestimated", "estimated" or "invalid".
        reason: why the state is not "estimated".
        samples: control periods that the estimate rests on.
        residual_std: of [dv/dt in m/s^2, domega/dt in rad/s^2].
        covariance: of the values, 16 numbers row by row; None: only the variances are known.
        states: of each of K5..K8; None: all have the state of the set.
        reasons: why a parameter's state is not "estimated".
        warnings: what is odd though the values may be used.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m]; None where the
            estimator does not model it.
        friction_variances: of it, in its units squared; infinite where not identifiable.
        verification: "not_verified", "verified" or "refuted".
        coverage: share of the needed excitation that was seen for each of K5..K8, 0 to 1; None
            where unknown.
        residual_correlation: of [linear, angular] residuals, -1 to 1; NaN where unknown.
        torque_delay: control periods from a torque's report to its action; NaN where unknown.
    """

    time: float
    values: Four
    variances: Four
    state: str = ESTIMATED
    reason: str = ""
    samples: int = 0
    residual_std: Pair = (0.0, 0.0)
    covariance: tuple[float, ...] | None = None
    states: tuple[str, str, str, str] | None = None
    reasons: tuple[str, str, str, str] = ("", "", "", "")
    warnings: tuple[str, ...] = ()
    friction: Four | None = None
    friction_variances: Four = (math.inf, math.inf, math.inf, math.inf)
    verification: str = NOT_VERIFIED
    coverage: Four | None = None
    residual_correlation: Pair = UNKNOWN
    torque_delay: float = math.nan

    def covariance_matrix(self) -> NDArray[np.float64]:
        """Covariance of the values, (4, 4), in their units."""
        if self.covariance is None:
            return np.diag(self.variances)
        return np.array(self.covariance).reshape(4, 4)


@dataclass(frozen=True)
class StatusSample:
    """What the ident node is doing.

    Attributes:
        time: stamp in robot time, s.
        phase: "waiting", "exciting", "verifying", "done" or "stopped".
        message: what is waited for, or why the run stopped.
        elapsed: robot time since excitation began, s.
        duration: robot time after which excitation ends, s; 0 means never.
        velocity: body velocity [v in m/s, omega in rad/s].
        effort: torques that acted in the last control period, [left, right], N m.
        guarded: control periods in which the speed guard replaced the excitation.
        refused: joint states that were refused.
        position: by odometry since excitation began, [x, y], m.
        arena: [length along x, width along y], m, around where excitation began; None: no arena.
        information: about K5..K8 since excitation began, [achieved, predicted], bits; NaN where
            unknown.
        count: statuses so far, this one included; 0 where it is not told.
        estimates: estimates so far.
    """

    time: float
    phase: str
    message: str = ""
    elapsed: float = 0.0
    duration: float = 0.0
    velocity: Pair = (0.0, 0.0)
    effort: Pair = (0.0, 0.0)
    guarded: int = 0
    refused: int = 0
    position: Pair = (0.0, 0.0)
    arena: Pair | None = None
    information: Pair = UNKNOWN
    count: int = 0
    estimates: int = 0


@dataclass(frozen=True)
class PredictionErrors:
    """Root mean square errors of predictions of [v in m/s, omega in rad/s].

    Attributes:
        identified: with the identified parameters.
        nominal: with the closed form of the robot's description; NaN where there is none.
        no_model: with no model, where the velocity stays.
    """

    identified: Pair
    nominal: Pair
    no_model: Pair


@dataclass(frozen=True)
class VerificationSample:
    """How well the identified parameters predict a motion that they were not identified from.

    Attributes:
        passed: whether they passed.
        reason: why they did not.
        duration: of the motion, s.
        horizon: time over which the longer predictions run, s.
        one_step: errors after one control period.
        at_horizon: errors at the end of the horizon.
    """

    passed: bool
    reason: str
    duration: float
    horizon: float
    one_step: PredictionErrors
    at_horizon: PredictionErrors
