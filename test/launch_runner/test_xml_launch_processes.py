# SPDX-License-Identifier: Apache-2.0
"""Running processes: ends, failures, signals, and that nothing is left behind."""

import fcntl
import io
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launched import default_signals, wait_for

from diffbot_bringup.xml_launch.processes import Tee
from diffbot_node.launch_supervision import VARIABLE as FAILURES

RUNNER = """
import sys
from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_bringup.xml_launch.processes import Supervisor
from pathlib import Path
import os
resolver = Resolver(os.environ)
resolver.file(Path(sys.argv[1]), [])
sys.exit(Supervisor(resolver.processes, "test", grace=(0.5, 0.5)).run())
"""
# SIGKILL does not reach anybody.
UNKILLABLE = """
from diffbot_bringup.xml_launch import guard
def harmless(group, number, send=guard.signal_group):
    return send(group, 0 if number == 9 else number)
guard.signal_group = harmless
"""
# When its run has ended, the runner stops its guard, or itself.
STOPPED_AT_THE_END = """
import atexit, os, signal
from pathlib import Path
def children():
    return map(int, Path("/proc/thread-self/children").read_text().split())
def stop():
    for pid in {pids}:
        print(pid, flush=True)
        os.kill(pid, signal.SIGSTOP)
atexit.register(stop)
"""
# Announces itself in the file named by its first argument, then waits for signals.
WAIT = """
import os, signal, sys, time
def say(text):
    with open(sys.argv[1], "a") as file:
        file.write(text + "\\n")
def stop(number, frame):
    say(signal.Signals(number).name)
    if {leave}:
        sys.exit({code})
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, stop)
{before}
say(str(os.getpid()))
for _ in range(20):  # not for ever, in case a test fails
    time.sleep(1)
"""


class Launch:
    """Starts the runner in a process of its own, as a shell would."""

    def __init__(self, prefix: Any, folder: Path) -> None:
        self.prefix = prefix
        self.folder = folder
        self.runner: subprocess.Popen[str] | None = None

    def waiter(self, name: str, leave: bool = True, code: int = 0, before: str = "") -> str:
        self.prefix.executable(name, WAIT.format(leave=leave, code=code, before=before))
        return f'<node pkg="robots" exec="{name}" args="{self.folder / name}" output="screen"/>'

    def start(
        self, text: str, before: str = "", signals: Callable[[], None] = default_signals
    ) -> subprocess.Popen[str]:
        self.runner = subprocess.Popen(
            [sys.executable, "-c", before + RUNNER, str(self.prefix.launch_file(text))],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=signals,
        )
        return self.runner

    def run(self, text: str) -> tuple[int, str, str]:
        out, err = self.start(text).communicate(timeout=15)
        return self.runner.returncode, out, err

    def said(self, name: str, lines: int = 1) -> list[str]:
        """Wait until a waiter has written so many lines, and return them."""
        path = self.folder / name
        wait_for(lambda: path.exists() and len(path.read_text().split()) >= lines)
        return path.read_text().split()

    def stop(self, number: int) -> tuple[int, float, str]:
        """Signal the runner; return exit status, seconds until the end, standard error."""
        begin = time.monotonic()
        self.runner.send_signal(number)
        _, err = self.runner.communicate(timeout=15)
        return self.runner.returncode, time.monotonic() - begin, err


