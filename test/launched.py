# SPDX-License-Identifier: Apache-2.0
"""Launches as a user starts them, and who watches them; for the tests of whole graphs."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

# Far beyond what a run takes: a hang ends the test, a busy machine does not.
PATIENCE = 300.0


def wait_for(condition):
    """Wait until something that takes a moment has happened."""
    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline, "not within 10 s"
        time.sleep(0.01)


def default_signals():
    """For a child before its program: tests may run under nohup, which the runner would obey."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def summary(results):
    """The report's summary.json in a folder."""
    return json.loads((results / "summary.json").read_text(encoding="utf-8"))


def work_of_children():
    """Processor time of the ended processes that this one started, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ended_after(act, process):
    """(output, processor time, s) of a process from what `act` does to it up to its end.

    Processor time, unlike wall time, is hardly longer on a busy machine.
    """
    before = work_of_children()
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        ticks = file.read().rpartition(")")[2].split()[11:15]
    before += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    act()
    output, _ = process.communicate(timeout=PATIENCE)
    return output, work_of_children() - before


def start(name, results, *arguments, pictures=False):
    """The launch, in a session of its own, as a terminal would start it.

    Pictures cost a third of a short run's processor time; without them its report is the page.
    """
    shown = () if pictures else ("report:=html",)
    return subprocess.Popen(
        [sys.executable, "-m", "diffbot_bringup.cli", "launch", name]
        + [f"results:={results}", *shown, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=default_signals,
        # A process that hangs then shows where, see `run`.
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
    )


def config(folder, **nodes):
    """The argument `config` with a file of parameters, by node."""
    path = folder / "own parameters.yaml"
    content = {f"/**/{node}": {"ros__parameters": values} for node, values in nodes.items()}
    path.write_text(json.dumps(content), encoding="utf-8")  # which is YAML, too
    return f"config:={path}"


def run(name, results, *arguments, pictures=False):
    """Run the launch to its end; returns (exit status, output)."""
    process = start(name, results, *arguments, pictures=pictures)
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        output = where_it_hangs(process)
        raise AssertionError(f"{name} did not end within {PATIENCE:g} s: {output}") from None
    return process.returncode, output


def where_it_hangs(launch):
    """End a launch; returns its output, with the stacks of the processes that still ran."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The parent stands two words after the name, which is in parentheses.
            if int(entry.read_text().rpartition(")")[2].split()[1]) == launch.pid:
                os.kill(int(entry.parent.name), signal.SIGABRT)
    try:
        return launch.communicate(timeout=15.0)[0]
    except subprocess.TimeoutExpired:
        os.killpg(launch.pid, signal.SIGABRT)
        return launch.communicate()[0]


def processes_of(domain):
    """Command lines of the processes that still run in the test's domain."""
    return [command for _, command in processes_by_number(domain)]


def is_killed(number):
    """Whether the kernel is about to end a process (SIGKILL): it never runs again."""
    with open(f"/proc/{number}/status", encoding="ascii", errors="replace") as file:
        pending = re.findall(r"^(?:Sig|Shd)Pnd:\s*(\w+)", file.read(), re.M)
    return any(int(mask, 16) >> (signal.SIGKILL - 1) & 1 for mask in pending)


def processes_by_number(domain):
    """(number, command line) of the processes that this test started in its domain and that run.

    Domains come again: a server that an earlier test started for many, in a domain of the same
    number, is not this test's.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]  # without the phase
    in_domain = f"ROS_DOMAIN_ID={domain}".encode()
    of_test = f"PYTEST_CURRENT_TEST={test} ".encode()
    results = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            if in_domain not in variables or is_killed(entry):
                continue
            if not any(each.startswith(of_test) for each in variables):
                continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                results.append((int(entry), file.read().replace(b"\0", b" ").decode()))
        except OSError:
            continue
    return results


class CommandRecorder:
    """Somebody else on the wire who keeps the commands: torques, or with `velocity` [v, omega]."""

    def __init__(self, velocity=False, name="recorder"):
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.commands = []
        kind, topic, callback = (
            (TwistStamped, "cmd_vel", self.on_velocity)
            if velocity
            else (Float64MultiArray, "effort_controller/commands", self.on_command)
        )
        self.node.create_subscription(kind, topic, callback, 100)

    def on_command(self, message):
        self.commands.append(tuple(message.data))

    def on_velocity(self, message):
        self.commands.append((message.twist.linear.x, message.twist.angular.z))

    def spin(self, condition, timeout=PATIENCE):
        end = time.monotonic() + timeout
        while not condition() and time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)
        return condition()

    def close(self):
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
