"""Parameters of the velocity_tracking_controller node, and what they say to the tracker."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np

from diffbot_controllers.motion import Velocity
from diffbot_controllers.node_parameters import REFERENCE_PARAMETERS
from diffbot_controllers.velocity_tracking.dynamic import VelocityLimits
from diffbot_controllers.velocity_tracking.sigma_file import (
    IdentifiedSigma,
    read_sigma,
    sigma_from,
)
from diffbot_controllers.velocity_tracking.tracker import TrackerSettings
from diffbot_ident.velocity.recursive_fit import RecursiveFit, RecursiveSettings
from diffbot_node import COMMAND_PARAMETERS, Parameter

FROM_PARAMETER = "sigma"
DEFAULTS = TrackerSettings()

TRACKING_PARAMETERS = (
    *COMMAND_PARAMETERS,
    *REFERENCE_PARAMETERS,
    Parameter("stamped", True, "whether cmd_vel is a TwistStamped; else a Twist"),
    Parameter("odom_frame", "odom", "frame of odometry and references"),
    Parameter(
        "parameters",
        FROM_PARAMETER,
        "sigma of the robot: 'sigma' (the parameter of that name), or the path of a "
        "velocity_parameters.yaml, which holds the dead time too",
    ),
    Parameter(
        "sigma", (), "sigma1 in s, sigma2 in s, sigma3, sigma4 of the robot; each > 0", above=0.0
    ),
    Parameter("adaptive", False, "whether sigma is identified while driving, from that on"),
    Parameter("damping", DEFAULTS.damping, "epsilon of (11)", above=0.0, maximum=10.0),
    Parameter("b", DEFAULTS.b, "b of (11), 1/m^2", above=0.0),
    Parameter("k_v", DEFAULTS.k_v, "k_v of (12), 1/s", above=0.0),
    Parameter("k_w", DEFAULTS.k_w, "k_omega of (12), 1/s", above=0.0),
    Parameter(
        "dead_time",
        -1.0,
        "time from a command to its effect, s; negative: that of the file of `parameters`, else 0",
        maximum=1.0,
    ),
    Parameter("linear_velocity", 0.7, "largest |v| commanded, m/s", above=0.0, maximum=1e3),
    Parameter("angular_velocity", 3.14, "largest |omega| commanded, rad/s", above=0.0, maximum=1e3),
    Parameter(
        "linear_acceleration", 0.0, "largest |dv/dt| asked for, m/s^2; 0: no limit", minimum=0.0
    ),
    Parameter(
        "angular_acceleration",
        0.0,
        "largest |domega/dt| asked for, rad/s^2; 0: no limit",
        minimum=0.0,
    ),
)


def identified(values: SimpleNamespace) -> IdentifiedSigma:
    """What the parameters tell of the robot.

    Raises:
        ValueError: sigma is missing or is not that of a robot, or the file cannot be used.
    """
    if values.parameters != FROM_PARAMETER:
        return read_sigma(values.parameters)
    try:
        return IdentifiedSigma(sigma_from(values.sigma))
    except ValueError as error:
        raise ValueError(
            f"parameter 'sigma': {error}; give sigma, or the file of identified ones as parameters"
        ) from None


def tracker_settings(values: SimpleNamespace, known: IdentifiedSigma) -> TrackerSettings:
    """Settings of the tracker.

    Args:
        values: of TRACKING_PARAMETERS.
        known: of the robot. The law looks ahead by one dead time, the mean of both axes.
    """
    dead_time = values.dead_time if values.dead_time >= 0.0 else 0.5 * sum(known.dead_time)
    return TrackerSettings(
        damping=values.damping,
        b=values.b,
        k_v=values.k_v,
        k_w=values.k_w,
        limits=VelocityLimits(
            values.linear_velocity,
            values.angular_velocity,
            values.linear_acceleration or math.inf,
            values.angular_acceleration or math.inf,
        ),
        dead_time=dead_time,
        # A longer gap is zero commanded, and refused.
        longest_gap=values.input_timeout,
    )


def fastest(values: SimpleNamespace, known: IdentifiedSigma) -> Velocity:
    """Speeds that the robot reaches at the limits of its commands, m/s and rad/s.

    By (3) a command leads to a speed of command / sigma3 or sigma4. It counts as a speed itself
    where that is less: a sigma that is still to be identified may be wrong.

    Args:
        values: of TRACKING_PARAMETERS.
        known: of the robot.
    """
    (_, drag), (_, turning_drag) = known.sigma.axis(0), known.sigma.axis(1)
    return Velocity(
        values.linear_velocity / min(drag, 1.0), values.angular_velocity / min(turning_drag, 1.0)
    )


def estimator(known: IdentifiedSigma, settings: TrackerSettings) -> RecursiveFit:
    """What identifies sigma while driving, from what is known of it."""
    variances = np.array(known.variances)
    sure = bool((np.isfinite(variances) & (variances > 0.0)).all())
    return RecursiveFit(
        known.sigma,
        np.diag(variances) if sure else None,
        RecursiveSettings(dead_time=settings.dead_time, longest_gap=settings.longest_gap),
    )