def alive(pid: str) -> bool:
    """True while a process runs; one that waits to be collected by its parent has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def unread(runner: subprocess.Popen[str]) -> int:
    """Bytes of the runner's output that wait for a reader."""
    return int.from_bytes(fcntl.ioctl(runner.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)


def writes_in_vain(runner: subprocess.Popen[str]) -> bool:
    """True when the runner has filled the pipe of its output and waits."""
    before = unread(runner)
    time.sleep(0.3)
    return before == unread(runner) > fcntl.fcntl(runner.stdout, fcntl.F_GETPIPE_SZ) // 2


@pytest.fixture
def launch(prefix: Any, tmp_path: Path) -> Iterator[Launch]:
    made = Launch(prefix, tmp_path)
    yield made
    if made.runner and made.runner.poll() is None:
        made.runner.kill()
        made.runner.wait()


def node(name: str, attributes: str = 'output="screen"') -> str:
    return f'<node pkg="robots" exec="{name}" {attributes}/>'


def test_all_end_well(launch: Launch) -> None:
    launch.prefix.executable("hello", "import sys; print('hello', *sys.argv[1:])")
    code, out, err = launch.run(node("hello", 'output="screen" args="a b"') + node("hello"))
    assert (code, err) == (0, "")
    assert sorted(out.splitlines()) == ["hello --ros-args", "hello a b --ros-args"]


def test_screen_output_inherits_the_terminal(launch: Launch) -> None:
    """A live table needs the terminal itself, not a pipe to the runner."""
    body = "import os, sys; s = os.fstat(1); print(s.st_dev, s.st_ino)"
    launch.prefix.executable("where", body)
    runner = launch.start(node("where"))
    own = os.fstat(runner.stdout.fileno())
    assert runner.communicate(timeout=15)[0].split() == [str(own.st_dev), str(own.st_ino)]


def test_a_failure_is_named_and_ends_the_others(launch: Launch) -> None:
    launch.prefix.executable("bad", "import sys; sys.exit(3)")
    waiter = launch.waiter("rest")
    code, _, err = launch.run(waiter + node("bad"))
    assert code == 1
    assert "process has died [pid" in err
    assert "exit code 3" in err
    assert "[INFO] [launch]: stopping: bad-2 has failed" in err
    assert "failed: bad-2 (exit code 3)" in err


def test_the_others_are_told_why_a_process_failed(launch: Launch) -> None:
    heard = launch.folder / "rest"
    copy = (
        f"open({str(launch.folder / 'told')!r}, 'w').write(open(os.environ[{FAILURES!r}]).read())"
    )
    waiter = launch.waiter("rest", before=f"import atexit\natexit.register(lambda: {copy})")
    launch.prefix.executable(
        "bad",
        "import os, sys, time\n"
        f"while not os.path.exists({str(heard)!r}): time.sleep(0.01)\n"
        f"with open(os.environ[{FAILURES!r}] + f'.{{os.getpid()}}', 'w') as file:\n"
        "    file.write('gain = 0: must be > 0')\n"
        "sys.exit(1)",
    )
    code, _, err = launch.run(waiter + node("bad"))
    assert code == 1 and "failed: bad-2 (exit code 1)\n" in err
    reported = (launch.folder / "told").read_text()
    assert reported == "bad-2 (exit code 1): gain = 0: must be > 0\n"


def test_command_lines_are_in_the_log_and_not_on_the_terminal(launch: Launch) -> None:
    launch.prefix.executable("bad", "import sys; sys.exit(3)")
    parameter = '<param name="p" value="1.5"/>'
    _, out, err = launch.run(f'<node pkg="robots" exec="bad" output="screen">{parameter}</node>')
    assert "--ros-args" not in out + err
    (log,) = launch.folder.glob("log/*/launch.log")
    assert f"its command line is in {log}" in err
    assert log.read_text() == (
        f"[bad-1] {launch.prefix.files}/main.launch.xml:2: {launch.prefix.path}/lib/robots/bad "
        "--ros-args --params-file </**: ros__parameters: p: 1.5>\n"
    )


def test_a_crash_by_signal_is_a_failure(launch: Launch) -> None:
    launch.prefix.executable("crash", "import os; os.kill(os.getpid(), 11)")
    code, _, err = launch.run(node("crash"))
    assert code == 1
    assert "crash-1 (exit code -11)" in err


def test_the_others_go_on_without_a_hidden_node_that_dies(launch: Launch) -> None:
    launch.prefix.executable("crash", "import os; os.kill(os.getpid(), 9)")
    flag = launch.folder / "crashed"
    body = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.01)\n"
    launch.prefix.executable("main", body)
    runner = launch.start(node("crash", 'output="screen" name="_view"') + node("main"))
    line = runner.stderr.readline()
    assert "[crash-1]: has died (exit code -9); the others continue" in line
    flag.touch()
    assert runner.communicate(timeout=15)[1] == "" and runner.returncode == 0


