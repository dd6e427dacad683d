"""Estimators by name."""

from __future__ import annotations

from arc_odometry import WheelGeometry
from diffbot_ident.coverage import MotionScale
from diffbot_ident.estimate import Estimator
from diffbot_ident.integral_estimator import IntegralEstimator, Prior
from diffbot_ident.regression import PositionRegression, VelocityRegression
from diffbot_ident.rls_estimator import RlsEstimator

ESTIMATORS = ("integral", "rls", "kalman")


def make_estimator(
    name: str,
    geometry: WheelGeometry,
    scale: MotionScale,
    *,
    window: float = 0.1,
    forgetting: float = 1.0,
    prior: Prior | None = None,
    velocity_source: str = "position",
) -> Estimator:
    """Return an estimator that knows nothing yet, or its prior.

    Args:
        name: "integral" (windowed integral regressors with friction, the one to trust), "rls"
            (Lages 2017, for comparison) or "kalman" (extended Kalman filter on wheel angles).
        geometry: of the wheels.
        scale: of the motions to expect.
        window: length of a window, s; integral only.
        forgetting: what the past counts after each window, (0, 1]; integral only.
        prior: what is known beforehand; integral and kalman only.
        velocity_source: "position" (differences of angles) or "velocity" (as reported); the
            latter with rls only.

    Raises:
        ValueError: there is no such estimator, or it does not offer what is asked for.
    """
    if name not in ESTIMATORS:
        raise ValueError(
            f"estimator = {name!r}: no such estimator; choose one of {', '.join(ESTIMATORS)}"
        )
    if name != "rls" and velocity_source != "position":
        raise ValueError(
            f"velocity_source = {velocity_source!r}: estimator {name} works on the wheels' angles; "
            "use position, or estimator rls"
        )
    if name != "integral" and forgetting != 1.0:
        raise ValueError(
            f"forgetting = {forgetting}: estimator {name} does not forget; use 1, or estimator "
            "integral"
        )
    if name == "rls":
        regression = PositionRegression if velocity_source == "position" else VelocityRegression
        return RlsEstimator(regression(geometry))
    if name == "integral":
        return IntegralEstimator(geometry, scale, window=window, forgetting=forgetting, prior=prior)
    from diffbot_ident.kalman_estimator import KalmanEstimator

    return KalmanEstimator(geometry, scale, prior=prior)
