# SPDX-License-Identifier: Apache-2.0
"""The calibrate_node: records a drive, follows it by `reference`, then calibrates; it only listens.

Parameter `velocity`: the drive is velocity_ident's; without joint states `odom` is calibrated.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, JointState, LaserScan
from tf2_msgs.msg import TFMessage

from diffbot_calibration.collected_readings import Collected
from diffbot_description import load_robot
from diffbot_description.files import SUMMARY, write_json
from diffbot_description.terminal_text import printable
from diffbot_msgs.msg import IdentStatus
from diffbot_node import Node, RobotParameters, declare, parameter, results_folder, seconds
from diffbot_node.launch_supervision import reported_failures
from diffbot_node.node_process import Interrupted, interruptible
from diffbot_node.presence import Complaints, Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_recordings.bag_topics import Transforms, frames_of, planar_pose
from diffbot_recordings.laser_poses import LaserPoses, scan_of
from diffbot_report.summary import config_of, parse_arguments

if TYPE_CHECKING:
    from diffbot_calibration.calibration import Calibration

IMU_TOPIC, POSE_TOPIC, REFERENCE_TOPIC, TF_TOPIC = "imu/data", "pose", "reference", "/tf"
STATUS_TOPIC = "velocity_ident/status"
LOOK_PERIOD = 0.05  # s of wall time between two checks of which nodes are present
# Time for the discovery of sensors after the first joint state, s of wall time.
DISCOVERY = 3.0
# A node counts as gone after being absent for this long, s of wall time.
PARTING = 0.5
LASER = "laser"
POSE_TYPES: dict[str, Any] = {
    "pose_with_covariance": PoseWithCovarianceStamped,
    "pose": PoseStamped,
    "odometry": Odometry,
    LASER: LaserScan,
}
MOTIONS = ("calibration", "umbmark")
# Sensor drivers publish as best effort, which a reliable subscriber would not receive.
SENSORS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass(frozen=True)
class CalibrateParameters(RobotParameters):
    """Parameters of the calibrate_node."""

    motion: str = parameter(
        "calibration",
        "motion: calibration, or umbmark (a square whose end pose is measured by hand)",
        choices=MOTIONS,
    )
    pose_type: str = parameter(
        "pose_with_covariance", "type of the messages on pose", choices=tuple(POSE_TYPES)
    )
    tf: str = parameter(
        "",
        "frames 'FIXED ROBOT' whose transform on /tf is the pose source, such as 'map base_link'; "
        "empty: the topic pose",
    )
    velocity: bool = parameter(
        False,
        "whether velocity_ident drives the robot, whose odometry on odom is calibrated if it "
        "publishes no joint states",
    )
    results: str = parameter("results", "folder for calibration.yaml, summary.json and pictures")
    sim: str = parameter("none", "simulator that moves the robot, or none; for summary.json")
    seed: int = parameter(0, "of the simulated noise, for summary.json")
    arguments: str = parameter("", "launch arguments, for summary.json")
    patience: float = parameter(
        150.0,
        "wall time to wait for the drive to begin, s; then exit with status 1; 0: no limit",
        minimum=0.0,
    )


def _load() -> None:
    import diffbot_report.figure_style  # noqa: F401


class CalibrateNode(Node):
    """ROS interface of a calibration."""

    def __init__(self) -> None:
        super().__init__("calibrate_node")
        self.exit_code: int | None = None
        self.values = values = declare(self, CalibrateParameters)
        self._robot = load_robot(values.robot)
        self._folder = results_folder(values.results)
        self._reader = self._robot.joint_reader(("position",))
        self._collected = Collected()
        self._transforms = Transforms(*frames_of(values.tf)) if values.tf else None
        self._laser = LaserPoses()
        self._complaints = Complaints()
        self._drive = Presence(values.patience, PARTING)
        self._begun: float | None = None  # wall time of the first joint state or odometry, s
        # The topic that is published for as long as the robot is driven.
        excited = values.velocity and values.motion == MOTIONS[0]
        self._drive_topic = STATUS_TOPIC if excited else REFERENCE_TOPIC
        self._end: IdentStatus | None = None  # the last status of velocity_ident
        self._loading: Thread | None = None
        self._subscribe()
        create_wall_timer(self, LOOK_PERIOD, self._look_around)

    def close(self) -> None:
        """Write the end of a run that was interrupted, or that another node's failure has ended."""
        if self.exit_code is None and self.values.motion == MOTIONS[0]:
            failures = ", ".join(reported_failures())
            outcome, why = ("failed", failures) if failures else ("stopped", "interrupted")
            self._write_end(outcome, f"{why}; nothing was calibrated")

    # Readings.

    def _subscribe(self) -> None:
        if self.values.motion != MOTIONS[0]:
            return
        self.create_subscription(JointState, "joint_states", self._on_joint_state, SENSORS)
        if self.values.velocity:
            self.create_subscription(Odometry, "odom", self._on_odometry, SENSORS)
            self.create_subscription(IdentStatus, STATUS_TOPIC, self._on_status, 1000)
        self.create_subscription(Imu, IMU_TOPIC, self._on_imu, SENSORS)
        if self._transforms is None:
            kind = POSE_TYPES[self.values.pose_type]
            heard = self._on_scan if self.values.pose_type == LASER else self._on_pose
            self.create_subscription(kind, POSE_TOPIC, heard, SENSORS)
        else:
            self.create_subscription(TFMessage, TF_TOPIC, self._on_transforms, SENSORS)

    def _on_joint_state(self, message: JointState) -> None:
        if not self._reader.concerns(message.name):
            return
        if self._begun is None:
            self._begun = time.monotonic()
        stamp = seconds(message.header.stamp)
        try:
            sample = self._reader.read(
                stamp, message.name, message.position, message.velocity, message.effort
            )
        except ValueError as error:
            if self._complaints.due(str(error)):
                self.get_logger().warning(f"joint state refused: {error}")
            return
        if (apart := self._reader.disagreement) and self._complaints.due(apart):
            self.get_logger().warning(apart)
        self._collected.add_wheels(sample.stamp, sample.position)

    def _on_odometry(self, message: Odometry) -> None:
        if self._begun is None:
            self._begun = time.monotonic()
        self._collected.add_odometry(seconds(message.header.stamp), *planar_pose(message))

    def _on_status(self, message: IdentStatus) -> None:
        if message.phase in (IdentStatus.DONE, IdentStatus.STOPPED):
            self._end = message

    def _on_imu(self, message: Imu) -> None:
        self._collected.add_rate(seconds(message.header.stamp), message.angular_velocity.z)

    def _on_pose(self, message: Any) -> None:
        self._collected.add_pose(seconds(message.header.stamp), *planar_pose(message))

    def _on_scan(self, message: LaserScan) -> None:
        if (scan := scan_of(message)) is not None and self._laser.add(scan):
            self._collected.add_laser(self._laser)

    def _on_transforms(self, message: TFMessage) -> None:
        if self._transforms is not None:
            for stamp, x, y, yaw in self._transforms.read(message):
                self._collected.add_pose(stamp, x, y, yaw)

    # The drive.

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        if (missing := self._no_sensor()) is not None:
            self.exit_code = self._fail(missing)
            return
        if self._end is not None and self._end.phase == IdentStatus.STOPPED:
            self.exit_code = self._fail(f"the drive was not completed: {self._end.message}")
            return
        driven = self._end is None and self._published(self._drive_topic)
        if driven and self._loading is None and self.values.motion == MOTIONS[0]:
            self._loading = Thread(target=_load)
            self._loading.start()
        left = self._drive.have_left(driven) or self._end is not None
        if not self._drive.met and self._drive.reminds():
            self.get_logger().info(f"waiting: {self._awaited()}")
        if not left:
            return
        if self._drive.met or self._end is not None:
            self.exit_code = self._finish()
        elif self._drive.gave_up:
            self.exit_code = self._fail(
                f"no node published {self.resolve_topic_name(self._drive_topic)} within "
                f"{self._drive.waited:.0f} s of wall time: start the node that drives the robot"
            )

    def _awaited(self) -> str:
        return (
            self._reader.mismatch
            or f"no node publishes {self.resolve_topic_name(self._drive_topic)} yet"
        )

    def _published(self, topic: str) -> bool:
        return self.count_publishers(self.resolve_topic_name(topic)) > 0

    def _no_sensor(self) -> str | None:
        """Return the problem if a robot has no sensor, after DISCOVERY; else None."""
        if self._begun is None or time.monotonic() - self._begun < DISCOVERY:
            return None
        poses = POSE_TOPIC if self._transforms is None else TF_TOPIC
        if self._published(IMU_TOPIC) or self._published(poses):
            return None
        if self._collected.gyro.rows or self._collected.poses.rows:
            return None
        imu, pose = (self.resolve_topic_name(topic) for topic in (IMU_TOPIC, poses))
        return (
            f"no node publishes {imu} (a gyro) or {pose} (a pose source); calibration needs one "
            "of them: start the driver or remap the topic; in a simulation set imu or "
            "pose_source of the simulator to true; without sensors use motion:=umbmark, a tape and "
            "diffbot calibrate"
        )

    def _finish(self) -> int | None:
        """Calibrate; return the exit status, None after a signal."""
        if self.values.motion != MOTIONS[0]:
            scales = " --scales" if self.values.velocity else ""
            self.get_logger().info(
                "square completed: measure how far ahead (X) and left (Y) of its start the robot "
                "stands, repeat it several times both ways (sense:=cw, sense:=ccw), then run: "
                f"diffbot calibrate --umbmark{scales} --robot {self.values.robot} --side M "
                "--cw X,Y ... --ccw X,Y ..."
            )
            return 0
        collected = self._collected
        missing = collected.missing()
        if missing is not None:
            if self._transforms is not None and not collected.poses.rows:
                missing += (
                    f"; {TF_TOPIC} never held the transform between '{self.values.tf}', direct "
                    "or via one frame; check with ros2 run tf2_tools view_frames"
                )
            if not collected.motion.rows and self._reader.mismatch:
                missing = self._reader.mismatch
            return self._fail(f"too few readings: {self._laser.sentence() or missing}")
        if refusal := self._laser.refusal():
            return self._fail(refusal)
        if lost := self._laser.sentence():
            self.get_logger().warning(lost)
        for source in collected.sources:
            if source.refused:
                self.get_logger().warning(
                    f"{source.refused} readings of {source.name} ignored, the first one: "
                    f"{source.reason}"
                )
        wheels, gyro, poses = (len(source.rows) for source in collected.sources)
        self.get_logger().info(
            f"drive completed: fitting {collected.subject.words} to {wheels} readings of "
            f"{collected.motion.name}, {gyro} of a gyro and {poses} of a pose source; this takes "
            "some seconds"
        )
        began = time.monotonic()
        from diffbot_calibration.calibration import calibrate
        from diffbot_calibration.command import show
        from diffbot_calibration.results import next_step, write_results
        from diffbot_report.display import make_console

        try:
            with interruptible():
                result = collected.readings(self._robot.geometry)
                calibration = calibrate(
                    result.wheels,
                    geometry=self._robot.geometry,
                    gyro=result.gyro,
                    poses=result.poses,
                    subject=collected.subject,
                    pose_errors=result.pose_errors,
                )
            written = write_results(
                calibration, self._folder, robot=self._robot, about=self._about("completed")
            )
        except Interrupted:
            return None
        except (ValueError, OSError) as error:
            return self._fail(f"calibration failed: {error}")
        self.get_logger().info(f"fitted within {time.monotonic() - began:.1f} s")
        show(make_console(), calibration)
        if written.refusal is not None:
            self.get_logger().warning(written.refusal)
        for path in written.paths:
            print(printable(path), flush=True)
        self._page(calibration)
        print(f"Next: {printable(next_step(calibration, written.paths))}", flush=True)
        return 0 if calibration.usable else 1

    def _fail(self, reason: str) -> int:
        self.get_logger().error(reason)
        self._write_end("failed", reason)
        return 1

    def _write_end(self, outcome: str, reason: str) -> None:
        try:
            write_json(self._folder / SUMMARY, {**self._about(outcome), "reason": reason})
        except OSError as error:
            self.get_logger().error(f"summary.json not written: {error}")
            return
        self._page(None)

    def _page(self, calibration: Calibration | None) -> None:
        from diffbot_calibration.calibration_page import write_calibration_page  # slow to import

        try:
            print(printable(write_calibration_page(calibration, self._folder)), flush=True)
        except (OSError, ModuleNotFoundError) as error:
            self.get_logger().warning(f"page not written: {error}")

    def _about(self, outcome: str) -> dict[str, object]:
        values = self.values
        return {
            "name": "calibrate",
            "robot": values.robot,
            "sim": values.sim,
            "seed": values.seed,
            "arguments": values.arguments,
            **config_of(parse_arguments(values.arguments)),
            "outcome": outcome,
        }
