# SPDX-License-Identifier: Apache-2.0
"""The velocity_steps node on a real ROS graph."""

import pytest
from geometry_msgs.msg import Twist, TwistStamped
from paced_graph import DOMAIN, PERIOD, Graph, arguments, nanoseconds, rclpy

from pose2d_trajectories.trajectory_node import VelocityStepsNode
from pose2d_trajectories.velocity_steps import DEMONSTRATION, VelocitySteps

LISTS = ("times:=[0.1, 0.3]", "linear:=[0.5, 0.0]", 'angular:="[-1, 0]"')


@pytest.fixture
def graph(request):
    made = Graph(VelocityStepsNode, *request.param)
    yield made
    made.close()


@pytest.mark.parametrize("graph", [("lead:=0.01",)], indirect=True)
def test_each_joint_state_is_answered_at_its_stamp_plus_the_lead_until_the_end(graph):
    heard, _ = graph.hear(TwistStamped, "cmd_vel")
    graph.spin_until(graph.node.listened_to)
    start = 1_700_000_000_123_456_789  # a stamp of today needs all its digits
    answers = graph.drive(heard, [start + k * PERIOD for k in range(601)])
    steps = VelocitySteps(*DEMONSTRATION)
    for k, answer in enumerate(answers):
        assert nanoseconds(answer) == start + (k + 1) * PERIOD
        assert answer.header.frame_id == "base_link"
        assert (answer.twist.linear.x, answer.twist.angular.z) == steps.at(k / 100)
    # The last step begins at 5.5 s and is held for 0.5 s.
    assert graph.node.exit_code == 0


@pytest.mark.parametrize("graph", [("stamped:=false", "hold:=-1", *LISTS)], indirect=True)
def test_lists_and_unstamped_messages(graph):
    heard, _ = graph.hear(Twist, "cmd_vel")
    graph.spin_until(graph.node.listened_to)
    answers = graph.drive(heard, [k * PERIOD for k in (0, 9, 10, 29, 30, 10_000)])
    moving, rest = (0.5, -1.0), (0.0, 0.0)
    expected = [rest, rest, moving, moving, rest, rest]
    assert [(each.linear.x, each.angular.z) for each in answers] == expected
    assert graph.node.exit_code is None


@pytest.mark.parametrize(
    "parameters, message",
    [
        (["linear:=[0.1]"], "times, linear, angular have 0, 1, 0 numbers"),
        (["times:=[0.0, -1.0]"], "'times.1.' = -1.0: must be finite and >= 0"),
        (["times:=[2.0, 1.0]", *LISTS[1:]], "times.1. = 1.0 s: must be > times.0. = 2.0 s"),
        (["angular:=[0.0, .nan]"], "'angular.1.' = nan: must be finite"),
        (["max_angular_velocity:=1.5"], r"angular.2. = 2.0 rad/s: must be between -1.5 and 1.5"),
        (["times:=[0.0]", "linear:=[0.4]", "angular:=[0.0]"], "linear.-1. = 0.4 m/s, .*set hold"),
        (["hold:=.nan"], "'hold' = nan"),
        (["patience:=0"], "'patience' = 0.0: must be finite and > 0"),
        (["listeners:=-1"], "'listeners' = -1: must be finite and >= 0"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    rclpy.init(args=arguments(*parameters), domain_id=DOMAIN)
    try:
        with pytest.raises(ValueError, match=message):
            VelocityStepsNode()
    finally:
        rclpy.try_shutdown()
