# SPDX-License-Identifier: Apache-2.0
"""Several nodes in one process: how they begin, work together and end."""

import signal
import sys
import threading
import time
from dataclasses import make_dataclass

import pytest

rclpy = pytest.importorskip("rclpy")

from effort_graph import QUIET, TORQUE, SteadyNode  # noqa: E402
from outsider import Outsider  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray, Int32  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from diffbot_node import Node, declare, launch_supervision, parameter, to_stamp  # noqa: E402
from diffbot_node.executables import composed  # noqa: E402
from diffbot_node.launch_supervision import FAILED_HERE, VARIABLE, last_words  # noqa: E402
from diffbot_node.node_process import ENDING_SIGNALS, SLICE, run_composed  # noqa: E402


@pytest.fixture(autouse=True)
def own(domain, monkeypatch):
    """A process of its own, as far as one can see; pytest's signal handlers come back."""
    monkeypatch.setattr(launch_supervision, "_words", [])
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    FAILED_HERE.clear()
    yield
    FAILED_HERE.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


class Part(Node):
    """Logs its creation, the numbers that it receives, and its end."""

    log: list = []

    def __init__(self, name, commands=False):
        super().__init__(name)
        self.exit_code, self.leaves_first = None, commands
        self.log.append(f"{name} begins")
        self.publisher = self.create_publisher(Int32, "numbers", 10)
        self.create_subscription(Int32, "numbers", self.on_number, 10)

    def on_number(self, message):
        self.log.append(f"{self.get_name()} {message.data}")

    def after(self, what, delay=0.01):
        self.create_timer(delay, what)

    def close(self):
        self.log.append(f"{self.get_name()} ends")


@pytest.fixture
def log(monkeypatch):
    monkeypatch.setattr(Part, "log", [])
    return Part.log


class Commander(Part):
    """Publishes a last number when it ends."""

    def __init__(self):
        super().__init__("commander", commands=True)

    def close(self):
        super().close()
        self.publisher.publish(Int32(data=0))


class Ending(Part):
    """Ends with a status."""

    def __init__(self, status, name="ending"):
        super().__init__(name)
        self.after(lambda: setattr(self, "exit_code", status))


def run(*create, args=()):
    return run_composed(create, ["--ros-args", *args] if args else [])


def test_nodes_begin_in_the_given_order_and_commanders_leave_first(log):
    def last():
        node = Part("last")
        node.after(lambda: signal.raise_signal(signal.SIGINT))
        return node

    assert run(lambda: Part("report"), Commander, last) == 0
    begun = ["report begins", "commander begins", "last begins"]
    ended = ["commander ends", "report 0", "commander 0", "last 0", "report ends", "last ends"]
    assert log == begun + ended
    assert Node.room is None and not rclpy.ok()


def test_last_words_arrive_however_long_their_receivers_take(log):
    class Slow(Part):
        def on_number(self, message):
            time.sleep(2 * SLICE)
            super().on_number(message)

    class Talkative(Commander):
        def close(self):
            super().close()
            self.publisher.publish(Int32(data=1))

    assert run(lambda: Slow("report"), Talkative, lambda: Ending(3)) == 3
    assert log.index("report 0") < log.index("report 1") < log.index("report ends")


@pytest.mark.parametrize("number", ENDING_SIGNALS)
def test_a_signal_ends_all_and_in_a_launch_the_status_tells_of_it(log, number, monkeypatch):
    def one():
        node = Part("one")
        node.after(lambda: signal.raise_signal(number))
        return node

    assert run(one, Commander) == 0
    assert log[-4:] == ["commander ends", "one 0", "commander 0", "one ends"]
    monkeypatch.setenv(VARIABLE, "/nowhere")
    assert run(one, Commander) == 128 + number
    assert log.count("commander ends") == 2 and not FAILED_HERE


def test_a_signal_while_nodes_are_created_closes_those_that_are_there(log):
    assert run(Commander, lambda: signal.raise_signal(signal.SIGTERM), lambda: Part("late")) == 0
    assert log == ["commander begins", "commander ends", "commander 0"]


def test_the_process_ends_when_all_have_ended(log):
    ends = []

    class Waiting(Part):
        """Ends when it hears of the other's end."""

        def on_number(self, message):
            ends.append(message.data)
            self.exit_code = 0

    class Last(Ending):
        def close(self):
            super().close()
            self.publisher.publish(Int32(data=5))

    assert run(lambda: Last(0), lambda: Waiting("waiting")) == 0
    assert ends == [5] and log[-2:] == ["ending 5", "waiting ends"]


