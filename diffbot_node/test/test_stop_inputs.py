# SPDX-License-Identifier: Apache-2.0
"""How a commanding node is stopped for good, how it goes on, and what it tells of that."""

import math

import pytest

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from effort_graph import drive, made_graphs  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from diffbot_node.verdicts import Level, Verdict  # noqa: E402

ZERO = (0.0, 0.0)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def make_graph():
    with made_graphs() as make:
        yield make


@pytest.fixture
def graph(make_graph):
    return make_graph()


def enable(graph, on=True):
    client = graph.robot.create_client(SetBool, "steady/enable")
    graph.spin_until(client.service_is_ready, "the service")
    future = client.call_async(SetBool.Request(data=on))
    graph.spin_until(future.done, "its answer")
    graph.robot.destroy_client(client)
    return future.result()


def presser(graph, *arguments):
    topic = graph.robot.create_publisher(Bool, "emergency_stop", *(arguments or (10,)))
    graph.spin_until(lambda: topic.get_subscription_count(), "the emergency stop to be heard")
    return topic


def press(graph, topic, pressed):
    topic.publish(Bool(data=pressed))
    graph.spin_until(
        lambda: bool(graph.node.output.guard.pressed) is pressed, "the emergency stop to arrive"
    )


@pytest.mark.parametrize("qos", [10, LATCHED])
def test_the_emergency_stop_holds_zero_until_it_is_released_and_enabled(graph, qos):
    drive(graph)
    topic = presser(graph, qos)
    press(graph, topic, True)
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero, before any other state")
    topic.publish(Bool(data=True))
    assert [graph.say() for _ in range(3)] == [ZERO] * 3
    answer = enable(graph)
    assert not answer.success
    assert answer.message == "the emergency stop is pressed: release it first"
    press(graph, topic, False)
    assert graph.say() == ZERO
    assert enable(graph).success
    drive(graph)


@pytest.mark.parametrize("reason", ["an emergency stop", "no states", "a state to refuse"])
def test_a_node_that_withholds_its_commands_still_sends_zero(graph, reason):
    """What velocity_ident does to see when a driver stops by itself."""
    drive(graph)
    node, taken = graph.node, []
    answer = node.on_sample
    node.on_sample = lambda sample: taken.append(sample) or answer(sample)
    node.output.withheld = True
    sent = len(graph.commands)
    graph.go_on()
    graph.publish()
    graph.spin_until(lambda: taken, "the state to be answered")
    if reason == "an emergency stop":
        press(graph, presser(graph), True)
    elif reason == "a state to refuse":
        graph.go_on()
        graph.publish(position=[math.nan, 0.0])
    graph.spin_until(lambda: len(graph.commands) > sent, "zero")
    assert graph.commands[sent] == ZERO and not node.output.withheld


def test_a_node_that_is_interrupted_tells_why_it_stood(graph):
    drive(graph)
    assert graph.node.interruption() == "interrupted"
    press(graph, presser(graph), True)
    graph.node.close()
    said = graph.node.interruption()
    assert said.startswith("interrupted while stopped: the emergency stop is pressed")


def test_of_two_buttons_none_releases_the_other(graph):
    drive(graph)
    one, other = presser(graph), presser(graph, LATCHED)
    press(graph, one, True)
    other.publish(Bool(data=False))
    said = "the emergency stop is pressed, and 2 nodes publish /emergency_stop: stop all but one"
    graph.spin_until(lambda: graph.node.output.guard.pressed.startswith(said), "the other")
    assert "release it first" in enable(graph).message
    assert graph.node.stopped_by.startswith(said)
    graph.robot.destroy_publisher(other)
    graph.spin_until(lambda: graph.node.count_publishers("emergency_stop") == 1, "it to go")
    press(graph, one, False)
    assert enable(graph).success


def test_the_clock_cannot_be_changed(graph):
    result = graph.node.set_parameters([Parameter("use_sim_time", value=True)])[0]
    assert not result.successful and "restart the node" in result.reason
    assert not graph.node.get_clock().ros_time_is_active


def test_a_misspelt_parameter_is_refused_and_one_of_another_node_is_not(make_graph):
    refusal = r"'torque_limt' = 0.1: steady has no parameter .*'torque_limit'"
    with pytest.raises(ValueError, match=refusal):
        make_graph("torque_limt:=0.1")
    rclpy.try_shutdown()
    make_graph("encoder_counts:=5", "torque_limit:=0.1")


def test_an_emergency_stop_that_was_pressed_before_the_node_came_counts(make_graph):
    def press_early(node):
        node.create_publisher(Bool, "emergency_stop", LATCHED).publish(Bool(data=True))

    graph = make_graph(before=press_early)
    graph.spin_until(lambda: graph.node.stopped_by, "the emergency stop to arrive")
    assert graph.commands == []
    assert [graph.say() for _ in range(3)] == [ZERO] * 3


def test_an_emergency_stop_that_is_not_heard_any_more_counts_as_pressed(make_graph):
    graph = make_graph("emergency_stop_timeout:=1.0")
    topic, says = presser(graph), Bool(data=False)
    beat = graph.robot.create_timer(0.02, lambda: topic.publish(says))
    drive(graph)
    beat.cancel()
    graph.spin_until(lambda: graph.node.stopped_by, "its silence to be noticed")
    assert "no message on /emergency_stop for 1 s" in graph.node.stopped_by
    assert graph.say() == ZERO
    assert "release it first" in enable(graph).message
    beat.reset()
    graph.spin_until(lambda: not graph.node.output.guard.pressed, "it to be heard again")
    assert enable(graph).success
    drive(graph)
    says.data = True
    graph.spin_until(lambda: graph.node.output.guard.pressed, "a real one")
    beat.cancel()
    graph.spin_until(lambda: graph.node.output._inputs._missed, "its silence")
    assert graph.node.output.guard.pressed == "the emergency stop is pressed"


