# SPDX-License-Identifier: Apache-2.0
"""Poses of a planar laser scanner, by registration of its scans (GICP, library small_gicp).

Each scan is registered to an old keyframe that is near: coming back to a place brings back its
pose, so that errors do not add up while the robot stays in a room. What moves while it scans is
straightened by the velocity since the scan before. No wheel is used.

A scan whose walls leave one direction open (a corridor), that has too few points or that does not
fit the keyframes gives no pose. After LOST of scans that do not fit, such as behind a corridor or
after the robot was carried, a new map in a frame of its own begins: no motion between is claimed.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from arc_odometry import Pose
from diffbot_recordings.bag_topics import stamp_of
from diffbot_recordings.sensor_readings import CommonPoseErrors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEWEST_POINTS, MOST_RAYS = 60, 20000
"""Points and rays of a scan."""
FARTHEST = 1000.0
"""Ranges beyond it are none, m."""
# Distance and turn from a keyframe at which a scan becomes one; a new one is sought that near.
KEYFRAME_DISTANCE, KEYFRAME_TURN = 0.7, math.radians(40.0)  # m, rad
# Coarse registration, of every COARSE_POINTS-th point, and fine: distance of a point from its
# neighbour in the keyframe, m, and change of the pose, m and rad, with which it ends.
COARSE, FINE = (0.5, 2e-3), (0.1, 1e-4)
COARSE_POINTS = 3
ITERATIONS = 20
# Fraction of points that must find a neighbour.
FEWEST_INLIERS = 0.5
# Smallest fraction of the scan's information in its least determined direction.
CORRIDOR = 0.02
# Height of the two layers into which a scan is copied, m: walls need an extent upwards.
LAYER = 0.05
NEIGHBOURS = 12
LASER_ERRORS = CommonPoseErrors(scale=0.002, skew=0.0006, turn=0.0006, place=0.6, yaw=0.4)
"""Of a laser: its ranges to 0.4 % in 19 of 20, and what its map of keyframes is bent.

A keyframe keeps the noise of its scan as long as it is used, which no fit can tell from slip.
"""
# Fraction of scans that may give no pose.
MOST_LOST = 0.2
# Time of scans that do not fit after which a new map begins, s.
LOST = 1.0
# Longest time without a scan over which the velocity is believed, s.
LONGEST_GAP = 0.5


class ScanFault(enum.Enum):
    """Why a scan gives no pose."""

    FEW_POINTS = f"fewer than {FEWEST_POINTS} points within range"
    OPEN_DIRECTION = "walls in one direction only, as in a corridor"
    NO_FIT = "it does not fit the scans before, as after a jump or among moving things"


@dataclass(frozen=True)
class Scan:
    """A scan: stamp of the first ray in s, ranges in m, angles in rad, times between rays in s."""

    stamp: float
    ranges: Array
    angle_min: float
    angle_increment: float
    range_min: float
    range_max: float
    time_increment: float = 0.0

    def points(self) -> tuple[Array, Array]:
        """Return the points within range, (n, 2) in m, and their times after the stamp, s."""
        ranges = self.ranges[:MOST_RAYS]
        seen = np.isfinite(ranges) & (ranges > self.range_min) & (ranges < self.range_max)
        rays = np.flatnonzero(seen)
        angles = self.angle_min + self.angle_increment * rays
        points = self.ranges[rays, None] * np.column_stack((np.cos(angles), np.sin(angles)))
        return points, np.asarray(self.time_increment * rays, dtype=float)

    @property
    def middle(self) -> float:
        """Time for which the scan's pose stands, s."""
        return self.stamp + 0.5 * self.time_increment * (len(self.ranges) - 1)


def scan_of(message: Any) -> Scan | None:
    """Return the scan of a sensor_msgs/LaserScan; None: no stamp, no ranges, no finite angles."""
    stamp = stamp_of(message)
    names = ("angle_min", "angle_increment", "range_min", "range_max", "time_increment")
    try:
        first, increment, near, far, between = (float(getattr(message, name)) for name in names)
        ranges = np.asarray(message.ranges, dtype=float).ravel()
    except (AttributeError, TypeError, ValueError, OverflowError):
        return None  # a type that the recording defines may have anything there
    finite = all(map(math.isfinite, (first, increment, near, far, between)))
    if stamp is None or not finite or not len(ranges):
        return None
    between = min(max(between, 0.0), LONGEST_GAP / len(ranges))
    return Scan(stamp, ranges, first, increment, near, min(far, FARTHEST), between)


