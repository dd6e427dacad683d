# SPDX-License-Identifier: Apache-2.0
"""`diffbot simulate drive`: a torque robot follows a trajectory, without ROS, with its report.

Path, law, odometry, torque limits, motors and encoders are those of launch/drive.launch.xml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import JointSample, Pose
from arc_odometry.joints import RateLimit
from arc_odometry.number_range import Array
from diffbot_controllers.known_dynamics import FROM_ROBOT, KnownDynamics
from diffbot_controllers.laws.backstepping_standard import StandardBackstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.tuning import tuned_backstepping
from diffbot_description import Robot, Torque, load_robot
from diffbot_node.parameter_fields import parameter, pose_from_text
from diffbot_report.controller_topics import CONTROLLERS
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.run_end import ControllerState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.simulator_parameters import SensorParameters
from diffbot_study.drive_report import HOLD, STATE_RATE, report_drive, true_rows
from diffbot_study.driving import PERIOD, simulate_drive
from diffbot_study.run_arguments import PathArguments, read_arguments
from diffbot_study.run_bag import record_joints
from diffbot_study.run_report import RunReport
from diffbot_study.torque_run import COLUMNS, JOINT_STATES
from pose2d_trajectories import make_trajectory
from pose2d_trajectories.robot_limits import robot_limits
from pose2d_trajectories.shapes import from_pose

NODE, LAW = "backstep_controller", "standard"


@dataclass(frozen=True)
class DriveArguments(PathArguments, SensorParameters):
    """Arguments of a simulated drive."""

    start: str = parameter("0,0,0", "pose in which robot and path begin, x,y,theta in m, m, rad")
    parameters: str = parameter(
        FROM_ROBOT,
        "K5..K8: 'robot' (closed form of its description), or the path of a "
        "dynamic_parameters.yaml, such as simulate ident writes",
    )
    torque_limit: float = parameter(
        0.0, "largest wheel torque, N m; 0: the robot's limits.traction", minimum=0.0
    )


class SimulatedDrive:
    """A simulated drive; `recording` and `joint_states` are complete after `execute`.

    Raises ValueError if a setting is outside its range, or a file has no usable parameters.
    """

    def __init__(self, arguments: DriveArguments, robot: Robot) -> None:
        self._arguments, self._robot = arguments, robot
        if robot.takes_velocity:
            raise ValueError(
                f"robot {robot.name} takes velocities (drive.command), not torques: give "
                "sim:=velocity"
            )
        robot.check_limit("torque_limit", arguments.torque_limit, "torque", "N m")
        self._limit = arguments.torque_limit or robot.limits.traction
        self._start = pose_from_text("start", arguments.start)
        shape = make_trajectory(
            arguments.trajectory, limits=robot_limits(robot), **arguments.laps_of_path
        )
        self._trajectory = from_pose(shape, Pose(*self._start))
        self._known = KnownDynamics(robot, arguments.parameters)
        self._law = self._make_law()
        self.recording = DriveRecording(CONTROLLERS[NODE], truth_due=True)
        self._state_due = RateLimit(STATE_RATE)
        self._rows: list[tuple[float, ...]] = []
        self._statuses = 0

    @property
    def joint_states(self) -> Array:
        """The joint states, in COLUMNS, shape (n, 5)."""
        return np.array(self._rows).reshape(-1, len(COLUMNS))

    @property
    def gains(self) -> dict[str, list[float]]:
        if (record := self._law.record) is None:
            return {}
        return {"gamma": [*record.gammas], "lambda": [*record.lambdas]}

    @property
    def duration(self) -> float:
        """Robot time of the drive, s: to the first state at its end."""
        whole = self._arguments.duration or self._trajectory.duration + HOLD
        return PERIOD * math.ceil(whole / PERIOD - 1e-6)

    def _make_law(self) -> StandardBackstepping:
        known, robot = self._known, self._robot
        bounds = robot.speed_limits(0.0, 0.0)
        counts = robot.encoder.counts_or(self._arguments.encoder_counts)
        wheels = replace(
            KnownWheels.of(robot, counts, known.delay),
            friction=known.friction,
            turning=known.turning,
            limit=self._limit,
        )
        return tuned_backstepping(
            known.dynamics,
            self._limit,
            bounds.v,
            bounds.omega,
            mean_velocity=True,
            wheels=wheels,
        )

    def execute(self, progress: Callable[[DriveRecording], None] = lambda _: None) -> None:
        arguments = self._arguments
        ends = arguments.duration or math.inf
        moved = load_robot(arguments.moved_robot)
        with closing(make_simulator(arguments.sim, moved, seed=arguments.seed)) as engine:

            def note(sample: JointSample, torque: Torque) -> None:
                self._rows.append((sample.stamp, *sample.position, *sample.effort))
                # As in the launch: the time that was asked for ends without another command.
                if sample.stamp > 0.0 and round(sample.stamp - PERIOD, 9) < ends:
                    self._note(sample.stamp, torque, engine)
                    if self._state_due.due(sample.stamp):
                        self._note_state(RunPhase.DRIVING)
                        progress(self.recording)

            simulate_drive(
                engine,
                self._robot,
                self._law,
                # As in the launch, it begins with the second joint state, the first one driven by.
                lambda stamp: self._trajectory.at(max(round(stamp - PERIOD, 9), 0.0)),
                self.duration + 2.0 * PERIOD,
                start=self._start,
                encoder_counts=self._robot.encoder.counts_or(arguments.encoder_counts),
                torque_limit=self._limit,
                torque_noise=arguments.torque_noise,
                torque_delay=arguments.torque_delay,
                seed=arguments.seed,
                on_command=note,
                like_nodes=True,
            )
        self._note_state(RunPhase.DONE)

    def stop(self, problem: str) -> None:
        self._note_state(RunPhase.STOPPED, problem)

    def _note(self, stamp: float, torque: Torque, engine: Simulator) -> None:
        stamps, record = np.array([round(stamp * NANOSECONDS)]), self._law.record
        if record is not None:
            motion = (*record.backstep_set_point, *record.backstep_process_value)
            row = (*record.set_point, *record.process_value, *motion, *torque)
            self._statuses += 1
            self.recording.add_status(stamps, np.array([row]), [self._statuses])
        self.recording.add_truth(stamps, true_rows(engine))

    def _note_state(self, phase: RunPhase, message: str = "") -> None:
        arguments, known = self._arguments, self._known.dynamics
        elapsed = max(self._rows[-1][0] - PERIOD, 0.0) if self._rows else 0.0
        self.recording.add_state(
            ControllerState(
                stamp=round((elapsed + PERIOD) * NANOSECONDS),
                phase=phase,
                message=message,
                elapsed=elapsed,
                duration=arguments.duration,
                statuses=self._statuses,
                law=LAW,
                torque_limit=self._limit,
                parameters=(known.k5, known.k6, known.k7, known.k8),
                parameters_source=arguments.parameters,
            )
        )


ARGUMENTS = DriveArguments


def simulate(words: Sequence[str]) -> int:
    """Run with arguments NAME:=VALUE; return the exit status. Raises ValueError."""
    arguments = read_arguments(DriveArguments, words)
    robot = load_robot(arguments.robot)
    run = SimulatedDrive(arguments, robot)

    def save(report: RunReport) -> None:
        report.save_table(JOINT_STATES, COLUMNS, run.joint_states)
        record_joints(report, robot, run.joint_states)

    return report_drive(run, arguments, robot, NODE, save)
