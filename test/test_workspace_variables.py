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


def test_discovery_stays_on_this_machine():
    for nothing in ({}, {"ROS_AUTOMATIC_DISCOVERY_RANGE": ""}, {"ROS_STATIC_PEERS": ""}):
        assert with_defaults(nothing) == CLOSED


def test_discovery_reaches_what_the_user_has_chosen():
    for chosen in (
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_STATIC_PEERS": "10.0.0.1"},
        {"ROS_LOCALHOST_ONLY": "0"},
        {"ROS_DISCOVERY_SERVER": "10.0.0.1"},
        {"FASTDDS_DEFAULT_PROFILES_FILE": "/of/the/user.xml"},
        {"CYCLONEDDS_URI": "file:///of/the/user.xml"},
    ):
        assert with_defaults(chosen) == chosen


def test_peers_are_let_in_without_the_rest_of_the_network():
    peers = {"ROS_STATIC_PEERS": "10.0.0.1"}
    assert with_defaults(peers) == {**peers, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def test_the_way_of_humble_to_say_it_is_understood():
    # Kilted ignores ROS_LOCALHOST_ONLY: left as it is, it would mean the whole network.
    assert with_defaults({"ROS_LOCALHOST_ONLY": "1"}) == CLOSED
    both = {"ROS_LOCALHOST_ONLY": "1", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    assert with_defaults(both) == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}


def test_humble_is_told_in_its_own_way():
    assert with_defaults({}, "humble") == {"ROS_LOCALHOST_ONLY": "1"}
    assert with_defaults({"ROS_LOCALHOST_ONLY": "0"}, "humble") == {"ROS_LOCALHOST_ONLY": "0"}


def test_no_socket_can_be_reached_from_the_network(tmp_path):
    """A node of this environment, asked by the kernel's own list of its sockets."""
    groups = Path("/proc/net/igmp").read_text()
    environment = {**os.environ, **CLOSED, "ROS_LOG_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", _BOUND], env=environment, capture_output=True, text=True, timeout=30
    )
    addresses, joined = result.stdout.splitlines()
    assert addresses.split() and set(addresses.split()) == {"127.0.0.1"}
    assert joined in groups.replace("\n", " ")


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