def test_enable_with_false_stops_and_with_true_lets_it_go_on(graph):
    drive(graph)
    answer = enable(graph, False)
    assert answer.success and answer.message == "stopped"
    assert graph.commands[-1] == ZERO and graph.say() == ZERO
    answer = enable(graph, True)
    assert answer.success and answer.message == "enabled"
    drive(graph)


def test_not_enabled_from_the_start_it_commands_zero_until_it_is(make_graph):
    graph = make_graph("enabled:=false")
    assert [graph.say() for _ in range(3)] == [ZERO] * 3
    assert enable(graph).success
    drive(graph)


def test_another_commander_in_mid_run_stops_it(graph):
    drive(graph)
    rival = graph.robot.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "the rival to be seen")
    assert "1 other node publishes /effort_controller/commands" in graph.node.stopped_by
    assert graph.say() == ZERO
    assert not enable(graph).success
    graph.robot.destroy_publisher(rival)
    graph.spin_until(lambda: enable(graph).success, "the rival to be gone")
    drive(graph)


def test_a_robot_that_contradicts_its_commands_stops_it(graph, monkeypatch):
    drive(graph)
    robot = graph.node.loop.robot
    stuck = Verdict(Level.STOP, "the left wheel is stuck")
    monkeypatch.setattr(robot, "contradiction", lambda *reported: stuck)
    assert graph.say() == ZERO
    monkeypatch.undo()
    assert graph.node.stopped_by == "the left wheel is stuck" and graph.say() == ZERO


def test_wheels_that_stand_under_torque_stop_it_and_enabled_they_are_looked_at_anew(make_graph):
    graph = make_graph("wheel_watch:=true", "torque_limit:=1.0")
    graph.node.wanted = (1.0, 1.0)
    commands = [graph.say() for _ in range(30)]
    assert commands[1] == (1.0, 1.0) and commands[-1] == ZERO
    assert "the left wheel's angle has stood still" in graph.node.stopped_by
    assert enable(graph).success
    # The rate limit may take more than one of them: states are answered as fast as they come.
    assert [graph.say() for _ in range(10)][-1] == (1.0, 1.0) and not graph.node.stopped_by
    graph.stamp += 1.0  # what was before a gap says nothing
    assert graph.say() == ZERO and not graph.node.stopped_by


def test_it_holds_zero_while_the_watchdog_does_and_goes_on_by_itself(graph):
    drive(graph)
    watchdog = graph.robot.create_publisher(Bool, "effort_watchdog/holds", LATCHED)
    watchdog.publish(Bool(data=True))
    graph.spin_until(graph.node.loop.robot.held_by, "the watchdog to be heard")
    assert graph.say() == ZERO and graph.say() == ZERO
    assert "effort_watchdog holds the torque at zero" in graph.node.output.guard.reason
    assert not graph.node.stopped_by
    watchdog.publish(Bool(data=False))
    graph.spin_until(lambda: not graph.node.loop.robot.held_by(), "the watchdog to let go")
    drive(graph)


def test_a_state_with_an_odd_stamp_is_asked_for_and_answered_by_zero(graph):
    drive(graph)
    graph.stamp -= 5.0
    assert graph.say() == ZERO
    assert graph.node.refused == 1
    drive(graph)


def test_diagnostics_tell_the_state_when_it_changes(graph):
    reported = []
    graph.robot.create_subscription(
        DiagnosticArray, "diagnostics", lambda message: reported.append(message.status[0]), 10
    )

    def newest(level, words):
        graph.spin_until(
            lambda: reported and reported[-1].level == level and words in reported[-1].message,
            f"diagnostics that say {words!r}",
        )
        return {pair.key: pair.value for pair in reported[-1].values}

    newest(DiagnosticStatus.WARN, "waiting: nothing received yet")
    for _ in range(20):
        graph.say()
    values = newest(DiagnosticStatus.OK, "active")
    assert (reported[-1].name, reported[-1].hardware_id) == ("steady: commands", "twil")
    assert values["command, N m"] == "[0.3, -0.2]" and values["emergency stop"] == "not pressed"
    newest(DiagnosticStatus.STALE, "holding: no joint state for")
    graph.say(position=[float("nan"), 0.0])
    newest(DiagnosticStatus.WARN, "holding: position of joint 'left_wheel_joint' = nan rad")
    drive(graph)
    newest(DiagnosticStatus.OK, "active")
    node = graph.node
    node.output._diagnostics.publish(node.output.guard, "", 2)  # as if something had been refused
    values = newest(DiagnosticStatus.WARN, "active: refused 1 of the latest messages")
    assert values["refused"] == "2"
    enable(graph, False)
    newest(DiagnosticStatus.ERROR, "stopped: stopped by ~/enable")
    graph.node.close()
    newest(DiagnosticStatus.WARN, "ended: the process ends")


def test_a_node_that_never_began_leaves_the_wheels_to_another_commander(graph):
    graph.robot.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.spin_until(lambda: "other node" in graph.node.waits_for().reason, "the other to be seen")
    graph.node.finish(1, "gave up")
    graph.node.close()
    for _ in range(10):
        graph.executor.spin_once(timeout_sec=0.01)
    assert graph.commands == []
