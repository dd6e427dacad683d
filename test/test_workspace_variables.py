"""Children get the environment that sourcing the workspace would give."""

import sys
from pathlib import Path

from diffbot_bringup.workspace.variables import (
    prepend,
    read_hooks,
    with_defaults,
    without_other_ros,
)


def test_entries_come_first_once_and_in_order():
    result = prepend({"PATH": "/usr/bin:/b"}, {"PATH": ["/a", "/b"], "NEW": ["/n"]})
    assert result == {"PATH": "/a:/b:/usr/bin", "NEW": "/n"}


def test_discovery_stays_on_this_machine_unless_chosen():
    assert with_defaults({})["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    for chosen in (
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"},
        {"ROS_LOCALHOST_ONLY": "0"},
        {"ROS_DISCOVERY_SERVER": "10.0.0.1"},
    ):
        assert with_defaults(chosen) == chosen


def test_wheels_do_not_see_a_sourced_ros():
    sourced = {
        "ROS_DISTRO": "jazzy",
        "AMENT_PREFIX_PATH": "/opt/ros/jazzy",
        "PYTHONPATH": "/opt/ros/jazzy/lib/python3.12/site-packages",
        "LD_LIBRARY_PATH": "/opt/ros/jazzy/lib:/opt/mine/lib",
        "PATH": "/opt/ros/jazzy/bin:/usr/bin",
        "ROS_DOMAIN_ID": "7",
    }
    assert without_other_ros(sourced) == {
        "LD_LIBRARY_PATH": "/opt/mine/lib",
        "PATH": "/usr/bin",
        "ROS_DOMAIN_ID": "7",
    }


def test_nothing_is_lost_where_no_ros_is_sourced():
    assert without_other_ros({"PATH": "/a:/b", "LD_LIBRARY_PATH": "/c"}) == {
        "PATH": "/a:/b",
        "LD_LIBRARY_PATH": "/c",
    }


def test_hooks_are_what_the_script_adds(tmp_path):
    (tmp_path / "local_setup.sh").write_text(
        'export PYTHONPATH="$COLCON_CURRENT_PREFIX/site:$PYTHONPATH"\n'
        'export PATH="$COLCON_CURRENT_PREFIX/bin:$PATH"\n'
        'export UNRELATED="line one\nline two"\n'
    )
    base = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/of/the/user"}
    hooks = read_hooks(tmp_path, Path(sys.executable), base)
    assert hooks == {"PYTHONPATH": [f"{tmp_path}/site"], "PATH": [f"{tmp_path}/bin"]}
