# SPDX-License-Identifier: Apache-2.0
"""The launch runner with any mix of processes, and signals at any time: nobody stays behind.

Hypothesis draws what each process does and when the runner gets which signal. Each example takes
about a second of wall time, as the runner's patience is part of it; so there are few.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from launched import default_signals

RUNNER = """
import os, sys
from pathlib import Path
from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_bringup.xml_launch.processes import Supervisor
resolver = Resolver(os.environ)
resolver.file(Path(sys.argv[1]), [])
grace = float(sys.argv[2]), float(sys.argv[3])
sys.exit(Supervisor(resolver.processes, "test", grace=grace).run())
"""
# Each writes its process id into the folder of its first argument.
SAY = "import os, signal, sys, time\nopen(os.path.join(sys.argv[1], str(os.getpid())), 'w')\n"
WAIT = "for _ in range(100): time.sleep(0.1)\n"
IGNORE = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
BODIES = {
    "ends": "",
    "ends late": "time.sleep(0.1)\n",
    "fails": "time.sleep(0.05); sys.exit(3)\n",
    "is killed": "time.sleep(0.05); os.kill(os.getpid(), signal.SIGKILL)\n",
    "waits": WAIT,
    "ignores SIGINT": IGNORE + WAIT,
    "ignores all": IGNORE + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAIT,
    "has a child": "child = os.fork()\nif not child:\n    "
    + IGNORE.strip()
    + "\n    open(os.path.join(sys.argv[1], str(os.getpid())), 'w')\n    time.sleep(10)\n",
}
BADLY = ("fails", "is killed")
ENDLESS = ("waits", "ignores SIGINT", "ignores all")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
QUICK = (Phase.reuse, Phase.generate)


def alive(pid):
    """Whether a process runs; one that waits to be collected has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def graces(processes):
    """Patience of the runner, s: short only where it has to come to an end."""
    first = 0.4 if any(kind.startswith("ignores") for kind in processes) else 20.0
    return str(first), "0.4" if "ignores all" in processes else "20.0"


def statuses(processes, required, sent):
    """Exit statuses that the runner may have."""
    failed = any(kind in BADLY for kind in processes)
    # One that has to be killed has failed; early enough, it does not ignore anything yet.
    stubborn = "ignores all" in processes
    if sent is None:
        return {1} if failed else {0, 1} if stubborn else {0}
    results = {128 + sent}
    if failed or stubborn:
        results.add(1)
    # Where nothing lasts, or one ends the others, all may be over before the signal comes.
    if not failed and (required or not any(kind in ENDLESS for kind in processes)):
        results.add(0)
    return results


@settings(
    max_examples=5,
    phases=QUICK,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.sampled_from(tuple(BODIES)), min_size=1, max_size=4),
    st.one_of(st.none(), st.sampled_from(SIGNALS)),
    st.floats(0.0, 0.6),  # s after the start
    st.booleans(),
)
def test_all_processes_are_gone_and_the_status_is_right(prefix, processes, sent, when, required):
    if sent is None and any(kind in ENDLESS for kind in processes):
        required, processes = True, [*processes, "ends late"]
    pids = Path(tempfile.mkdtemp(dir=prefix.files))
    lines = []
    for kind in processes:
        name = kind.replace(" ", "_")
        prefix.executable(name, SAY + BODIES[kind])
        end = ' on_exit="shutdown"' if required and kind == "ends late" else ""
        lines.append(f'<node pkg="robots" exec="{name}" args="{pids}" output="screen"{end}/>')
    runner = subprocess.Popen(
        [
            *(sys.executable, "-c", RUNNER, str(prefix.launch_file("\n".join(lines)))),
            *graces(processes),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,
    )
    try:
        if sent is not None:
            begun(pids)
            time.sleep(when)
            runner.send_signal(sent)
        _, reported = runner.communicate(timeout=60)
    finally:
        runner.kill()
        runner.wait()
    left = [path.name for path in pids.iterdir() if alive(path.name)]
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    assert not left, reported
    # As the shell shows it: after its last process has ended, a signal ends the runner, too.
    status = runner.returncode if runner.returncode >= 0 else 128 - runner.returncode
    assert status in statuses(processes, required, sent), reported


def begun(pids):
    """Wait until the first process is there: before, Python is still loading."""
    deadline = time.monotonic() + 20.0
    while not any(pids.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
