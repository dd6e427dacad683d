# SPDX-License-Identifier: Apache-2.0
"""The gyro of a torque robot's recording, used only if it agrees with the wheels."""

from __future__ import annotations

from collections.abc import Mapping

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.interpretation.geometry_errors import effective_track
from diffbot_ident.interpretation.yaw_gyro import YawGyro
from diffbot_recordings.bag_topics import NO_TOPIC, ROLES, candidates, find_wheels
from diffbot_recordings.options import Options, robot_of
from diffbot_recordings.samples import POSITIONS, TABLES, RecordingError
from diffbot_recordings.sensor_readings import GyroReadings, WheelTurns
from diffbot_recordings.table import CsvSource
from diffbot_recordings.table_columns import GYRO, GYRO_NAMES, KNOWN, Column, parse_columns
from diffbot_recordings.table_rows import RowFilter


def yaw_gyro(gyro: GyroReadings, geometry: WheelGeometry) -> YawGyro:
    """Return a YawGyro for an estimator that holds all readings."""
    result = YawGyro(geometry)
    for stamp, rate in zip(gyro.stamps.tolist(), gyro.rate.tolist(), strict=True):
        result.add(stamp, rate)
    return result


def recorded_gyro(options: Options, geometry: WheelGeometry) -> tuple[GyroReadings | None, str]:
    """Return the gyro of a recording, and a note; without one that can be used None, and why.

    Raises:
        RecordingError: The gyro that the user chose cannot be used.
    """
    if options.topics.get("imu") == NO_TOPIC:
        return None, ""
    columns: Mapping[str, Column] = {}
    if options.files[0].suffix.lower() in TABLES:
        columns = _columns(options)
        names = [columns[GYRO].name] if GYRO in columns else []
        chosen = f"--columns {GYRO}={names[0]}" if GYRO in parse_columns(options.columns) else ""
    else:
        names, chosen = _topics(options)
    if not names:
        return None, ""
    try:
        if len(options.files) > 1:
            raise RecordingError("of several recordings the wheels alone are used")
        if len(names) > 1:
            raise RecordingError("there are several; choose with --imu TOPIC")
        return _followed(options, names[0], columns, geometry)
    except ValueError as error:
        if chosen:
            raise RecordingError(f"{chosen}: {error}; or do not use it: --imu none") from None
        return None, f"gyro {', '.join(names)} is not used: {error}"


def _topics(options: Options) -> tuple[list[str], str]:
    from diffbot_recordings.bag import Bag  # the library rosbags may be missing

    chosen = options.topics.get("imu")
    if chosen is not None:
        return [chosen], f"{ROLES['imu'].option} {chosen}"
    return [t.name for t in candidates(Bag(options.files[0]).topics, ROLES["imu"])], ""


def _columns(options: Options) -> dict[str, Column]:
    """Return the columns of time, wheels and gyro of a table; a yaw rate may be the wheels' own."""
    known = {**KNOWN, GYRO: GYRO_NAMES}
    joints = options.left_joint, options.right_joint, robot_of(options)
    chosen = parse_columns(options.columns)
    table = CsvSource(
        options.files[0], chosen, RowFilter(), known, find=lambda names: find_wheels(names, *joints)
    )
    return {name: table.columns[name] for name in known if name in table.columns}


def _followed(
    options: Options, name: str, columns: Mapping[str, Column], geometry: WheelGeometry
) -> tuple[GyroReadings, str]:
    wheels, gyro = _read(options, name, columns, geometry)
    if gyro is None:
        raise RecordingError("no reading has a stamp and is finite")
    compared = yaw_gyro(gyro, geometry)
    for stamp, left, right in zip(wheels.stamps, wheels.left, wheels.right, strict=True):
        angles = float(left), float(right)
        compared.add_wheels(JointSample(float(stamp), angles, (0.0, 0.0), (0.0, 0.0)))
    fit = compared.fit()
    if fit is None:
        raise RecordingError("the robot did not turn enough to compare it with the wheels")
    track = effective_track(fit, geometry)
    return gyro, (
        f"gyro: {name}, {1e3 * fit.delay:.0f} ms late; the yaw rate comes from it, as if the "
        f"track were {track:.4g} m (--imu none: from the wheels alone)"
    )


def _read(
    options: Options, name: str, columns: Mapping[str, Column], geometry: WheelGeometry
) -> tuple[WheelTurns, GyroReadings | None]:
    from diffbot_recordings.recorded_readings import ReadingOptions, read_readings

    own = ("time", *POSITIONS, GYRO)
    readings = read_readings(
        [options.files[0]],
        ReadingOptions(
            joint_states=options.topics["joint_states"],
            left=options.left_joint,
            right=options.right_joint,
            imu=name,
            pose=NO_TOPIC,
            columns={channel: columns[channel] for channel in own if channel in columns},
            rows=RowFilter.parse(options.where),
            robot=robot_of(options),
        ),
        geometry,
    )
    return readings.wheels, readings.gyro
