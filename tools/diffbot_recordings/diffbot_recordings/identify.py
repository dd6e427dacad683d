# SPDX-License-Identifier: Apache-2.0
"""The steps of `identify`: open, read, analyse, show and save.

The exit status is 0 if all of the result may be used, 3 if only some of it may (such as the forward
axis but not the yaw axis), 1 if none may, 2 for wrong usage and for files that cannot be read, and
130 after Ctrl-C. After Ctrl-C, what was read so far is identified and saved.
"""

from __future__ import annotations

import math
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console

from diffbot_description.files import dated_folder
from diffbot_description.robot import Uncertainty
from diffbot_description.terminal_text import complain, printable
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_recordings.bag_topics import without_rosbags
from diffbot_recordings.command_line import parse
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
from diffbot_recordings.samples import TABLES, Batch, Recording, RecordingError
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings, evenly_chosen
from diffbot_recordings.sysid_log import read_sysid
from diffbot_recordings.table import open_tables
from diffbot_recordings.verdict import show
from diffbot_recordings.wpilog import read_wpilog
from diffbot_report.progress import Progress

if TYPE_CHECKING:
    from arc_odometry import WheelGeometry
    from diffbot_description import Robot
    from diffbot_recordings.findings import Findings
    from diffbot_recordings.torque_analysis import TorqueResult
    from diffbot_recordings.weighed_mass import Weighing


USAGE, INTERRUPTED = 2, 128 + signal.SIGINT
STATUS = {"all": 0, "none": 1, "some": 3}
WPILOG = ".wpilog"
# Width of the output in columns if it does not go to a terminal.
WIDTH = 110
LOGS, BAGS = (".json", WPILOG), (".mcap", ".db3")
# Speeds up to which the body and its command count as standstill, m/s and rad/s: there, stiction
# dominates.
STILL = {"command_v": 0.005, "command_w": 0.01, "v": 0.005, "w": 0.01}
# Time between joint states above which torque changes are missed, s.
SLOW_JOINTS = 0.025


def main(
    argv: Sequence[str] | None = None,
    program: str = "identify",
    write_page: Callable[[Findings, Path], Path] | None = None,
) -> int:
    """Identify from recordings; return the exit status.

    Args:
        argv: Arguments; None: those of the process.
        program: Name of the command, for its messages.
        write_page: Writes the page of the findings into the folder of the results and returns its
            path; raises ModuleNotFoundError if a package it needs is not installed. None: no page.
    """
    options = parse(argv, program)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    try:
        return _Identify(options, console, write_page).run()
    except KeyboardInterrupt:
        console.print("interrupted: nothing was identified yet, nothing was written")
        return INTERRUPTED
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE


def analyse_recording(options: Options) -> Findings:
    """Analyse recordings without printing or writing anything; may be called from any thread.

    Raises:
        ValueError: An option is wrong, or a recording cannot be used.
        OSError: A file cannot be read.
    """
    _check_files(options)
    return _Identify(options, Console(quiet=True))._analyse()


def _check_files(options: Options) -> None:
    for path in options.files:
        if not path.exists():
            raise RecordingError(f"{path}: there is no such file or folder")


def open_recording(options: Options) -> Recording:
    """Open bags or tables.

    Raises:
        RecordingError: The files are of another kind, or cannot be read.
    """
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


