"""Parameters of the ident node."""

from __future__ import annotations

from diffbot_ident.estimators import ESTIMATORS
from diffbot_ident.excitations import KINDS
from diffbot_node import Parameter

PARAMETERS = (
    Parameter("duration", 60.0, "robot time to excite the robot for at most, s", above=0.0),
    Parameter(
        "until",
        "",
        "precision at which the excitation ends earlier: half widths of the 95 % intervals, such "
        "as 'K5 5% K6 5% K7 1% K8 1%'; empty: it does not",
    ),
    Parameter(
        "verification",
        10.0,
        "robot time of another motion, after the excitation, that the result has to predict, s; "
        "0: none",
        minimum=0.0,
    ),
    Parameter(
        "estimator",
        "integral",
        "integral: windowed integral regressors with friction; rls: Lages (2017); kalman: extended "
        "Kalman filter on the wheels' angles",
        choices=ESTIMATORS,
    ),
    Parameter(
        "window", 0.1, "length of the integral estimator's windows, s", above=0.0, maximum=1.0
    ),
    Parameter(
        "excitation",
        "prbs",
        "prbs: pseudo-random bits; multisine: sums of sines; optimised: what tells most about "
        "K5..K8",
        choices=KINDS,
    ),
    Parameter(
        "arena",
        "",
        "room to keep the whole robot in, length x width in m, such as 3x3; it starts in the "
        "middle, heading along the length; empty: no bound",
    ),
    Parameter("amplitude", 0.0, "largest torque, N m; 0 takes the robot's own", minimum=0.0),
    Parameter("hold", 0, "control periods that a torque lasts; 0: the robot's own", minimum=0),
    Parameter(
        "register", 0, "bits of the PRBS shift register, 7 to 15; 0: the robot's own", minimum=0
    ),
    Parameter("period", 0.01, "control period, s", minimum=0.001, maximum=0.05),
    Parameter("seed", 0, "of everything random in the excitation", minimum=0),
    Parameter(
        "velocity_source",
        "position",
        "velocities from differences of the wheels' angles, or, with estimator rls only, as the "
        "joint states report them",
        choices=("position", "velocity"),
    ),
    Parameter(
        "effort_source",
        "joint_states",
        "the torque that acted over a control period: as the joint states report it, or what was "
        "commanded at its beginning, for drivers that report none or a wrong one",
        choices=("joint_states", "commands"),
    ),
    Parameter("results", "", "folder for the parameter file, made if need be; empty: none"),
    Parameter(
        "listeners",
        0,
        "subscribers of ~/dynamic_parameters, and of ~/status, to wait for before starting",
        minimum=0,
    ),
    Parameter(
        "lock_step",
        False,
        "the robot is a simulator that waits for each answer: these subscribers are then waited "
        "for whenever they fall behind",
    ),
)
