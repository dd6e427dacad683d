# SPDX-License-Identifier: Apache-2.0
"""Messages name the commands that the person who reads them has."""

import pytest

from diffbot_description.spoken_commands import CHECKOUT, SOURCED, spoken


@pytest.mark.parametrize(
    ("words", "checkout", "workspace"),
    [
        (
            ("launch", "ident", "robot:=my robot.yaml"),
            "./diffbot launch ident 'robot:=my robot.yaml'",
            "ros2 launch diffbot_bringup ident.launch.xml 'robot:=my robot.yaml'",
        ),
        (
            ("launch", "ident.launch.xml"),
            "./diffbot launch ident.launch.xml",
            "ros2 launch diffbot_bringup ident.launch.xml",
        ),
        (
            ("run", "arc_odometry", "odometry_publisher"),
            "./diffbot run arc_odometry odometry_publisher",
            "ros2 run arc_odometry odometry_publisher",
        ),
        (
            ("view", "results/a", "OTHER"),
            "./diffbot view results/a OTHER",
            "ros2 run diffbot_bringup diffbot view results/a OTHER",
        ),
    ],
)
def test_in_a_checkout_and_in_a_workspace(words, checkout, workspace):
    assert spoken(*words, environment={CHECKOUT: "/home/me/diffbot"}) == checkout
    assert spoken(*words, environment={SOURCED: "/opt/ros/jazzy"}) == workspace
    assert spoken(*words, environment={}) == checkout.removeprefix("./")
