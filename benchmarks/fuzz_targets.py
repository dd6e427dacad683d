# SPDX-License-Identifier: Apache-2.0
"""The suite's parsers of external input, as fuzz.py calls them.

Each is called with a file (or its text) and must return or raise ValueError. None starts a program:
`$(command ...)` of launch files is refused.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Target:
    """One parser.

    Attributes:
        read: Function called with the file; the fuzzer mutates its text.
        seeds: Initial files or texts.
        suffix: Suffix of the file.
        documented: Exceptions that it may raise.
    """

    read: Callable[[Path], object]
    seeds: Callable[[], Iterable[bytes]]
    suffix: str = ".txt"
    documented: tuple[type[Exception], ...] = (ValueError,)


def _files(pattern: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def _texts(*texts: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [text.encode() for text in texts]


def _text(path: Path) -> str:
    # Input from a command line or a parameter is a valid string already.
    return path.read_text(encoding="utf-8", errors="replace")


def _robot(path: Path) -> object:
    from diffbot_description import load_robot

    return load_robot(path)


def _parameters(path: Path) -> object:
    from diffbot_controllers.parameter_reader import DynamicsFile

    return DynamicsFile(str(path)).dynamics("twil")


def _last_good(path: Path) -> object:
    from diffbot_controllers.parameter_reader import ParameterCheckpoint

    return ParameterCheckpoint(str(path), "twil").restore()


def _sigma(path: Path) -> object:
    from diffbot_description.velocity_parameters import read_sigma

    return read_sigma(str(path))


def _faults(path: Path) -> object:
    from diffbot_sim.faults.fault import load_script

    return load_script(path)


def _launch(path: Path) -> object:
    from diffbot_bringup.xml_launch import substitutions
    from diffbot_bringup.xml_launch.arguments import Arguments, describe
    from diffbot_bringup.xml_launch.document import check, read
    from diffbot_bringup.xml_launch.resolver import Resolver

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no programs here")

    class Nothing:
        PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
        run = staticmethod(refuse)

    substitutions.subprocess = Nothing
    root = read(path).root
    check(root)
    text = describe(Arguments.of(root).declared)
    resolver = Resolver(os.environ)
    resolver.file(path, [])
    return text, [str(process) for process in resolver.processes]


def _expression(path: Path) -> object:
    from diffbot_bringup.xml_launch.substitutions import evaluate

    return evaluate(_text(path))


def _urdf(path: Path) -> object:
    from diffbot_description.urdf_tree import UrdfTree

    return [link.body() for link in UrdfTree(_text(path)).links.values()]


def _urdf_seeds() -> Iterable[bytes]:
    from diffbot_description import load_robot, urdf

    return [urdf(load_robot(name)).encode() for name in ("twil", "agv")]


def _described(path: Path) -> object:
    from diffbot_description.described_robot import described_from

    return described_from(path)


def _recording(path: Path) -> object:
    """Read all blocks of a recording, as `identify` does."""
    from diffbot_recordings.options import Options
    from diffbot_recordings.recording_analysis import open_recording
    from diffbot_recordings.sysid_log import read_sysid

    if path.suffix == ".json":
        return read_sysid(path)
    options = Options((path,), robot="twil", wheel_radius=0.1, track=0.4)
    return list(open_recording(options).batches())


def _bag_seeds(storage: str) -> Callable[[], Iterable[bytes]]:
    def make() -> Iterable[bytes]:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        store = get_typestore(Stores.ROS2_HUMBLE)
        kinds = store.types
        joint, array = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
        layout = kinds["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        with TemporaryDirectory() as folder:
            plugin = StoragePlugin[storage]
            with Writer(Path(folder) / "bag", version=9, storage_plugin=plugin) as writer:
                states = writer.add_connection("/joint_states", joint, typestore=store)
                commands = writer.add_connection(
                    "/effort_controller/commands", array, typestore=store
                )
                for k in range(12):
                    stamp = kinds["builtin_interfaces/msg/Time"](sec=1, nanosec=k * 10_000_000)
                    state = kinds[joint](
                        header=kinds["std_msgs/msg/Header"](stamp=stamp, frame_id=""),
                        name=["left_wheel_joint", "right_wheel_joint"],
                        position=np.array([0.1 * k, 0.1 * k]),
                        velocity=np.array([1.0, 1.0]),
                        effort=np.array([0.2, -0.1]),
                    )
                    time = 1_000_000_000 + k * 10_000_000
                    writer.write(states, time, store.serialize_cdr(state, joint))
                    command = kinds[array](layout=layout, data=np.array([0.2, -0.1]))
                    writer.write(commands, time, store.serialize_cdr(command, array))
            suffix = {"MCAP": "*.mcap", "SQLITE3": "*.db3"}[storage]
            return [path.read_bytes() for path in (Path(folder) / "bag").glob(suffix)]

    return make


def _words(path: Path) -> object:
    """Parse texts of parameters and command lines; the first word selects the parser."""
    from diffbot_description import load_robot
    from diffbot_description.arena import Arena
    from diffbot_ident.precision import Precision
    from diffbot_node import pose_from_text
    from diffbot_recordings.table_columns import parse_columns
    from diffbot_recordings.table_rows import RowFilter
    from diffbot_report.summary import parse_arguments
    from diffbot_sim.virtual_robot import payload_from_text

    kind, _, text = _text(path).partition(":")
    readers: dict[str, Callable[[str], object]] = {
        "arguments": parse_arguments,
        "arena": Arena.parse,
        "columns": lambda text: parse_columns([text]),
        "payload": lambda text: payload_from_text(text, load_robot("twil")),
        "pose": lambda text: pose_from_text("goal", text),
        "until": Precision.parse,
        "where": lambda text: RowFilter.parse([text]).holds(_Cells(text)),
    }
    return readers.get(kind, readers["pose"])(text)


class _Cells(dict[str, str]):
    """A table row in which each column contains the condition's own text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __missing__(self, column: str) -> str:
        return self._text


