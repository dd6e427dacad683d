# SPDX-License-Identifier: Apache-2.0
"""The gyro of a torque robot's recording, used only if it agrees with the wheels.

The yaw rate is then taken from it, as with `ident imu:=true`, so that K5 and K8 no longer depend on
the track (diffbot_ident/torque/dimensions.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.recording.bag_topics import ROLES, candidates
from diffbot_ident.recording.options import Options, robot_of
from diffbot_ident.recording.samples import Array, RecordingError
from diffbot_ident.torque.dimensions import effective_track
from diffbot_ident.torque.yaw_gyro import YawGyro

if TYPE_CHECKING:
    from diffbot_ident.calibration.recorded_readings import RecordedReadings

NO_TOPIC = "none"  # do not use a gyro


@dataclass(frozen=True)
class RecordedGyro:
    """Readings of a gyro that agrees with the wheels.

    Attributes:
        stamps: Stamps on the clock of the joint states, shape (n,), s.
        rates: Rates about the vertical axis, counter-clockwise, shape (n,), rad/s.
    """

    stamps: Array
    rates: Array

    def beside(self, geometry: WheelGeometry) -> YawGyro:
        """Return a YawGyro for an estimator that holds all readings."""
        found = YawGyro(geometry)
        for stamp, rate in zip(self.stamps.tolist(), self.rates.tolist(), strict=True):
            found.add(stamp, rate)
        return found


def recorded_gyro(options: Options, geometry: WheelGeometry) -> tuple[RecordedGyro | None, str]:
    """Find the gyro of a recording, and check it.

    Args:
        options: Options with files, the first of which is a rosbag2 recording of a torque robot,
            and topics.
        geometry: Wheel radii and separation.

    Returns:
        The gyro, None if there is none; and a note for the user on it, empty if there is none. A
        gyro that was not chosen by the user and cannot be used is left out, and the note states
        why.

    Raises:
        RecordingError: The gyro that the user chose cannot be used.
    """
    role, chosen = ROLES["imu"], options.topics.get("imu")
    if chosen == NO_TOPIC:
        return None, ""
    from diffbot_ident.recording.bag import Bag

    topics = Bag(options.files[0]).topics
    names = [topic.name for topic in candidates(topics, role)] if chosen is None else [chosen]
    if not names:
        return None, ""
    listed = ", ".join(names)
    try:
        if len(options.files) > 1:
            raise RecordingError("of several recordings the wheels alone are used")
        if len(names) > 1:
            raise RecordingError("there are several; choose with --imu TOPIC")
        return _followed(options, names[0], geometry)
    except ValueError as error:
        if chosen is not None:
            raise RecordingError(f"--imu {chosen}: {error}; or do not use it: --imu none") from None
        return None, f"gyro {listed} is not used: {error}"


def _followed(
    options: Options, topic: str, geometry: WheelGeometry
) -> tuple[RecordedGyro | None, str]:
    """Return the gyro of a topic, which must agree with the wheels, and a note on it.

    Raises:
        ValueError: It does not agree, or there is nothing to compare.
    """
    readings = _read(options, topic, geometry)
    if readings.gyro is None:
        raise RecordingError("no reading has a stamp and is finite")
    found = RecordedGyro(readings.gyro.stamps, readings.gyro.rate)
    compared = found.beside(geometry)
    wheels = readings.wheels
    for stamp, left, right in zip(wheels.stamps, wheels.left, wheels.right, strict=True):
        angles = float(left), float(right)
        compared.add_wheels(JointSample(float(stamp), angles, (0.0, 0.0), (0.0, 0.0)))
    fit = compared.fit()
    if fit is None:
        raise RecordingError("the robot did not turn enough to compare it with the wheels")
    track = effective_track(fit, geometry)
    return found, (
        f"gyro: {topic}, {1e3 * fit.delay:.0f} ms late; the yaw rate comes from it, as if the "
        f"track were {track:.4g} m (--imu none: from the wheels alone)"
    )


def _read(options: Options, topic: str, geometry: WheelGeometry) -> RecordedReadings:
    # Imported here, since SciPy takes long to load and most recordings hold no gyro.
    from diffbot_ident.calibration.recorded_readings import ReadingOptions, read_readings

    return read_readings(
        [Path(options.files[0])],
        ReadingOptions(
            joint_states=options.topics["joint_states"],
            left=options.left_joint,
            right=options.right_joint,
            imu=topic,
            pose=NO_TOPIC,
            robot=robot_of(options),
        ),
        geometry,
    )