@dataclass
class _Keyframe:
    pose: Array
    cloud: Any
    tree: Any


@dataclass
class LaserPoses:
    """Scans in the order of their stamps to poses of the sensor in the frame of the first scan.

    Attributes:
        rows: Poses [time s, x m, y m, yaw rad, number of the map].
        faults: Number of scans without a pose, by cause.
        maps: Number of maps that were begun.
    """

    rows: list[tuple[float, float, float, float, float]] = field(default_factory=list)
    faults: Counter[ScanFault] = field(default_factory=Counter)
    maps: int = 0
    _keyframes: list[_Keyframe] = field(default_factory=list)
    _recent: list[tuple[float, Array]] = field(default_factory=list)  # the last two in this map
    _lost_since: float | None = None

    def add(self, scan: Scan) -> bool:
        """Take the next scan; return whether it gives a pose.

        Raises:
            ImportError: The library small_gicp is not installed.
        """
        if self._recent and scan.middle <= self._recent[-1][0]:
            return False  # seen before
        points, times = scan.points()
        if len(points) < FEWEST_POINTS:
            self.faults[ScanFault.FEW_POINTS] += 1
            return False
        velocity = self._velocity(scan.middle)
        straight = _straightened(points, times, scan, velocity)
        if not self._keyframes:
            self._begin(scan, straight)
            self.rows.append((scan.middle, 0.0, 0.0, 0.0, float(self.maps)))
            return True
        pose = self._guess(scan.middle, velocity)
        few, _ = _cloud(straight[::COARSE_POINTS])
        for keyframe in self._near(pose):
            rough, fault = _registered(keyframe, few, pose, COARSE)
            if fault is None:
                break
        if fault is None:
            # The velocity up to this scan is known better now.
            time, last = self._recent[-1]
            if scan.middle - time < LONGEST_GAP:
                velocity = _between(last, rough) / (scan.middle - time)
                straight = _straightened(points, times, scan, velocity)
            cloud, tree = _cloud(straight)
            pose, fault = _registered(keyframe, cloud, rough, FINE)
        if fault is not None:
            self.faults[fault] += 1
            if self._is_lost(fault, scan.middle):
                self._begin(scan, straight)
            return False
        self._lost_since = None
        if _far(pose, keyframe.pose):
            self._keyframes.append(_Keyframe(pose, cloud, tree))
        self.rows.append((scan.middle, *pose.tolist(), float(self.maps)))
        self._recent = [self._recent[-1], (scan.middle, pose)]
        return True

    def _begin(self, scan: Scan, points: Array) -> None:
        """Begin a map whose frame is that of a scan; it gives poses when a second one fits."""
        self.maps += 1
        self._lost_since = None
        self._keyframes = [_Keyframe(np.zeros(3), *_cloud(points))]
        self._recent = [(scan.middle, np.zeros(3))]

    def _is_lost(self, fault: ScanFault, time: float) -> bool:
        """Whether scans have not fitted for LOST."""
        if fault is not ScanFault.NO_FIT:
            return False
        if self._lost_since is None:
            self._lost_since = time
        return time - self._lost_since >= LOST

    def sentence(self) -> str:
        """Return how many scans gave no pose, and why; empty: all gave one."""
        lost = sum(self.faults.values())
        if not lost:
            return ""
        causes = "; ".join(f"{count}: {fault.value}" for fault, count in self.faults.most_common())
        frames = len({row[4] for row in self.rows})
        anew = f"; its map began anew {frames - 1} times" if frames > 1 else ""
        return f"{lost} of {lost + len(self.rows)} scans give no pose ({causes}){anew}"

    def refusal(self) -> str:
        """Return why the poses cannot be used, if too many scans give none; empty: they can."""
        lost = sum(self.faults.values())
        if lost <= MOST_LOST * (lost + len(self.rows)):
            return ""
        return (
            f"{self.sentence()}: drive where the laser sees walls in two directions within its "
            "range, away from people, or use another pose source"
        )

    def _velocity(self, time: float) -> Array:
        """Return the sensor's velocity (x, y, yaw) in its own frame, from the last two poses."""
        if len(self._recent) < 2 or time - self._recent[0][0] > LONGEST_GAP:
            return np.zeros(3)
        (begin, before), (end, last) = self._recent
        return np.asarray(_between(before, last) / (end - begin))

    def _guess(self, time: float, velocity: Array) -> Array:
        begin, last = self._recent[-1]
        return _after(last, velocity * min(time - begin, LONGEST_GAP))

    def _near(self, pose: Array) -> list[_Keyframe]:
        """Return keyframes near a pose, the oldest first, at last the nearest of all."""
        nearest = min(self._keyframes, key=lambda each: math.hypot(*_apart(pose, each.pose)))
        near = [each for each in self._keyframes if not _far(pose, each.pose)]
        return [*near[:2], nearest]