_SIGMA = """/**:
  ros__parameters:
    sigma: [0.24, 0.21, 1.0, 1.0]
    covariance_diagonal: [1.0e-4, 1.0e-4, 1.0e-4, 1.0e-4]
    dead_time: [0.02, 0.03]
    exponent: [1.0, 1.0]
"""
_DYNAMICS = """/**:
  ros__parameters:
    k5: 0.005
    k6: -0.05
    k7: 1.5
    k8: 3.2
    state: estimated
    robot: twil
    covariance_diagonal: [1.0e-6, .inf, 1.0e-4, 1.0e-4]
    verification: {state: verified, reason: ''}
"""
_CSV = """time,left_position,right_position,command_left,command_right
0.00,0.00,0.00,0.1,0.1
0.01,0.01,0.01,0.1,-0.1
0.02,"0,02",nan,,1e400
"""
_JSON = """{"sysid": true, "test": "Drivetrain", "units": "Meters", "unitsPerRotation": 0.5,
"slow-forward": [[0.0, 1, 1, 0, 0, 0.1, 0.1, 0, 0], [0.02, 1, 1, 0.1, 0.1, 0.2, 0.2, 0, 0]],
"fast-forward": [[0.0, 6, 6, 0, 0, 0.1, 0.1, 0, 0]]}"""

TARGETS = {
    "robot": Target(_robot, _files("diffbot_description/config/*.yaml"), ".yaml"),
    "parameters": Target(_parameters, _texts(_DYNAMICS), ".yaml"),
    "last_good": Target(_last_good, _texts(_DYNAMICS), ".yaml"),
    "sigma": Target(_sigma, _texts(_SIGMA), ".yaml"),
    "faults": Target(_faults, _files("config/faults.yaml"), ".yaml"),
    "launch": Target(_launch, _files("launch/*.xml"), ".launch.xml"),
    "expression": Target(
        _expression, _texts("'a' if 1 < 2 else pi*2", "sqrt(2)**2 in (1, [2])", "not 'x' == 3 // 1")
    ),
    "urdf": Target(_urdf, _urdf_seeds, ".urdf"),
    "described": Target(_described, _urdf_seeds, ".urdf"),
    "mcap": Target(_recording, _bag_seeds("MCAP"), ".mcap"),
    "sqlite3": Target(_recording, _bag_seeds("SQLITE3"), ".db3"),
    "csv": Target(_recording, _texts(_CSV, _CSV.replace(",", ";")), ".csv"),
    "sysid": Target(_recording, _texts(_JSON), ".json"),
    "texts": Target(
        _words,
        _texts(
            "pose:1.0,-0.5,-3*pi/2", "arena:3x2.5", "until:K5 5% K6=5%, K7 1%", "payload:50%",
            "payload:2,0.1,0.2,0.05", "columns:v=speed,w=gyro_z*deg", "arguments:a:=1 b:='x y'",
            "where:state=calib or v!=0", 'arguments:{"a": [1]}',
        ),
    ),
}  # fmt: skip