class _Identify:
    """One run of the command.

    Args:
        options: The user's options.
        console: Console to print the results to.
        write_page: See `main`.
    """

    def __init__(
        self,
        options: Options,
        console: Console,
        write_page: Callable[[Findings, Path], Path] | None = None,
    ) -> None:
        self._options = options
        self._write_page = write_page if options.page else None
        self._console = console
        self._interrupted = False
        # Whether it was interrupted while reading: then all that was read is still processed.
        self._cut_short = False
        self._warnings: list[str] = []  # warnings of the sources
        self._began = time.monotonic()

    def run(self) -> int:
        """Analyse, show and save; return the exit status.

        Raises:
            ValueError: The usage is wrong, or a recording cannot be used.
            OSError: A file cannot be read or written.
        """
        _check_files(self._options)
        robot_of(self._options)
        directory, made = self._folder()
        try:
            result = self._analyse()
        except BaseException:
            if made:
                directory.rmdir()
            raise
        self._save_and_show(directory, result)
        if self._interrupted:
            return INTERRUPTED
        return STATUS[result.usable.value]

    def _folder(self) -> tuple[Path, bool]:
        """Make the folder of the results, and check before the analysis that it can be written.

        Returns:
            The folder, and whether it is new.
        """
        directory = self._options.output
        made = directory is None or not directory.expanduser().exists()
        try:
            directory = dated_folder("identify") if directory is None else directory.expanduser()
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=directory):
                pass
        except OSError as error:
            raise RecordingError(
                f"{directory or 'results'}: results cannot be written there ({error.strerror}); "
                "choose another folder with --output DIR"
            ) from None
        return directory, made

    def _analyse(self) -> Findings:
        options = self._options
        weighing = weighing_of(options)
        logs = [path.suffix.lower() in LOGS for path in options.files]
        if weighing is not None and (options.kind == SYSID or any(logs)):
            raise RecordingError(
                "--mass and --load are for recordings of efforts; SysId logs hold voltages"
            )
        if options.kind == SYSID or all(logs):
            return self._voltage()
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
            self._print(note)
        if recording.kind == MOTOR:
            return self._motor(recording)
        return self._torque(recording) if recording.kind == TORQUE else self._velocity(recording)

    def _torque(self, recording: Recording) -> Findings:
        # Here and below: modules that take long to load are imported after the recording is open.
        from diffbot_recordings.findings import torque_findings
        from diffbot_recordings.torque_analysis import (
            JOINT_GAP,
            TORQUE_SEGMENTS,
            learn_weighed,
        )
        from diffbot_recordings.wheel_check import WheelCheck
        from diffbot_recordings.wheel_signs import WheelSigns, opposite_centre

        geometry = needed_geometry(self._options, "to turn angles into motion")
        robot, weighing = robot_of(self._options), weighing_of(self._options)
        segmenter = Segmenter(TORQUE_SEGMENTS)
        wheels, signs = WheelCheck(recording.wheels), WheelSigns(geometry)
        segments: Iterable[Segment] = wheels.watched(self._segments(recording, segmenter))
        segments = signs.watched(segments)
        learn, loaded = self._learner(recording, geometry, robot, weighing), None
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
        wrong = wheels.wrong(verified=result is not None and result.verified)
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
        name = self._options.files[0].stem if robot is None else robot.name
        warnings = [slow] if period > SLOW_JOINTS else []
        half_width = NORMAL_95 * math.sqrt(result.estimate.variances[0])
        if opposite := opposite_centre(result.estimate.values[0], half_width, robot):
            warnings.append(opposite)
        return torque_findings(result, robot, name, warnings, weighing, loaded)

    def _learner(
        self,
        recording: Recording,
        geometry: WheelGeometry,
        robot: Robot | None,
        weighing: Weighing | None,
    ) -> Callable[[Iterable[Segment]], TorqueResult | None]:
        """Return the function that analyses the segments of one recording.

        The function returns None if no segment can be used.
        """
        from diffbot_ident.excitation.excitations import nominal_prior
        from diffbot_ident.torque.coverage import MotionScale
        from diffbot_ident.verification import Model
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
            gyro, said = recorded_gyro(self._options, geometry)
            if said:
                self._print(said)

        unit = None if weighing is not None else read_unit(self._options, recording.torque_scale)

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

    def _velocity(self, recording: Recording) -> Findings:
        from diffbot_recordings.effective_track import effective_tracks
        from diffbot_recordings.findings import analyse_axes, velocity_findings

        options = self._options
        settings = SegmentSettings(period=options.period, hold=options.hold, still=STILL)
        segmenter = Segmenter(settings)
        segments = list(self._segments(recording, segmenter))
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
        with self._fitting():
            axes = analyse_axes(chosen, recording.geometry, recording.from_wheels)
            geometry, own = geometry_of(options), "w" in recording.from_wheels
            tracks = [] if own or geometry is None else effective_tracks(chosen, geometry)
        sources = ", ".join(source.name for source in recording.sources)
        return velocity_findings(
            axes, rests, options.robot or options.files[0].stem, sources, tracks
        )

    def _voltage(self) -> Findings:
        logs = [
            read_wpilog(path) if path.suffix.lower() == WPILOG else read_sysid(path)
            for path in self._options.files
        ]

        from diffbot_recordings.findings import voltage_findings

        with self._fitting():
            return voltage_findings(logs)

    def _motor(self, recording: Recording) -> Findings:
        from diffbot_recordings.findings import motor_findings
        from diffbot_recordings.motor_analysis import analyse_motors

        period, apart = self._options.period, recording.apart
        settings = SegmentSettings(
            period, shortest=0.1, uniform=period is not None or not apart, nearest=apart
        )
        segments = list(self._segments(recording, Segmenter(settings)))
        with self._fitting():
            motor_analysis = analyse_motors([(s.period, s.channels) for s in segments])
        seconds = sum(segment.duration for segment in segments)
        rests = f"{seconds:.2f} s in {len(segments)} stretches"
        return motor_findings(motor_analysis, rests, ", ".join(s.name for s in recording.sources))

    def _fitting(self) -> Progress:
        progress = Progress("identify", None, self._console)
        progress.show("fitting")
        return progress

    def _segments(self, recording: Recording, segmenter: Segmenter) -> Iterator[Segment]:
        """Yield the segments of a recording, with a progress bar.

        At the end, report what was left out. After Ctrl-C, the segments of what was read until
        then follow.

        Raises:
            RecordingError: A channel is missing.
        """
        # Ctrl-C may interrupt anywhere, also while what was read is processed. Only the main thread
        # receives it; other threads, such as those of a cluster's workers, never do.
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._on_signal) if main else None
        try:
            with Progress("identify", None, self._console) as progress:
                batches = self._read_batches(recording, progress)
                for segment in segmenter.segments(batches, recording.channels, recording.optional):
                    yield segment
                    if self._interrupted and not self._cut_short:
                        break
        except RecordingError as error:
            # Often the cause is a damaged file, of which these warnings inform.
            self._report_exclusions(recording, segmenter)
            files = [path.name for path in self._options.files]
            if any(name in str(error) for name in files):
                raise
            raise RecordingError(f"{', '.join(files)}: {error}") from None
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
        if self._interrupted:
            self._print("interrupted: the results use only what was read before")
        self._report_exclusions(recording, segmenter)

    def _read_batches(self, recording: Recording, progress: Progress) -> Iterator[Batch]:
        progress.show("reading")
        for batch in recording.batches():
            if self._interrupted:
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
        """End with what was read so far; the second time, end at once."""
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True

    def _report_exclusions(self, recording: Recording, segmenter: Segmenter) -> None:
        self._warnings = [text for source in recording.sources for text in source.warnings]
        self._warnings += segmenter.notes
        for warning in self._warnings:
            self._print(f"warning: {warning}")
        lines = segmenter.excluded.lines()
        read = f"read {segmenter.seconds:.1f} s of recording"
        self._print(read + (", ignored:" if lines else ""))
        for line in lines:
            self._print(f"  {line}")

    def _save_and_show(self, directory: Path, findings: Findings) -> None:
        """Show and save the results.

        Ctrl-C never leaves an incomplete file. The pictures come last: Ctrl-C skips only them.
        """

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            self._interrupted = True

        before = signal.signal(signal.SIGINT, on_signal)
        try:
            # Saved first, so that the files exist even if the table is piped into `head`.
            written = findings.save(directory, self._about())
            show(self._console, findings.verdicts, findings.notes)
            if findings.trusted and written.refusal is not None:
                self._print(written.refusal)
            for path in written.paths:
                self._print(str(path))
            self._page(directory, findings)
        finally:
            signal.signal(signal.SIGINT, before)
        if not self._options.pictures or self._interrupted:
            return
        try:
            with Progress("identify", None, self._console) as progress:
                progress.show("drawing")
                paths = findings.draw(directory)
            for path in paths:
                self._print(str(path))
        except KeyboardInterrupt:
            self._interrupted = True
            self._print("interrupted: the numbers are saved, pictures are missing")

    def _page(self, directory: Path, findings: Findings) -> None:
        if self._write_page is None:
            return
        try:
            self._print(str(self._write_page(findings, directory)))
        except ModuleNotFoundError as error:
            self._print(f"report.html not written: {error}; install {error.name}")

    def _about(self) -> dict[str, object]:
        options = self._options
        wheels = {"radius": options.wheel_radius, "track": options.track}
        given = {name: length for name, length in wheels.items() if length is not None}
        return {
            "name": "identify",
            "robot": options.robot,
            **({"wheels": given} if given else {}),
            "files": [str(path) for path in options.files],
            "outcome": "stopped" if self._interrupted else "completed",
            "wall_time": time.monotonic() - self._began,
            **({"recording_warnings": self._warnings} if self._warnings else {}),
        }

    def _print(self, text: str) -> None:
        self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