def _apart(pose: Array, keyframe: Array) -> tuple[float, float]:
    """Return distance and turn from a keyframe as fractions of those at which it is far."""
    x, y, turn = _between(keyframe, pose)
    return math.hypot(x, y) / KEYFRAME_DISTANCE, abs(turn) / KEYFRAME_TURN


def _far(pose: Array, keyframe: Array) -> bool:
    return max(_apart(pose, keyframe)) > 1.0


def _straightened(points: Array, times: Array, scan: Scan, velocity: Array) -> Array:
    """Return the points as they would be seen at once, in the middle of the scan."""
    after = times - (scan.middle - scan.stamp)
    turn = velocity[2] * after
    cos, sin = np.cos(turn), np.sin(turn)
    x, y = points.T
    moved = after[:, None] * velocity[:2]
    return np.column_stack((cos * x - sin * y, sin * x + cos * y)) + moved


def _cloud(points: Array) -> tuple[Any, Any]:
    """Return points and their covariances for the registration, with a search tree."""
    import small_gicp

    layers = [np.column_stack((points, np.full(len(points), z))) for z in (-LAYER, LAYER)]
    cloud = small_gicp.PointCloud(np.vstack(layers))
    tree = small_gicp.KdTree(cloud)
    small_gicp.estimate_covariances(cloud, tree, NEIGHBOURS)
    return cloud, tree


def _registered(
    keyframe: _Keyframe, cloud: Any, guess: Array, stage: tuple[float, float]
) -> tuple[Array, ScanFault | None]:
    """Return the pose of a cloud by registration to a keyframe, from a guess, or what is wrong."""
    import small_gicp

    reach, change = stage
    begin = _matrix(_between(keyframe.pose, guess))
    result = small_gicp.align(
        keyframe.cloud, cloud, keyframe.tree, begin, "GICP", reach, 1, ITERATIONS, change, change
    )
    pose = _after(keyframe.pose, _planar(result.T_target_source))
    # Neighbours that change to and fro end at the last iteration; the pose is as good.
    if result.num_inliers < FEWEST_INLIERS * cloud.size():
        return pose, ScanFault.NO_FIT
    # The Hessian is of rotation (x, y, z), then translation.
    information = np.linalg.eigvalsh(result.H[3:5, 3:5])
    if information[0] < CORRIDOR * information[1]:
        return pose, ScanFault.OPEN_DIRECTION
    return pose, None


def _matrix(pose: Array) -> Array:
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    return np.array([
        [cos, -sin, 0.0, pose[0]], [sin, cos, 0.0, pose[1]],
        [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip


def _planar(matrix: Array) -> Array:
    return np.array((matrix[0, 3], matrix[1, 3], math.atan2(matrix[1, 0], matrix[0, 0])))


def _between(first: Array, second: Array) -> Array:
    """Return the pose of the second in the frame of the first; yaw within half a turn."""
    x, y, yaw = Pose(*second.tolist()).relative_to(Pose(*first.tolist()))
    return np.array((x, y, math.remainder(yaw, math.tau)))


def _after(pose: Array, moved: Array) -> Array:
    """Return a pose after a motion in its own frame; yaw goes on beyond half a turn."""
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    x, y = pose[0] + cos * moved[0] - sin * moved[1], pose[1] + sin * moved[0] + cos * moved[1]
    return np.array((x, y, pose[2] + moved[2]))