def test_a_hidden_node_ends_once_nobody_else_is_left(launch: Launch) -> None:
    waiter = launch.waiter("view").replace("/>", ' name="_view"/>')
    flag = launch.folder / "view"
    body = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.01)\n"
    launch.prefix.executable("main", body)
    code, _, err = launch.run(waiter + node("main"))
    assert code == 0 and "stopping: the run has ended" in err
    assert launch.said("view")[1:] == ["SIGINT"]


def test_the_end_of_a_required_process_ends_the_rest(launch: Launch) -> None:
    waiter = launch.waiter("rest")
    flag = launch.folder / "rest"
    body = f"import os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.01)\n"
    launch.prefix.executable("main", body)
    code, _, err = launch.run(waiter + node("main", 'output="screen" on_exit="shutdown"'))
    assert code == 0
    assert "stopping: main-2 has ended" in err
    assert launch.said("rest")[1:] == ["SIGINT"]


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.wall_time
def test_a_stop_signal_is_forwarded_once_as_sigint(
    launch: Launch, number: int, status: int
) -> None:
    launch.start(launch.waiter("a") + launch.waiter("b"))
    pids = [launch.said(name)[0] for name in "ab"]
    code, seconds, _ = launch.stop(number)
    assert code == status
    assert seconds < 1.0
    assert [launch.said(name)[1:] for name in "ab"] == [["SIGINT"], ["SIGINT"]]
    assert not any(alive(pid) for pid in pids)


def test_under_nohup_it_outlives_the_terminal(launch: Launch) -> None:
    def nohup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    launch.start(launch.waiter("a"), signals=nohup)
    launch.said("a")
    launch.runner.send_signal(signal.SIGHUP)
    code, _, err = launch.stop(signal.SIGTERM)
    assert code == 143
    assert "SIGHUP" not in err
    assert launch.said("a")[1:] == ["SIGINT"]


def test_nodes_are_out_of_reach_of_the_terminals_own_ctrl_c(launch: Launch) -> None:
    launch.start(launch.waiter("a"))
    pid = int(launch.said("a")[0])
    assert os.getsid(pid) == pid
    assert launch.stop(signal.SIGINT)[0] == 130


def test_a_second_ctrl_c_changes_nothing(launch: Launch) -> None:
    launch.start(launch.waiter("a", before="time.sleep(0)", leave=False))
    launch.said("a")
    launch.runner.send_signal(signal.SIGINT)
    launch.said("a", 2)
    code, _, err = launch.stop(signal.SIGINT)
    assert launch.said("a")[1:] == ["SIGINT", "SIGTERM"]
    assert "SIGINT again: already stopping" in err
    assert code == 1


@pytest.mark.wall_time
def test_a_process_that_ignores_everything_is_killed_and_named(launch: Launch) -> None:
    launch.start(launch.waiter("deaf", leave=False))
    pid = launch.said("deaf")[0]
    code, seconds, err = launch.stop(signal.SIGINT)
    assert (code, alive(pid)) == (1, False)
    assert 0.9 < seconds < 2.5  # 0.5 s after SIGINT and 0.5 s after SIGTERM
    assert launch.said("deaf")[1:] == ["SIGINT", "SIGTERM"]
    assert "still running: deaf-1; sending SIGKILL" in err
    assert "failed: deaf-1 (exit code -9)" in err


def test_a_failure_while_stopping_is_a_failure(launch: Launch) -> None:
    launch.start(launch.waiter("a", code=7))
    launch.said("a")
    code, _, err = launch.stop(signal.SIGINT)
    assert code == 1
    assert "a-1 (exit code 7)" in err


def test_nodes_of_the_suite_have_temporary_files_that_go_with_the_launch(
    launch: Launch, tmp_path: Path
) -> None:
    """And those of others where they had them."""
    body = "import os, tempfile; print(tempfile.mkdtemp(), flush=True)"
    launch.prefix.executable("own", body, package="diffbot_sim")
    launch.prefix.executable("foreign", body)
    own = '<node pkg="diffbot_sim" exec="own" output="screen"/>'
    code, out, err = launch.run(own + node("foreign"))
    assert code == 0, err
    places = [Path(line) for line in out.split()]
    (ours,) = [path for path in places if path.parent.name.startswith("diffbot-launch-")]
    (theirs,) = [path for path in places if path != ours]
    assert not ours.parent.exists() and theirs.exists()
    theirs.rmdir()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
