# SPDX-License-Identifier: Apache-2.0
"""From files to findings, for each kind of recording: torque, velocity, motor, voltage."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console

from diffbot_description.robot import Uncertainty
from diffbot_description.terminal_text import printable
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.bag_topics import without_rosbags
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
from diffbot_recordings.samples import TABLES, Batch, Recording, RecordingError, check_files
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings, evenly_chosen
from diffbot_recordings.sysid_log import read_sysid, read_wpilog
from diffbot_recordings.table import open_tables
from diffbot_report.progress import Progress

if TYPE_CHECKING:
    from arc_odometry import WheelGeometry
    from diffbot_description import Robot
    from diffbot_recordings.findings import Findings
    from diffbot_recordings.options import Weighing
    from diffbot_recordings.torque_analysis import TorqueResult

WPILOG = ".wpilog"
LOGS, BAGS = (".json", WPILOG), (".mcap", ".db3")


def open_recording(options: Options) -> Recording:
    """Open bags or tables. Raises RecordingError."""
    files = options.files
    suffixes = {path.suffix.lower() for path in files if not path.is_dir()}
    if suffixes and suffixes <= {*TABLES} and not any(path.is_dir() for path in files):
        return open_tables(files, options)
    if suffixes <= {*BAGS}:
        return _open_bags(files, options)
    if suffixes <= {*BAGS, *TABLES}:
        raise RecordingError(
            f"{', '.join(map(str, files))}: bags and tables together: give files of one kind"
        )
    strange = next(p for p in files if p.suffix.lower() not in (*BAGS, *TABLES) and not p.is_dir())
    hint = ""
    if strange.suffix == ".bag":
        hint = "; turn a ROS 1 bag into a rosbag2 one with rosbags-convert"
    if strange.suffix == ".zstd":
        hint = "; give the folder with its metadata.yaml"
    raise RecordingError(
        f"{strange}: unknown kind of file: must be a rosbag2 folder, "
        f"{', '.join((*BAGS, *TABLES, *LOGS))}, and all files of one kind{hint}"
    )


def _open_bags(paths: Sequence[Path], options: Options) -> Recording:
    try:
        from diffbot_recordings.bag_source import open_bags
    except ModuleNotFoundError as error:
        raise without_rosbags(error) from None
    return open_bags(paths, options)


class SegmentReader:
    """Reads segments, and prints what was left out; what was read before Ctrl-C is evaluated."""

    def __init__(self, files: Sequence[Path], console: Console) -> None:
        self.interrupted = False
        self.warnings: list[str] = []
        self._files = files
        self._console = console
        # Interrupted while reading: all that was read is still processed.
        self._cut_short = False

    def segments(self, recording: Recording, segmenter: Segmenter) -> Iterator[Segment]:
        # Only the main thread receives Ctrl-C.
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._on_signal) if main else None
        try:
            with Progress("identify", None, self._console) as progress:
                batches = self._read_batches(recording, progress)
                for segment in segmenter.segments(batches, recording.channels, recording.optional):
                    yield segment
                    if self.interrupted and not self._cut_short:
                        break
        except RecordingError as error:
            # A damaged file is often the cause.
            self._report_exclusions(recording, segmenter)
            files = [path.name for path in self._files]
            if any(name in str(error) for name in files):
                raise
            raise RecordingError(f"{', '.join(files)}: {error}") from None
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
        if self.interrupted:
            self.say("interrupted: the results use only what was read before")
        self._report_exclusions(recording, segmenter)

    def _read_batches(self, recording: Recording, progress: Progress) -> Iterator[Batch]:
        progress.show("reading")
        for batch in recording.batches():
            if self.interrupted:
                self._cut_short = True
                break
            done, total = (
                sum(getattr(source, name) for source in recording.sources)
                for name in ("done", "total")
            )
            progress.update(done, total or None)
            yield batch
        progress.update(0.0, None)
        progress.show("evaluating")

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def _report_exclusions(self, recording: Recording, segmenter: Segmenter) -> None:
        self.warnings = [text for source in recording.sources for text in source.warnings]
        self.warnings += segmenter.notes
        for warning in self.warnings:
            self.say(f"warning: {warning}")
        lines = segmenter.excluded.lines()
        read = f"read {segmenter.seconds:.1f} s of recording"
        self.say(read + (", ignored:" if lines else ""))
        for line in lines:
            self.say(f"  {line}")

    def fitting(self) -> Progress:
        """Show that parameters are being fitted, until the result's `with` ends."""
        progress = Progress("identify", None, self._console)
        progress.show("fitting")
        return progress

    def say(self, text: str) -> None:
        self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)


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
        nothing = (
            f"no stretch of the recording can be used: one needs {TORQUE_SEGMENTS.shortest:g} s or "
            "more without a gap, with times that increase and wheels that turn; see the ignored "
            "parts above"
        )
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
    from diffbot_recordings.scrubbing_drive import scrubbing_turns
    from diffbot_recordings.velocity_sources import wrong_source
    from diffbot_recordings.verdict import AnalysisOutcome

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
    if (wrong := wrong_source(segments)) is not None:
        raise RecordingError(f"{', '.join(source.name for source in recording.sources)}: {wrong}")
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
        yaw = None if (analysis := axes.get("w")) is None else analysis.verdict
        tracks = beside_commands(tracks, yaw)
        refused = yaw is not None and yaw.outcome is AnalysisOutcome.REFUSED
        if refused and not own and geometry is not None:
            tracks += scrubbing_turns(chosen, geometry.separation)
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
