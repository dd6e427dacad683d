# SPDX-License-Identifier: Apache-2.0
"""A node that is interrupted while it is made: it waits for other programs, which may take long."""

import gc
import signal

import pytest

from diffbot_node import Node, node_process, run_node
from diffbot_node.launch_supervision import VARIABLE
from diffbot_node.node_process import ENDING_SIGNALS, Interrupted, interruptible


@pytest.fixture(autouse=True)
def handlers():
    """The signal handlers of pytest come back."""
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupt(number=signal.SIGINT):
    # To this thread; os.kill may take another one, and Python's handler then comes later.
    signal.raise_signal(number)


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_ends_the_making_at_once_and_lets_it_clean_up(number):
    done = []

    def create():
        try:
            interrupt(number)
            done.append("went on")
        finally:
            interrupt(number)  # impatient people press Ctrl-C twice
            done.append("cleaned up")

    assert run_node(create, args=[], interrupted=7) == 7
    assert done == ["cleaned up"]


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_in_a_launch_the_status_tells_of_the_signal(number, monkeypatch):
    """The launch knows whether it has sent one: if not, the run has not reached its end."""
    monkeypatch.setenv(VARIABLE, "/nowhere")
    assert run_node(lambda: interrupt(number), args=[]) == 128 + number


@pytest.mark.parametrize(("result", "status"), [(0, 143), (1, 1), (None, 143)])
def test_a_node_that_ends_well_after_a_signal_has_not_reached_its_end(monkeypatch, result, status):
    monkeypatch.setenv(VARIABLE, "/nowhere")

    class Interrupted(Node):
        exit_code = None

        def __init__(self):
            super().__init__("interrupted")
            self.create_timer(0.01, lambda: interrupt(signal.SIGTERM))

        def close(self):
            self.exit_code = result

    assert run_node(Interrupted, args=[]) == status


def test_a_library_that_makes_an_error_of_the_interruption_is_not_blamed(capfd):
    def create():
        try:
            interrupt()
        except:  # noqa: E722  (as xacro does)
            raise KeyError("of the library") from None

    assert run_node(create, args=[], interrupted=7) == 7
    assert "of the library" not in capfd.readouterr().err


def test_a_signal_while_a_wrong_argument_is_reported_leaves_the_report_whole(monkeypatch):
    said = []

    class Logger:
        def fatal(self, text):
            interrupt()
            said.append(text)

    def create():
        raise ValueError("duration = 0: must be > 0")

    monkeypatch.setattr(node_process, "PrintableLogger", lambda name: Logger())
    assert run_node(create, args=[]) == 1
    assert said == ["duration = 0: must be > 0"]


def test_an_error_of_a_callback_cannot_act_on_the_terminal(capfd):
    class Failing(Node):
        exit_code = None

        def __init__(self):
            super().__init__("failing")
            self.create_timer(0.01, self.fail)

        def fail(self):
            raise RuntimeError("of a name\x1b[2J")

        def close(self):
            pass

    assert run_node(Failing, args=[]) == 1
    errors = capfd.readouterr().err
    assert r"of a name\x1b[2J" in errors and "\x1b[2J" not in errors


def test_a_program_that_does_not_start_is_reported_in_a_sentence(capfd, tmp_path, monkeypatch):
    def create():
        raise ConnectionError("gzserver has ended (status 255)")

    monkeypatch.setenv(VARIABLE, str(tmp_path / "failures"))
    assert run_node(create, args=[]) == 1
    (reported,) = tmp_path.iterdir()  # for the others of its launch
    assert reported.read_text() == "gzserver has ended (status 255)"
    errors = capfd.readouterr().err
    assert "gzserver has ended (status 255)" in errors and "Traceback" not in errors


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_ends_long_work_and_is_heeded_as_before_afterwards(number):
    noted = []
    signal.signal(number, lambda *of: noted.append(of[0]))
    with pytest.raises(Interrupted), interruptible():
        interrupt(number)
    assert noted == [number]
    interrupt(number)
    assert noted == [number, number]


@pytest.fixture
def thawed():
    """Nothing is excluded from garbage collection yet, as in a node's process."""
    gc.unfreeze()  # what the top level's conftest.py has frozen
    yield
    gc.freeze()


def test_while_a_node_runs_no_collection_looks_through_what_was_imported(thawed):
    frozen = []

    class Counting(Node):
        exit_code = None

        def __init__(self):
            super().__init__("counting")
            self.create_timer(0.01, self.count)

        def count(self):
            frozen.append(gc.get_freeze_count())
            self.exit_code = 0

        def close(self):
            pass

    before = gc.get_freeze_count()
    assert run_node(Counting, args=[]) == 0
    assert frozen[0] > before + 10_000
    assert gc.get_freeze_count() == 0
