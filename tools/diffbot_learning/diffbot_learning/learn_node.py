# SPDX-License-Identifier: Apache-2.0
"""The node `learn`: listens to a robot at work, and never publishes a command.

It records the robot's topics in stretches, identifies each in a thread of its own, and keeps what
all of them tell in `learning.json`, from which it goes on after a restart. Topics are taken as they
appear, whatever their QoS.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile, ReliabilityPolicy

from diffbot_description import load_robot
from diffbot_description.files import write_json
from diffbot_description.run_folder import locked
from diffbot_learning.changes import RobotChange
from diffbot_learning.learned_robot import FALSE_ALARMS, DamagedState, LearnedRobot, summary
from diffbot_learning.proposals import proposals, write_proposals
from diffbot_learning.stretch import Stretch, read_stretch
from diffbot_node import Node, RobotParameters, declare, parameter
from diffbot_node.diagnostics import Diagnostics
from diffbot_node.message_types import message_class
from diffbot_node.parameters import writable_folder
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.topic_types import ARRAY, IMU, JOINT_STATE, LASER, ODOMETRY, TRANSFORMS, TWISTS
from diffbot_recordings.bag_topics import frames_of
from diffbot_recordings.recorded_readings import POSE_TYPES
from diffbot_recordings.recording_writer import Received, RecordingWriter
from diffbot_study.cause_advice import advice_on

TOPICS = {
    "joint_states": (JOINT_STATE,),
    "effort_controller/commands": (ARRAY,),
    "cmd_vel": TWISTS,
    "odom": (ODOMETRY,),
    "imu/data": (IMU,),
    "scan": (LASER,),
    "pose": POSE_TYPES,
}
"""Topics that are listened to, and the types that each may have."""
TF = {"/tf": (TRANSFORMS,)}
"""Those that are so only for a pose from tf."""
STATE, LEARNED, STRETCHES, LOCK = "learning.json", "learned.json", "stretches", ".learning"
# Periods of wall time, s: writing, looking for topics, publishing diagnostics.
WRITE_PERIOD, LOOK_PERIOD, DIAGNOSTICS_PERIOD = 0.1, 1.0, 1.0
# Stretches that may wait to be identified; more are dropped.
MOST_WAITING = 3
# Time for which a change is a warning, s.
RECENT = 86400.0
DEPTH = 2000
SENSORS = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass(frozen=True)
class LearnParameters(RobotParameters):
    """Parameters of the node."""

    stretch: float = parameter(
        60.0, "wall time that is identified at once, s", minimum=10.0, maximum=600.0
    )
    false_alarms: float = parameter(
        FALSE_ALARMS, "probability of any false alarm of a change, ever", above=0.0, maximum=0.5
    )
    tf: str = parameter(
        "",
        "frames of a pose from tf, a fixed one and the robot's, such as 'map base_link'; or none",
    )
    keep_recordings: bool = parameter(
        False, "keep the recording of each stretch in the folder stretches of the results"
    )
    results: str = parameter(
        "learned", "folder of what is learnt; the same folder again goes on from there"
    )


class LearnNode(Node):
    """ROS interface of the learning."""

    def __init__(self) -> None:
        super().__init__("learn")
        self.exit_code: int | None = None
        self.values = declare(self, LearnParameters)
        self._learning = LearnedRobot(self.values.robot, self.values.false_alarms)
        self._robot = load_robot(self.values.robot)
        self._frames = frames_of(self.values.tf) if self.values.tf else None
        self._topics = {**TOPICS, **(TF if self._frames else {})}
        self._folder = writable_folder(self.values.results)
        self._lock: int | None = _lock(self._folder)
        self._go_on()
        (self._folder / STRETCHES).mkdir(exist_ok=True)
        self._connections: dict[str, Any] = {}
        self._listening: dict[str, str] = {}
        self._writer: RecordingWriter | None = None
        self._began = 0.0
        self._pool = ThreadPoolExecutor(1)
        self._thread = 0  # that of the pool, once it works
        self._waiting: list[tuple[Path, Future[Stretch]]] = []
        for left in sorted((self._folder / STRETCHES).iterdir()):
            if not self.values.keep_recordings:
                self._submit(left)
        robot = self.values.robot
        self._diagnostics = Diagnostics(self, Path(robot).stem, about=robot)
        create_wall_timer(self, WRITE_PERIOD, self._write)
        create_wall_timer(self, LOOK_PERIOD, self._look_around)
        create_wall_timer(self, DIAGNOSTICS_PERIOD, self._publish)
        self._look_around()

    def close(self) -> None:
        """Keep the stretch that has begun for the next start; called on every exit."""
        self._end_stretch(submit=False)
        self._stop_identifying()
        if self._lock is not None:
            self._save()
            os.close(self._lock)
            self._lock = None

    def _stop_identifying(self) -> None:
        """Let the pool's thread end at its next line of Python; the process would wait for it."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if any(future.running() for _, future in self._waiting):
            ends = ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ends)

    # What was learnt before.

    def _go_on(self) -> None:
        path = self._folder / STATE
        if not path.exists():
            return
        try:
            self._learning.load(path)
        except DamagedState as error:
            aside = path.with_suffix(f".damaged-{time.time_ns()}")
            path.rename(aside)
            self.get_logger().warning(f"{error}; the old file is {aside.name}")
        else:
            self.get_logger().info(
                f"going on from {path}: {self._learning.stretches} stretches learnt from"
            )

    def _save(self) -> None:
        try:
            self._learning.save(self._folder / STATE)
            write_json(self._folder / LEARNED, summary(self._learning))
            given = proposals(self._learning.values(), self._robot)
            write_proposals(given, self._robot, self._folder)
        except OSError as error:
            self.get_logger().error(
                f"cannot write {self._folder}: {error.strerror or error}; what was learnt is kept "
                "in memory until it can be written"
            )

    # Topics.

    def _look_around(self) -> None:
        """Listen to each topic that has appeared, with the type that it has."""
        there = {name: kinds for name, kinds in self.get_topic_names_and_types()}
        for topic, allowed in self._topics.items():
            name = self.resolve_topic_name(topic)
            kinds = [kind for kind in there.get(name, ()) if kind in allowed]
            if name in self._listening or not kinds or not self.count_publishers(name):
                continue
            self._listening[name] = kinds[0]
            take = Received(partial(self._take, name, kinds[0]))
            self.create_subscription(message_class(kinds[0]), name, take, SENSORS, raw=True)
            self.get_logger().info(f"listening to {name} ({kinds[0]})")

    def _take(self, topic: str, kind: str, data: bytes, sent: int) -> None:
        if self._writer is None:
            self._begin_stretch()
        assert self._writer is not None
        if topic not in self._connections:
            self._connections[topic] = self._writer.connect(topic, kind)
        self._writer.take(self._connections[topic], data, sent)

    # Stretches.

    def _begin_stretch(self) -> None:
        stamp = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{time.time_ns() % 10**9:09d}"
        kinds = [kind for allowed in self._topics.values() for kind in allowed]
        self._connections = {}
        self._writer = RecordingWriter(self._folder / STRETCHES / stamp, "mcap", kinds)
        self._began = time.monotonic()

    def _write(self) -> None:
        """Write what has arrived; end a stretch after its time; take what was identified."""
        if self._writer is not None:
            try:
                self._writer.flush()
            except OSError as error:
                self.get_logger().error(f"cannot record: {error.strerror or error}")
                self._end_stretch(submit=False)
            if self._writer and time.monotonic() - self._began >= self.values.stretch:
                self._end_stretch(submit=True)
        while self._waiting and self._waiting[0][1].done():
            self._learn(*self._waiting.pop(0))

    def _end_stretch(self, submit: bool) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        with contextlib.suppress(OSError):  # a full disk: what was written may be read
            writer.flush()
            writer.close()
        if submit:
            self._submit(writer.folder)

    def _submit(self, folder: Path) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.get_logger().warning("this computer is too slow: a stretch was left out")
            self._forget(folder)
            return
        self._waiting.append((folder, self._pool.submit(self._read, folder)))

    def _read(self, folder: Path) -> Stretch:
        self._thread = threading.get_ident()
        return _read(folder, self.values.robot, self._frames)

    def _learn(self, folder: Path, future: Future[Stretch]) -> None:
        error = future.exception()
        if error is not None:
            self.get_logger().warning(f"{folder.name}: {error}")
            self._forget(folder)
            return
        change = self._learning.add(future.result())
        self._forget(folder)
        self._save()
        if self._learning.reason:
            self.get_logger().info(f"nothing learnt from {folder.name}: {self._learning.reason}")
            return
        if change is not None:
            self.get_logger().warning(f"changed: {_in_words(change)}")
        known = [
            f"{value.name} {value.value:.4g} ± {value.half_width:.2g} {value.unit}"
            for value in self._learning.values()
        ]
        self.get_logger().info("; ".join(known))

    def _forget(self, folder: Path) -> None:
        if not self.values.keep_recordings:
            shutil.rmtree(folder, ignore_errors=True)

    # Diagnostics.

    def _publish(self) -> None:
        learning = self._learning
        recent = [c for c in learning.changes if time.time() - c.between[1] < RECENT]
        level, text = DiagnosticStatus.OK, "learning"
        if not self._listening:
            level, text = (
                DiagnosticStatus.STALE,
                f"no topic of {', '.join(self._topics)} is published",
            )
        elif recent:
            level = DiagnosticStatus.WARN
            text = _in_words(recent[-1])
        elif not learning.stretches:
            text = learning.reason or "nothing learnt yet"
        elif missing := learning.missing():
            text = f"learning; more {missing} would tell most"
        values = {
            value.name: f"{value.value:.6g} +- {value.half_width:.2g} {value.unit}"
            for value in learning.values()
        }
        values |= {
            f"coverage of {value.name}": f"{100.0 * value.coverage:.0f} %"
            + (f"; {value.more} would tell more" if value.more else "")
            for value in learning.values()
        }
        values |= {
            f"proposal: {one.parameter}": one.refusal or f"{one.value:g} +- {one.half_width:.2g}"
            for one in proposals(learning.values(), self._robot)
        }
        values |= {f"driven: {k}": f"{100.0 * part:.0f} %" for k, part in learning.driven().items()}
        self._diagnostics.publish(None, level, text, values)


def _in_words(change: RobotChange) -> str:
    """Say what changed, what it means, and what to do."""
    advice = advice_on(change.cause)
    return f"{change.cause}: {change.text}: {advice.meaning}; {advice.action}"


def _read(folder: Path, robot: str, tf: tuple[str, str] | None) -> Stretch:
    """Read a stretch, also one whose recording was cut off and so has no metadata."""
    files = sorted(folder.glob("*.mcap"))
    whole = (folder / "metadata.yaml").exists()
    return read_stretch(folder if whole or not files else files[0], robot, tf)


def _lock(folder: Path) -> int:
    """Return a lock that no other node holds until this process ends."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    if not locked(lock, alone=True):
        os.close(lock)
        raise ValueError(
            f"parameter 'results' = '{folder}': another node learns there; give another folder"
        )
    return lock