def test_a_killed_runner_leaves_none(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    before = signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # jobs of a script inherit SIG_IGN
    launch.start(launch.waiter("a") + launch.waiter("b"))
    signal.signal(signal.SIGQUIT, before)
    pids = [launch.said(name)[0] for name in "ab"]
    assert any((tmp_path / "temporary").glob("diffbot-launch-*"))
    launch.runner.send_signal(number)
    wait_for(lambda: not any(alive(pid) for pid in pids))
    wait_for(lambda: not any((tmp_path / "temporary").iterdir()))
    # SIGINT first: a node that commands torque can still command zero.
    assert [launch.said(name)[1:] for name in "ab"] == [["SIGINT"], ["SIGINT"]]


def guard_of(runner: subprocess.Popen[str]) -> int:
    """Number of the launch's guard: the runner's child with the same program."""
    command = Path(f"/proc/{runner.pid}/cmdline").read_bytes()
    children = Path(f"/proc/{runner.pid}/task/{runner.pid}/children").read_text().split()
    same = [pid for pid in children if Path(f"/proc/{pid}/cmdline").read_bytes() == command]
    (guard,) = map(int, same)
    return guard


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU])
@pytest.mark.wall_time
def test_a_runner_that_is_stopped_ends_its_run_at_once(launch: Launch, number: int) -> None:
    """A stopped runner could not stop the robot: neither Ctrl-C nor SIGTERM would reach it."""
    runner = launch.start(launch.waiter("a") + launch.waiter("b"))
    pids = [launch.said(name)[0] for name in "ab"]
    begin = time.monotonic()
    runner.send_signal(number)
    assert [launch.said(name, 2)[1] for name in "ab"] == ["SIGINT", "SIGINT"]
    assert time.monotonic() - begin < 0.2
    _, err = runner.communicate(timeout=15)
    # After SIGSTOP, of which no process hears, the guard continues it with SIGTSTP.
    expected = signal.SIGTSTP if number == signal.SIGSTOP else number
    assert runner.returncode == 128 + expected
    assert "stopping: the launch was stopped" in err
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ending_signal_ends_the_run_whatever_is_stopped(launch: Launch, number: int) -> None:
    """The runner, its guard and a process, all at once; the process first hears SIGINT."""
    runner = launch.start(launch.waiter("a") + launch.waiter("b"))
    pids = [int(launch.said(name)[0]) for name in "ab"]
    for pid in (*pids, guard_of(runner), runner.pid):
        os.kill(pid, signal.SIGSTOP)
    os.kill(guard_of(runner), signal.SIGCONT)
    code, _, err = launch.stop(number)
    assert code in (1, 128 + number, 128 + signal.SIGTSTP), err
    assert not any(alive(str(pid)) for pid in pids)
    assert [launch.said(name, 2)[1] for name in "ab"] == ["SIGINT", "SIGINT"]


@pytest.mark.parametrize(
    ("number", "why"), [(signal.SIGSTOP, "was stopped"), (signal.SIGKILL, "has been killed")]
)
@pytest.mark.wall_time
def test_without_its_guard_a_run_ends(launch: Launch, number: int, why: str) -> None:
    runner = launch.start(launch.waiter("a"))
    launch.said("a")
    begin = time.monotonic()
    os.kill(guard_of(runner), number)
    assert launch.said("a", 2)[1:] == ["SIGINT"]
    assert time.monotonic() - begin < 0.2
    assert runner.wait(timeout=15) == 1
    assert f"failed: the launch's guard {why}" in runner.communicate()[1]


def test_a_killed_guard_is_replaced_until_the_run_has_ended(launch: Launch) -> None:
    """So a runner that is stopped afterwards does not stay."""
    runner = launch.start(launch.waiter("deaf", leave=False))
    pid, guard = launch.said("deaf")[0], guard_of(runner)
    os.kill(guard, signal.SIGKILL)
    launch.said("deaf", 2)
    wait_for(lambda: guard_of(runner) != guard)
    runner.send_signal(signal.SIGSTOP)
    assert runner.wait(timeout=15) == 1
    assert not alive(pid)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
