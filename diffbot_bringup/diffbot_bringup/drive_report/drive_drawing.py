"""Drawing the pictures and the animation of a driving run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from diffbot_bringup.drive_report.adaptation_recording import AdaptationRun
from diffbot_bringup.drive_report.adaptation_results import changes_of
from diffbot_bringup.drive_report.controller_topics import TORQUE, VELOCITY
from diffbot_bringup.drive_report.drive_recording import DriveRecording
from diffbot_bringup.drive_report.drive_results import DriveResults, drive_results
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.robot_outline import RobotOutline
from diffbot_bringup.report.background_drawing import BackgroundDrawing, Picture
from diffbot_bringup.report.summary import RunDescription
from diffbot_description import Robot

# Wall time that an animation may take, s.
ANIMATION_TIME = 6.0


class DriveDrawing(BackgroundDrawing):
    """PNGs and drive.gif.

    Args:
        robot: its shape and colours.
        animation: whether drive.gif is made.
    """

    def __init__(self, robot: Robot, animation: bool = True) -> None:
        super().__init__()
        self._robot = robot
        self._animation = animation

    def load(self) -> None:
        """Import what draws, and warm it up."""
        from diffbot_bringup.drive_report import (
            adaptation_figure,
            drive_figures,
            movie,
            path_figure,
            pose_figure,
            sigma_figure,
        )
        from diffbot_bringup.report import figures

        figures.warm_up()
        self._path, self._pose, self._time = path_figure, pose_figure, drive_figures
        self._adaptation, self._sigma = adaptation_figure, sigma_figure
        self._save, self._movie = figures.save_figure, movie

    def draw(
        self,
        run: DriveRun,
        recording: DriveRecording,
        about: RunDescription,
        directory: Path,
        deadline: float,
    ) -> Iterator[Path]:
        """Write the files into the directory, one after the other; yields their paths.

        Args:
            run: at least two samples.
            recording: the same run, for the controller's state.
            about: what was run.
            directory: where to.
            deadline: time.monotonic() after which no further one is begun, s.
        """
        if not self.ready(deadline):
            return
        outline = RobotOutline.of(self._robot)
        results = drive_results(run, recording)
        state = recording.state
        law = f", {state.law}" if state and state.law else ""
        title = f"{about.name}{law} ({about.setting})"
        limits = recording.limits
        pictures = [
            Picture(f"{name}.png", lambda path, m=make: self._save(m(), path))
            for name, make in self._figures(run, results, recording, outline, title).items()
        ]
        if self._animation and len(run.known_poses):
            pictures.append(
                Picture(
                    "drive.gif",
                    lambda path: self._movie.write_movie(path, run, self._robot, limits, title),
                    ANIMATION_TIME,
                )
            )
        yield from self.write(pictures, directory, deadline)

    def _figures(
        self,
        run: DriveRun,
        results: DriveResults,
        recording: DriveRecording,
        outline: RobotOutline,
        title: str,
    ) -> dict[str, Callable[[], Any]]:
        symbol, commanded = recording.fields.velocity_name, recording.fields.commanded
        colour = self._robot.appearance.body
        make: dict[str, Callable[[], Any]] = {}
        if len(run.known_poses):
            make["path"] = lambda: self._path.path_figure(run, outline, colour, title)
        if run.has_pose_reference:
            make["pose"] = lambda: self._pose.pose_figure(run, results.metrics, title)
        make["velocities"] = lambda: self._time.velocities_figure(run, results, symbol, title)
        make[commanded.picture] = lambda: self._time.commands_figure(
            run, results, recording.limits, title
        )
        if run.has_pose_reference:
            errors = "backstep_errors" if commanded is TORQUE else "velocity_errors"
            make[errors] = lambda: self._time.velocity_errors_figure(run, results, symbol, title)
            make.update(self._adaptation_figures(run, results, recording, title))
        return make

    def _adaptation_figures(
        self, run: DriveRun, results: DriveResults, recording: DriveRecording, title: str
    ) -> dict[str, Callable[[], Any]]:
        """Where parameters were live, or the robot changed."""
        lived = recording.adaptation_run()
        if recording.state is None:
            return {}
        if recording.fields.commanded is VELOCITY:
            return self._sigma_figures(run, results, recording, lived, title)
        if not (len(lived) or lived.changes):
            return {}
        fixed, end = recording.state.parameters, float(run.time[-1])
        changes = changes_of(run, lived, results.metrics.window)
        return {
            "adaptation": lambda: self._adaptation.adapted_parameters_figure(
                lived, fixed, end, title
            ),
            "adaptation_errors": lambda: self._adaptation.adaptation_errors_figure(
                run, lived, changes, title
            ),
        }

    def _sigma_figures(
        self,
        run: DriveRun,
        results: DriveResults,
        recording: DriveRecording,
        lived: AdaptationRun,
        title: str,
    ) -> dict[str, Callable[[], Any]]:
        """Where sigma was identified while driving, or the robot changed."""
        make: dict[str, Callable[[], Any]] = {}
        if recording.state.law == "adaptive" or lived.changes:
            make["sigma"] = lambda: self._sigma.sigma_figure(run, lived, title)
        if lived.changes:
            changes = changes_of(run, lived, results.metrics.window)
            make["adaptation_errors"] = lambda: self._adaptation.adaptation_errors_figure(
                run, lived, changes, title
            )
        return make
