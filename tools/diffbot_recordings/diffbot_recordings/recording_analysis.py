# SPDX-License-Identifier: Apache-2.0
"""From a recording to findings, for each kind of recording: torque, velocity, motor, voltage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console

from diffbot_description.robot import Uncertainty
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_recordings.options import (
    MOTOR,
    SYSID,
    TORQUE,
    Options,
    geometry_of,
    needed_geometry,
    read_unit,
    robot_of,
    torque_scale,
    weighing_of,
)
from diffbot_recordings.recording_files import LOGS, WPILOG, open_recording
from diffbot_recordings.samples import Recording, RecordingError, check_files
from diffbot_recordings.segment_reader import SegmentReader
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings, evenly_chosen
from diffbot_recordings.sysid_log import read_sysid
from diffbot_recordings.wpilog import read_wpilog

if TYPE_CHECKING:
    from arc_odometry import WheelGeometry
    from diffbot_description import Robot
    from diffbot_recordings.findings import Findings
    from diffbot_recordings.torque_analysis import TorqueResult
    from diffbot_recordings.weighed_mass import Weighing

# Standstill, where stiction dominates, m/s and rad/s.
STILL = {"command_v": 0.005, "command_w": 0.01, "v": 0.005, "w": 0.01}
# Between joint states, s; above it, torque changes are missed.
SLOW_JOINTS = 0.025


def analyse_recording(options: Options, reader: SegmentReader | None = None) -> Findings:
    """Analyse a recording of any kind; nothing is written. Raises ValueError.

    Without a reader, which reads the segments and prints notes, nothing is printed.
    """
    check_files(options.files)
    if reader is None:
        reader = SegmentReader(options.files, Console(quiet=True))
    weighing = weighing_of(options)
    logs = [path.suffix.lower() in LOGS for path in options.files]
    if weighing is not None and (options.kind == SYSID or any(logs)):
        raise RecordingError(
            "--mass and --load are for recordings of efforts; SysId logs hold voltages"
        )
    if options.kind == SYSID or all(logs):
        return _voltage(options, reader)
    if any(logs):
        raise RecordingError(
            "SysId logs (.json, .wpilog) hold voltages, the other files speeds or torques: "
            "give either"
        )
    recording = open_recording(options)
    if recording.kind == TORQUE:
        robot = robot_of(options)
        recording = replace(
            recording,
            torque_scale=torque_scale(options),
            dead_band=(0.0, 0.0) if robot is None else robot.drive.dead_band,
        )
    elif weighing is not None:
        raise RecordingError(
            f"--mass and --load are for torque robots; this recording is of kind "
            f"{recording.kind}: it needs positions and efforts of both wheels"
        )
    if weighing is not None and weighing.load is not None and recording.runs is None:
        raise RecordingError(
            "--load needs two recordings that each hold positions and efforts of both wheels"
        )
    for note in recording.notes:
        reader.say(note)
    analyse = {MOTOR: _motor, TORQUE: _torque}.get(recording.kind, _velocity)
    return analyse(recording, options, reader)


def _torque(recording: Recording, options: Options, reader: SegmentReader) -> Findings:
    # Modules that take long to load are imported after the recording is open.
    from diffbot_recordings.findings import torque_findings
    from diffbot_recordings.torque_analysis import (
        JOINT_GAP,
        TORQUE_SEGMENTS,
        learn_weighed,
    )
    from diffbot_recordings.wheel_check import WheelCheck
    from diffbot_recordings.wheel_signs import WheelSigns, opposite_centre

    geometry = needed_geometry(options, "to turn angles into motion")
    robot, weighing = robot_of(options), weighing_of(options)
    segmenter = Segmenter(TORQUE_SEGMENTS)
    wheels, signs = WheelCheck(recording.wheels), WheelSigns(geometry)
    segments: Iterable[Segment] = wheels.watched(reader.segments(recording, segmenter))
    segments = signs.watched(segments)
    learn, loaded = _learner(recording, options, reader, geometry, robot, weighing), None
    if weighing is None:
        result = learn(segments)
    else:
        result, loaded, weighing = learn_weighed(
            list(segments), geometry, weighing, learn, recording.runs, recording.samples
        )
    period = segmenter.period
    if period > JOINT_GAP:
        raise RecordingError(
            f"joint states come every {period:.3g} s: must be {JOINT_GAP:g} s or less, "
            f"and {SLOW_JOINTS:g} s or less to be exact; record them faster"
        )
    friction = None if result is None else result.estimate.friction
    wrong = wheels.wrong(result is not None and result.verified, friction)
    if wrong is None and result is not None:
        _, _, k7, k8 = result.estimate.values
        wrong = signs.contradiction(k7, k8, robot if weighing is None else None)
    if wrong is not None:
        raise RecordingError(f"{', '.join(s.name for s in recording.sources)}: {wrong}")
    if result is None:
        nothing = "no stretch of the recording can be used: nothing was identified"
        raise RecordingError(segmenter.two_clocks or nothing)
    if result.question is not None:
        names = ", ".join(source.name for source in recording.sources)
        raise RecordingError(f"{names}: {result.question}")
    slow = (
        f"joint states come every {period:.3g} s; torques that change in between are lost, and "
        "the intervals do not count that; record every control period"
    )
    name = options.files[0].stem if robot is None else robot.name
    warnings = [slow] if period > SLOW_JOINTS else []
    half_width = NORMAL_95 * math.sqrt(result.estimate.variances[0])
    if opposite := opposite_centre(result.estimate.values[0], half_width, robot):
        warnings.append(opposite)
    return torque_findings(result, robot, name, warnings, weighing, loaded)


def _learner(
    recording: Recording,
    options: Options,
    reader: SegmentReader,
    geometry: WheelGeometry,
    robot: Robot | None,
    weighing: Weighing | None,
) -> Callable[[Iterable[Segment]], TorqueResult | None]:
    """Return what analyses the segments of one recording; it returns None if none can be used."""
    from diffbot_ident.excitation.excitations import nominal_prior
    from diffbot_ident.prediction_model import Model
    from diffbot_ident.torque.learning import MotionScale
    from diffbot_recordings.recorded_gyro import recorded_gyro, yaw_gyro
    from diffbot_recordings.torque_analysis import analyse_torque

    scale = nominal = None
    if robot is not None and weighing is None:
        own = robot.excitation
        scale = MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
        nominal = Model.described(nominal_prior(robot).values, robot)
    two = weighing is not None and weighing.load is not None
    gyro = None
    if not two:
        gyro, said = recorded_gyro(options, geometry)
        if said:
            reader.say(said)

    unit = None if weighing is not None else read_unit(options, recording.torque_scale)

    def learn(segments: Iterable[Segment]) -> TorqueResult | None:
        return analyse_torque(
            segments,
            geometry,
            scale,
            nominal,
            recording.samples,
            gyro=None if gyro is None else yaw_gyro(gyro, geometry),
            uncertainty=Uncertainty() if robot is None else robot.uncertainty,
            turning=robot is not None and robot.turning is not None,
            robot=robot,
            unit=unit,
        )

    return learn


def _velocity(recording: Recording, options: Options, reader: SegmentReader) -> Findings:
    from diffbot_recordings.effective_track import beside_commands, effective_tracks
    from diffbot_recordings.findings import analyse_axes, velocity_findings

    settings = SegmentSettings(period=options.period, hold=options.hold, still=STILL)
    segmenter = Segmenter(settings)
    segments = list(reader.segments(recording, segmenter))
    if not segments:
        raise RecordingError(
            segmenter.two_clocks
            or f"no stretch of the recording can be used: one needs {settings.shortest:g} s of "
            "motion or more without a gap, with commands that are not older than --hold "
            f"({settings.hold:g} s); see the ignored parts above"
        )
    chosen = evenly_chosen(segments, options.keep)
    seen, kept = (sum(segment.duration for segment in some) for some in (segments, chosen))
    rests = f"{kept:.1f} s of motion in {len(chosen)} stretches"
    if len(chosen) < len(segments):
        rests += (
            f", evenly chosen of {seen:.1f} s so that memory stays bounded; raise --keep to "
            "use more"
        )
    with reader.fitting():
        axes = analyse_axes(chosen, recording.geometry, recording.from_wheels)
        geometry, own = geometry_of(options), "w" in recording.from_wheels
        tracks = [] if own or geometry is None else effective_tracks(chosen, geometry)
        yaw = axes.get("w")
        tracks = beside_commands(tracks, None if yaw is None else yaw.verdict)
    sources = ", ".join(source.name for source in recording.sources)
    return velocity_findings(axes, rests, options.robot or options.files[0].stem, sources, tracks)


def _voltage(options: Options, reader: SegmentReader) -> Findings:
    logs = [
        read_wpilog(path) if path.suffix.lower() == WPILOG else read_sysid(path)
        for path in options.files
    ]

    from diffbot_recordings.findings import voltage_findings

    with reader.fitting():
        return voltage_findings(logs)


def _motor(recording: Recording, options: Options, reader: SegmentReader) -> Findings:
    from diffbot_recordings.findings import motor_findings
    from diffbot_recordings.motor_analysis import analyse_motors

    period, apart = options.period, recording.apart
    settings = SegmentSettings(
        period, shortest=0.1, uniform=period is not None or not apart, nearest=apart
    )
    segments = list(reader.segments(recording, Segmenter(settings)))
    with reader.fitting():
        motor_analysis = analyse_motors([(s.period, s.channels) for s in segments])
    seconds = sum(segment.duration for segment in segments)
    rests = f"{seconds:.2f} s in {len(segments)} stretches"
    return motor_findings(motor_analysis, rests, ", ".join(s.name for s in recording.sources))