@pytest.mark.parametrize("part", [0, 1])
def test_nothing_stays_if_the_runner_is_killed_and_a_part_of_its_guard_is_stopped(
    launch: Launch, part: int, number: int
) -> None:
    """Or killed: the guard, or the process that helps it to end a node, which hears no signal."""
    hurry = "from diffbot_bringup.xml_launch import guard; guard.GRACE = (0.5, 0.5)"
    runner = launch.start(launch.waiter("deaf", leave=False), before=hurry)
    pid, guard = launch.said("deaf")[0], guard_of(runner)
    runner.kill()
    children = Path(f"/proc/{guard}/task/{guard}/children")
    wait_for(children.read_text)
    pair = str(guard), children.read_text().strip()
    os.kill(int(pair[part]), number)
    wait_for(lambda: not any(map(alive, (pid, *pair))))
    # The remaining one begins anew.
    assert launch.said("deaf", 3)[1] == "SIGINT" and launch.said("deaf", 3)[-1] == "SIGTERM"
    runner.communicate()


@pytest.mark.parametrize("pids", ["[os.getpid()]", "children()"])
def test_nothing_stays_if_runner_or_guard_is_stopped_after_the_run(
    launch: Launch, pids: str
) -> None:
    launch.start(launch.waiter("a"), before=STOPPED_AT_THE_END.format(pids=pids))
    launch.said("a")
    launch.runner.send_signal(signal.SIGINT)
    out, _ = launch.runner.communicate(timeout=15)
    assert launch.runner.returncode == 130
    (stopped,) = (line for line in out.splitlines() if line.isdigit())
    wait_for(lambda: not alive(stopped))


@pytest.mark.wall_time
def test_a_stopped_process_ends_the_run_of_a_real_robot(launch: Launch) -> None:
    runner = launch.start(launch.waiter("a") + launch.waiter("b"))
    pid, _ = (int(launch.said(name)[0]) for name in "ab")
    begin = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    assert [launch.said(name, 2)[1] for name in "ab"] == ["SIGINT", "SIGINT"]
    assert time.monotonic() - begin < 0.2
    assert runner.wait(timeout=15) == 1
    assert "failed: a-1 (stopped by SIGSTOP)" in runner.communicate()[1]


@pytest.mark.wall_time
def test_a_stopped_simulation_in_one_process_is_waited_for_until_the_run_is_ended(
    launch: Launch,
) -> None:
    launch.start(launch.waiter("composed"))
    os.kill(int(launch.said("composed")[0]), signal.SIGSTOP)
    time.sleep(0.3)
    assert launch.runner.poll() is None
    code, seconds, _ = launch.stop(signal.SIGINT)
    assert code == 130 and seconds < 0.4  # before SIGTERM would come, after 0.5 s
    assert launch.said("composed")[1:] == ["SIGINT"]


@pytest.mark.wall_time
def test_children_of_a_process_do_not_stay(launch: Launch) -> None:
    """Also one that ignores SIGINT, as the background jobs of a shell do."""
    path = launch.folder / "child"
    body = f"""import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    open({str(path)!r}, 'w').write(str(os.getpid()))
    time.sleep(20)
while not os.path.exists({str(path)!r}):
    time.sleep(0.01)
time.sleep(0.1)
"""
    launch.prefix.executable("parent", body)
    begin = time.monotonic()
    code, _, _ = launch.run(node("parent"))
    assert code == 0
    assert time.monotonic() - begin < 4.0
    assert not alive(path.read_text())


def test_log_goes_to_a_file_and_its_end_is_shown_on_failure(launch: Launch, tmp_path: Path) -> None:
    body = (
        "import sys\nfor i in range(30): print('line', i)\n"
        "sys.stdout.flush(); print('oops', file=sys.stderr); sys.exit(1)\n"
    )
    launch.prefix.executable("chatty", body)
    code, out, err = launch.run(node("chatty", ""))
    assert (code, out) == (1, "")
    (log,) = (tmp_path / "log").glob("*-test-*/chatty-1.log")
    assert len(log.read_text().splitlines()) == 31
    assert "[chatty-1] oops\n" in err
    assert f"last lines of {log}:" in err
    assert "    line 29\n" in err
    assert "    line 5\n" not in err