def test_when_one_fails_the_others_end_and_its_status_counts(log):
    assert run(Commander, lambda: Ending(3)) == 3
    assert log[-2:] == ["commander ends", "commander 0"]
    assert FAILED_HERE == ["ending (exit code 3): no reason given"]


def test_of_two_failures_the_first_counts(log):
    class AlsoFailing(Commander):
        def close(self):
            self.exit_code = 4

    assert run(AlsoFailing, lambda: Ending(3)) == 3
    assert [each.split(":")[0] for each in FAILED_HERE] == [
        "ending (exit code 3)",
        "commander (exit code 4)",
    ]


def test_a_node_that_finds_in_its_end_that_something_went_wrong_fails(log):
    class Report(Part):
        def close(self):
            self.exit_code = 2

    def ends_all():
        node = Part("one")
        node.after(lambda: signal.raise_signal(signal.SIGTERM))
        return node

    assert run(lambda: Report("report"), ends_all) == 2
    assert FAILED_HERE == ["report (exit code 2): no reason given"]


class Failing(Part):
    """Raises an error where it is told to."""

    def __init__(self, where, name="failing"):
        super().__init__(name)
        self.where = where
        if where == "constructor":
            raise ValueError("parameter 'gain' = 0: must be > 0")
        if where != "message":
            self.after(self.turn)

    def turn(self):
        if self.where == "callback":
            raise RuntimeError("in a callback")
        self.exit_code = 0

    def on_number(self, message):
        super().on_number(message)
        if self.where == "message":
            raise RuntimeError("in a message's callback")

    def close(self):
        super().close()
        if self.where == "close":
            raise RuntimeError("in its end")


def sends(number):
    node = Part("sender")
    node.after(lambda: node.publisher.publish(Int32(data=number)))
    return node


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("constructor", "parameter 'gain' = 0: must be > 0"),
        ("callback", "RuntimeError: in a callback"),
        ("message", "RuntimeError: in a message's callback"),
        ("close", "RuntimeError: in its end"),
    ],
)
def test_an_error_of_one_ends_all_in_their_order(log, where, why, capfd):
    create = [lambda: Part("report"), Commander, lambda: Failing(where)]
    if where == "message":
        create.append(lambda: sends(6))
    assert run(*create) == 1
    assert log.index("commander ends") < log.index("report 0") < log.index("report ends")
    assert last_words() == why and FAILED_HERE and why in FAILED_HERE[0]
    errors = capfd.readouterr().err
    assert why in errors and "Traceback" not in errors


def test_a_node_that_could_not_be_made_receives_nothing(log):
    """Of a half-made node a callback would fail, and hide the reason."""

    class HalfMade(Failing):
        def on_number(self, message):
            raise AttributeError("half-made")

    assert run(lambda: Part("report"), Commander, lambda: HalfMade("constructor")) == 1
    assert log[-4:] == ["commander ends", "report 0", "commander 0", "report ends"]
    assert len(FAILED_HERE) == 1 and "gain" in FAILED_HERE[0]


def test_those_after_one_that_could_not_be_made_are_not_made(log):
    assert run(lambda: Failing("constructor"), lambda: Part("late")) == 1
    assert "late begins" not in log


def declared(name, *names):
    """A node with parameters of these names."""
    fields = [(each, float, parameter(1.0, "a number")) for each in names]
    kind = make_dataclass("Parameters", fields, frozen=True)

    class Declaring(Ending):
        def __init__(self):
            super().__init__(0, name)
            self.values = declare(self, kind)

    return Declaring


def test_a_parameter_of_any_of_the_nodes_is_no_misspelling(log, capfd):
    """`duration` is near `durations`, but the other node knows it."""
    nodes = declared("one", "durations"), declared("two", "duration")
    assert run(*nodes, args=("-p", "duration:=2.0")) == 0
    assert "duration" not in capfd.readouterr().err


def test_a_misspelt_parameter_is_refused_by_name(log, capfd):
    nodes = declared("one", "gain"), declared("two", "duration")
    assert run(*nodes, args=("-p", "duratoin:=2.0")) == 1
    why = "parameter 'duratoin' = 2.0: two has no parameter of this name; did you mean 'duration'?"
    assert last_words() == why and why in capfd.readouterr().err
    assert "one ends" in log and "two ends" in log


def test_a_name_near_one_that_is_given_too_is_no_misspelling_of_it(log, capfd):
    assert run(declared("one", "gain"), args=("-p", "gain:=2.0", "-p", "gains:=3.0")) == 0
    assert "parameter 'gains' is not one of this node's" in capfd.readouterr().err


