"""A driving run as arrays: what metrics and pictures are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from diffbot_bringup.drive_report.controller_topics import TORQUE, Commanded
from diffbot_controllers.tracking_errors import TrackingErrors

Columns = NDArray[np.float64]


@dataclass(frozen=True)
class DriveRun:
    """Samples of a run at the control instants, n of them; NaN where something is not known.

    Attributes:
        time: since driving began, s, rising, shape (n,).
        reference: pose, m, m, rad, shape (n, 3); NaN where only velocities are asked for.
        odometry: pose as the controller knows it, shape (n, 3).
        true: pose of the simulated robot, shape (n, 3); NaN where it was not received.
        wanted: velocity asked for, eta of (14), (15) or u_r, [v, omega], m/s and rad/s, (n, 2).
        velocity: u as the controller knows it, shape (n, 2).
        true_velocity: of the simulated robot, shape (n, 2).
        command: for the period that begins: torque [left, right], N m, or velocity [v, omega], m/s
            and rad/s, shape (n, 2).
        commanded: which of these.
        extra: further arrays, by the names of StatusFields.extra, each of shape (n, length).
        gaps: times between which samples are missing, s, shape (m, 2); may be infinite.
        truth_due: whether a simulator should have told the true pose at each sample.
    """

    time: Columns
    reference: Columns
    odometry: Columns
    true: Columns
    wanted: Columns
    velocity: Columns
    true_velocity: Columns
    command: Columns
    commanded: Commanded = TORQUE
    extra: Mapping[str, Columns] = field(default_factory=dict)
    gaps: Columns = field(default_factory=lambda: np.empty((0, 2)))
    truth_due: bool = False

    def __len__(self) -> int:
        return len(self.time)

    def is_whole(self, begin: float = -math.inf, end: float = math.inf, true: bool = False) -> bool:
        """Whether nothing that should be known is missing between two times, s.

        Args:
            begin: s since driving began.
            end: likewise; the end of the run counts as missing where the run may have gone on.
            true: whether the true pose should be known, too.
        """
        if ((self.gaps[:, 0] < end) & (self.gaps[:, 1] > begin)).any():
            return False
        inside = (self.time >= begin - 1e-9) & (self.time <= end + 1e-9)
        return not (true and self.truth_due) or bool(np.isfinite(self.true[inside]).all())

    @property
    def untold_poses(self) -> int:
        """True poses that should be known and are not."""
        return int((~np.isfinite(self.true).all(axis=1)).sum()) if self.truth_due else 0

    @property
    def has_pose_reference(self) -> bool:
        """Whether the controller follows poses."""
        return len(self) > 0 and bool(np.isfinite(self.reference).all(axis=1).any())

    @property
    def has_truth(self) -> bool:
        """Whether a simulator told the true pose."""
        return len(self) > 0 and bool(np.isfinite(self.true).all(axis=1).any())

    @property
    def pose(self) -> Columns:
        """The best known pose of the robot: the true one, else by odometry, shape (n, 3)."""
        return self.true if self.has_truth else self.odometry

    @property
    def known_poses(self) -> NDArray[np.intp]:
        """Indices at which `pose` is known."""
        return np.flatnonzero(np.isfinite(self.pose).all(axis=1))

    @property
    def best_velocity(self) -> Columns:
        """The best known velocity: the true one, else the controller's, shape (n, 2)."""
        return self.true_velocity if self.has_truth else self.velocity

    def errors(self, pose: Columns, reference: Columns) -> TrackingErrors | None:
        """Errors at the instants at which both are known; None when there is none."""
        known = np.isfinite(pose).all(axis=1) & np.isfinite(reference).all(axis=1)
        if not known.any():
            return None
        return TrackingErrors.between(self.time[known], pose[known], reference[known])

    @property
    def true_errors(self) -> TrackingErrors | None:
        """Of the true pose against the reference."""
        return self.errors(self.true, self.reference)

    @property
    def odometry_errors(self) -> TrackingErrors | None:
        """Of the pose by odometry against the reference."""
        return self.errors(self.odometry, self.reference)

    @property
    def drift(self) -> TrackingErrors | None:
        """Of the true pose against the one by odometry."""
        return self.errors(self.true, self.odometry)
