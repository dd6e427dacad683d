# SPDX-License-Identifier: Apache-2.0
"""A Gazebo server as a child process, driven over a socket that it inherits.

plugin/diffbot_gazebo.cc is the other end. Messages are packed, naturally aligned C structures.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from diffbot_description.robot import Pair
from diffbot_sim.child_processes import ChildProcess, stop_all
from diffbot_sim.gazebo.installation import GazeboError, Installation
from diffbot_sim.gazebo.world import WORLD
from diffbot_sim.simulator import Triple

LOOK, STEP, PLACE, PAYLOAD, LINE, FRICTION, MODEL = range(7)
VALUES = 9

_REQUEST = struct.Struct(f"=II{VALUES}d")
_ANSWER = struct.Struct("=II17d")

ANSWER_SIZE = _ANSWER.size

# Wall time that the server may take, s: to start, to answer, and to end on its own.
START_PATIENCE = 60.0
ANSWER_PATIENCE = 20.0
END_PATIENCE = 2.0

_PORT_TAKEN = "Address already in use"
# Log messages without meaning: of sound, and of the solver, which corrects what it reports.
_NOISE = ("ALSA", "ODE Message 3")
_ATTEMPTS = 5
# Wall time that the camera's first picture may take, and period of checking for it, s.
PICTURE_PATIENCE = 60.0
LOOK_PERIOD = 0.05


def request(kind: int, *values: float, steps: int = 0) -> bytes:
    """Return a request.

    Kinds and values:
        LOOK: None; report the state.
        STEP: Torque left, right (N m), inner step (s), forward force (N) on the ground below
            base_link and moment (N m); `steps` is the number of inner steps.
        PLACE: x, y, z (m), roll, pitch, yaw (rad) of base_link, which is then at rest.
        PAYLOAD: Mass (kg), x, z (m), inertia (kg m^2); see Simulator.set_payload.
        FRICTION: Viscous (N m s/rad), Coulomb forward, backward, static forward, backward (N m),
            Stribeck velocity (rad/s; 0: none) of the wheel `steps`, 0 left or 1 right.
        MODEL: K5 to K8, radius and half track (m), for dry friction.
        LINE: x, y of both ends (m), red, green, blue (0..1), height above the floor, width (m).
    """
    return _REQUEST.pack(kind, steps, *values, *(0.0,) * (VALUES - len(values)))


@dataclass(frozen=True)
class Answer:
    """The state of the robot after a request; pairs are [left, right], SI units.

    Attributes:
        notice: Whether it was sent without a request, because a pause began or ended.
        paused: Whether the world's time stands still until somebody resumes it.
        angles, rates: Of the wheel joints.
        position, rotation: Of base_link in the world; quaternion w, x, y, z.
        linear, angular: Velocity of base_link's origin, and spin, in the world.
    """

    notice: bool
    paused: bool
    angles: Pair
    rates: Pair
    position: Triple
    rotation: tuple[float, float, float, float]
    linear: Triple
    angular: Triple

    @classmethod
    def unpack(cls, data: bytes) -> Answer:
        """Unpack an answer; struct.error if the other end uses another protocol."""
        notice, paused, *v = _ANSWER.unpack(data)
        return cls(
            bool(notice),
            bool(paused),
            *(tuple(v[a:b]) for a, b in ((0, 2), (2, 4), (4, 7), (7, 11), (11, 14), (14, 17))),
        )


class GazeboServer:
    """gzserver with a world that has the plugin; it ends with this process, whatever ends that.

    The world's folder is searched for models; a camera needs a display to render on.

    Raises:
        GazeboError: It did not start, or has no display.
    """

    def __init__(
        self,
        installation: Installation,
        plugin: Path,
        world: Path,
        gui: bool = False,
        camera: bool = False,
        seed: int = 0,
    ) -> None:
        self.paused = False
        self._installation = installation
        self._log = world.with_name("gzserver.log")
        self._processes: list[ChildProcess] = []
        self._server: ChildProcess | None = None  # created after the socket
        self._socket: socket.socket
        self._variables = _variables(installation, plugin, world)
        self._chosen = os.environ.get("GAZEBO_MASTER_URI")
        display = os.environ.get("DISPLAY")
        try:
            if gui and not display:
                raise GazeboError(
                    "gui:=true needs a display, and DISPLAY is not set; use gui:=false"
                )
            if camera and not display:
                display = self._start_display()
            self._variables["DISPLAY"] = display if camera else None
            # A camera must take its pictures on time; without a window no visuals are sent.
            options = ["--lockstep"] if camera else [] if gui else ["--minimal_comms"]
            self._start(["--verbose", "--seed", str(seed), *options, str(world)])
            if gui:
                self._variables["DISPLAY"] = display
                self._run(installation.program("gzclient"), [])
        except BaseException:
            self.close()
            raise

    def exchange(self, request: bytes, steps: int = 0) -> Answer:
        """Send a request of so many inner steps and return its answer, also during a pause."""
        (answer,) = self.exchange_all([request], steps)
        return answer

    def exchange_all(self, requests: Sequence[bytes], steps: int = 0) -> list[Answer]:
        """Do as `exchange` for several requests that do not depend on each other's answers.

        During a pause each exchange starts a program that runs the server's loop, for a second.
        """
        try:
            for request in requests:
                self._socket.send(request)
        except OSError:
            raise GazeboError(self._ending()) from None
        # A pass of the server's loop for each step, one before a change, one to answer.
        return self._receive(ANSWER_PATIENCE, steps + 2, len(requests))

    def look_around(self) -> None:
        """Update `paused`; raise GazeboError if the server has ended."""
        while select.select([self._socket], [], [], 0.0)[0]:
            self._read()

    def set_paused(self, paused: bool) -> None:
        """Pause or resume the world's time, as Gazebo's own button does; else GazeboError."""
        self.look_around()
        self._control_world("--pause", int(paused))
        end = time.monotonic() + ANSWER_PATIENCE
        while self.paused != paused:
            if not select.select([self._socket], [], [], max(end - time.monotonic(), 0.0))[0]:
                raise GazeboError(self._silence(ANSWER_PATIENCE))
            self._read()

    def wait_for_picture(self, folder: Path) -> None:
        """Wait for a new picture of the camera in the folder; GazeboError if there is none."""
        before = _newest(folder)
        end = time.monotonic() + PICTURE_PATIENCE
        while _newest(folder) == before:
            self.look_around()
            if time.monotonic() > end:
                raise GazeboError(
                    f"the camera has taken no picture for {PICTURE_PATIENCE:g} s: Gazebo cannot "
                    "draw on the display; unset DISPLAY to draw on a virtual one"
                )
            time.sleep(LOOK_PERIOD)

    def close(self) -> None:
        """End the server and its window, and wait until both are gone."""
        if self._server is not None:
            self._socket.close()
            # Closing the socket ends the server, but not during a pause.
            if not self.paused:
                self._server.wait(END_PATIENCE)
        stop_all(self._processes, (END_PATIENCE, END_PATIENCE))
        self._processes.clear()

    def _start(self, words: list[str]) -> None:
        for attempt in range(_ATTEMPTS):
            self._variables["GAZEBO_MASTER_URI"] = self._chosen or f"http://127.0.0.1:{free_port()}"
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._variables["DIFFBOT_SOCKET"] = str(theirs.fileno())
            with theirs:
                program = self._installation.program("gzserver")
                self._server = self._run(program, words, (theirs.fileno(),))
            try:
                self._receive(START_PATIENCE)
                return
            except GazeboError:
                taken = _PORT_TAKEN in self._log.read_text(errors="replace")
                if self._chosen or not taken or attempt == _ATTEMPTS - 1:
                    raise
                self._socket.close()
                stop_all([self._server])
                self._log.write_text("")

    def _start_display(self) -> str:
        program = shutil.which("Xvfb")
        if program is None:
            raise GazeboError(
                "the camera needs a display, and DISPLAY is not set: sudo apt install xvfb, which "
                "is then used, or leave the camera out"
            )
        ours, theirs = os.pipe()
        with open(ours) as answer:
            words = ["-displayfd", str(theirs), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
            self._run(program, words, (theirs,), variables={})
            os.close(theirs)
            number = answer.readline().strip()
        if not number:
            raise GazeboError(
                "Xvfb, the display for the camera, did not start: set DISPLAY to another; its last "
                f"output:\n{self._tail()}"
            )
        return f":{number}"

    def _run(
        self,
        program: str,
        words: list[str],
        inherited: tuple[int, ...] = (),
        variables: dict[str, str | None] | None = None,
    ) -> ChildProcess:
        process = ChildProcess(
            Path(program).name,
            [program, *words],
            self._variables if variables is None else variables,
            self._log,
            inherited,
            signal.SIGKILL,
        )
        self._processes.append(process)
        return process

    def _receive(self, patience: float, passes: int = 1, count: int = 1) -> list[Answer]:
        end = time.monotonic() + patience
        waiting = True
        answers: list[Answer] = []
        while len(answers) < count:
            if waiting and self.paused:
                # The server's loop has stopped before it has read the request.
                self._control_world("--multi-step", passes)
                waiting = False
            left = end - time.monotonic()
            if not select.select([self._socket], [], [], max(left, 0.0))[0]:
                raise GazeboError(self._silence(patience))
            answer = self._read()
            if not answer.notice:
                answers.append(answer)
        return answers

    def _read(self) -> Answer:
        try:
            data = self._socket.recv(2 * ANSWER_SIZE)
        except OSError:
            data = b""
        if not data:
            raise GazeboError(self._ending())
        answer = Answer.unpack(data)
        self.paused = answer.paused
        return answer

    def _control_world(self, option: str, value: int) -> None:
        words = ["world", "--world-name", WORLD, option, str(value)]
        command = [self._installation.program("gz"), *words]
        process = ChildProcess("gz", command, self._variables, self._log)
        if process.wait(ANSWER_PATIENCE) is None:
            stop_all([process])

    def _silence(self, patience: float) -> str:
        return f"Gazebo has not answered for {patience:g} s; its last output:\n{self._tail()}"

    def _ending(self) -> str:
        status = None if self._server is None else self._server.wait(END_PATIENCE)
        how = f"killed by signal {-status}" if status and status < 0 else f"status {status}"
        advice = ""
        if self._chosen and _PORT_TAKEN in self._log.read_text(errors="replace"):
            advice = (
                f" because the port of GAZEBO_MASTER_URI = {self._chosen} is taken: unset it, and "
                "each run takes a free one"
            )
        return f"gzserver has ended ({how}){advice}; its last output:\n{self._tail()}"

    def _tail(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        words = [line for line in lines if line.strip() and not any(x in line for x in _NOISE)]
        return "\n".join(words)[-1500:]


def _variables(installation: Installation, plugin: Path, world: Path) -> dict[str, str | None]:
    variables: dict[str, str | None] = {**installation.variables(world.parent)}
    for name, folder in (("MODEL", world.parent), ("PLUGIN", plugin.parent)):
        path = f"GAZEBO_{name}_PATH"
        variables[path] = f"{folder}{os.pathsep}{variables[path]}"
    # Gazebo's Ignition transport discovers others by multicast; isolate each run.
    variables["IGN_PARTITION"] = f"diffbot_{uuid4().hex}"
    return variables


def _newest(folder: Path) -> float:
    return max((file.stat().st_mtime for file in folder.glob("*")), default=0.0)


def free_port() -> int:
    """Return a TCP port of this machine that is free at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