def test_both_goes_to_the_terminal_and_the_file(launch: Launch, tmp_path: Path) -> None:
    body = "import sys; print('a\\nb'); print('end', end=''); print('e', file=sys.stderr)"
    launch.prefix.executable("chatty", body)
    code, out, err = launch.run(node("chatty", 'output="both"'))
    assert (code, out, err) == (0, "[chatty-1] a\n[chatty-1] b\n[chatty-1] end\n", "[chatty-1] e\n")
    (log,) = (tmp_path / "log").glob("*-test-*/chatty-1.log")
    assert sorted(log.read_text().replace("e\n", "", 1).split()) in (
        ["a", "b", "end"],
        ["a", "b", "ende"],
    )


def test_a_program_that_cannot_start_stops_the_rest(launch: Launch) -> None:
    program = launch.prefix.executable("gone")
    program.write_text("#!/no/such/interpreter\n")
    code, _, err = launch.run(launch.waiter("a") + node("gone"))
    assert code == 1
    assert f"main.launch.xml:2: cannot start {program}" in err


def test_parameters_directory_and_environment_arrive(launch: Launch, tmp_path: Path) -> None:
    body = (
        "import os, sys\n"
        "print(open(sys.argv[sys.argv.index('--params-file') + 1]).read())\n"
        "print(os.getcwd(), os.environ['E'])\n"
    )
    launch.prefix.executable("reader", body)
    text = (
        '<set_env name="E" value="env"/>'
        f'<node pkg="robots" exec="reader" cwd="{tmp_path}" output="screen">'
        '<param name="p" value="1.5"/></node>'
    )
    code, out, _ = launch.run(text)
    assert code == 0
    assert out == f"/**:\n  ros__parameters:\n    p: 1.5\n\n{tmp_path} env\n"


def test_no_processes(launch: Launch) -> None:
    assert launch.run("<let name='a' value='b'/>") == (0, "", "")


@pytest.mark.wall_time
def test_output_that_nobody_reads_does_not_delay_a_stop(launch: Launch) -> None:
    """As behind a terminal that Ctrl-S has stopped: the runner itself waits for its reader."""
    chatty = "sys.stdout.write('x' * 79 + '\\n')" + "\nfor _ in range(20000): print('y' * 79)"
    waiter = launch.waiter("a")
    launch.prefix.executable("chatty", f"import sys, time\n{chatty}\ntime.sleep(20)\n")
    runner = launch.start(waiter + node("chatty", 'output="both"'))
    launch.said("a")
    wait_for(lambda: writes_in_vain(runner))
    begin = time.monotonic()
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(timeout=15) == 143
    assert time.monotonic() - begin < 3.0
    assert launch.said("a")[1:] == ["SIGINT"]


def test_who_writes_without_end_does_not_keep_the_runner_from_all_else() -> None:
    class Sink:
        size = 0

        def write(self, data: bytes) -> None:
            self.size += len(data)
            assert self.size < 10_000_000, "it reads on and on"

    with open("/dev/zero", "rb", 0) as source:
        tee = Tee(source, io.StringIO(), "endless", Sink())  # type: ignore[arg-type]
        assert tee.pump()
        tee.close()


@pytest.mark.wall_time
def test_who_cannot_be_killed_is_left_behind_and_named(launch: Launch) -> None:
    """Nobody can make such a process at will: here the kernel's answer is kept back."""
    runner = launch.start(launch.waiter("stuck", leave=False), before=UNKILLABLE)
    pid = launch.said("stuck")[0]
    begin = time.monotonic()
    try:
        runner.send_signal(signal.SIGINT)
        assert runner.wait(timeout=15) == 1
        seconds = time.monotonic() - begin
    finally:
        os.kill(int(pid), signal.SIGKILL)
    assert 2.9 < seconds < 6.0  # 0.5 s, 0.5 s, and 2 s after SIGKILL
    err = runner.communicate(timeout=15)[1]
    assert "still running after SIGKILL: stuck-1" in err
    assert "failed: stuck-1 (left)" in err