class Source(Node):
    """States of a robot at rest, as fast as they are answered, as a simulator's."""

    def __init__(self):
        super().__init__("source")
        self.exit_code, self.stamp, self.torque, self.answered = None, 100.0, (), False
        self.states = self.create_publisher(JointState, "joint_states", 10)
        self.create_subscription(Float64MultiArray, "effort_controller/commands", self.take, 10)
        self.room.when_idle(self.go_on)
        self.create_timer(0.05, self.again)

    def take(self, message):
        self.torque, self.answered = tuple(message.data), True

    def go_on(self):
        if not self.answered:
            return False
        self.answered = False
        self.stamp += 0.01
        self.say()
        return True

    def again(self):
        if not self.answered:
            self.say()

    def say(self):
        message = JointState(name=["left_wheel_joint", "right_wheel_joint"])
        message.header.stamp = to_stamp(self.stamp)
        message.position = message.velocity = message.effort = [0.0, 0.0]
        self.states.publish(message)

    def close(self):
        pass


@pytest.mark.wall_time
def test_a_simulation_at_full_speed_obeys_the_outside_within_a_tenth_of_a_second(log):
    """emergency_stop, and ~/enable with false and true, of another process."""
    nodes, delays, speeds, problems = {}, {}, [], []

    def create(kind):
        def make():
            nodes[kind] = kind()
            return nodes[kind]

        return make

    def wait(condition, what=None, limit=20.0):
        begun = time.monotonic()
        while not condition():
            if time.monotonic() - begun > limit:
                raise TimeoutError(what)
            time.sleep(0.002)
        if what:
            delays[what] = time.monotonic() - begun

    def attack():
        outsider = Outsider()
        try:
            wait(lambda: Source in nodes)
            source = nodes[Source]
            stop = outsider.node.create_publisher(Bool, "emergency_stop", 10)
            enable = outsider.node.create_client(SetBool, "steady/enable")
            outsider.until(stop.get_subscription_count)
            outsider.until(enable.service_is_ready)
            wait(lambda: source.torque == TORQUE)
            before = source.stamp
            time.sleep(0.2)
            speeds.append((source.stamp - before) / 0.2)
            stop.publish(Bool(data=True))
            wait(lambda: source.torque == (0.0, 0.0), "emergency stop")
            stop.publish(Bool(data=False))
            # Enabling is refused until the release has arrived.
            on = SetBool.Request(data=True)
            wait(lambda: outsider.call(SetBool, "steady/enable", on).success)
            wait(lambda: source.torque == TORQUE)
            enable.call_async(SetBool.Request(data=False))
            wait(lambda: source.torque == (0.0, 0.0), "disable")
            enable.call_async(SetBool.Request(data=True))
            wait(lambda: source.torque != (0.0, 0.0), "enable")
        except BaseException as error:
            problems.append(error)
        finally:
            nodes[Source].exit_code = nodes[SteadyNode].exit_code = 0
            outsider.close()

    thread = threading.Thread(target=attack)
    thread.start()
    quiet = [word for text in QUIET for word in ("-p", text)]
    assert run(create(SteadyNode), create(Source), args=quiet) == 0
    thread.join()
    assert not problems, problems
    assert speeds[0] > 5.0  # times real time
    assert set(delays) == {"emergency stop", "disable", "enable"}
    assert max(delays.values()) < 0.1, delays


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("nobody/ident", "No module named 'nobody'"),
        ("diffbot_node/nothing", "has no attribute 'nothing'"),
        ("diffbot_node", "has no attribute ''"),
        ("diffbot_node/composed", "'diffbot_node/composed' is no node"),
    ],
)
def test_a_wrong_name_of_a_node_is_refused(word, why, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["composed", word, "--ros-args", "-p", "a:=1"])
    assert composed() == 2
    errors = capsys.readouterr().err
    assert why in errors and "give nodes as PACKAGE/EXECUTABLE" in errors


def test_a_remapping_that_cannot_be_is_one_sentence(monkeypatch, capfd):
    """Of a whole process: rclpy reads all arguments before it makes a node."""
    words = ["composed", "diffbot_ident/ident", "--ros-args", "-r", "cmd_vel:=a//b"]
    monkeypatch.setattr(sys, "argv", words)
    assert composed() == 1
    errors = capfd.readouterr().err
    assert "Couldn't parse remap rule: '-r cmd_vel:=a//b'" in errors and "Traceback" not in errors
