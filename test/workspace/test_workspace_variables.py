# SPDX-License-Identifier: Apache-2.0
"""Children get the environment that sourcing the workspace would give."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rclpy

from diffbot_bringup.workspace.environment import (
    _PROFILES,
    SystemEnvironment,
    prepend,
    read_hooks,
    with_defaults,
    without_other_ros,
    without_sourced_range,
)
from diffbot_bringup.workspace.wheels import WheelsEnvironment
from diffbot_report.summary import versions

CONFIG = Path(__file__).resolve().parents[2] / "config"
PROFILES = {
    "FASTDDS_DEFAULT_PROFILES_FILE": CONFIG / "fastdds_local.xml",
    "FASTRTPS_DEFAULT_PROFILES_FILE": CONFIG / "fastdds2_local.xml",  # Fast DDS 2
}
FAR = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
# Prints the local addresses of this process's UDP sockets at the ports that DDS listens on, and
# SHARED if it has shared memory.
BOUND = """
import os, rclpy
rclpy.init()
node = rclpy.create_node("bound")
mine = {os.stat(f"/proc/self/fd/{fd}").st_ino for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")}
first = 7400 + 250 * int(os.environ["ROS_DOMAIN_ID"])
for line in open("/proc/net/udp").readlines()[1:]:
    words = line.split()
    address, port = words[1].split(":")
    if int(words[9]) in mine and first <= int(port, 16) < first + 250:
        print(".".join(str(byte) for byte in reversed(bytes.fromhex(address))))
if "/dev/shm/fast" in open("/proc/self/maps").read():
    print("SHARED")
"""


def test_entries_come_first_once_and_in_order():
    result = prepend({"PATH": "/usr/bin:/b"}, {"PATH": ["/a", "/b"], "NEW": ["/n"]})
    assert result == {"PATH": "/a:/b:/usr/bin", "NEW": "/n"}


# The distribution that runs the tests.
HERE = os.environ.get("ROS_DISTRO") or os.environ.get("DIFFBOT_DISTRO", "kilted")


def defaults(environment, distro="kilted"):
    return with_defaults(environment, distro)


def closed(distro="kilted"):
    """What keeps everybody else out."""
    result = defaults({}, distro)
    (variable,) = result.keys() - {"ROS_AUTOMATIC_DISCOVERY_RANGE"}
    assert result["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
    assert Path(result[variable]).resolve() == PROFILES[variable]
    return result


def test_both_generations_of_fast_dds_get_the_same_participant():
    one, other = (ElementTree.parse(path).getroot() for path in PROFILES.values())
    name = "{http://www.eprosima.com}"
    assert closed().keys() != closed("jazzy").keys()
    for part in ("participant", "transport_descriptors"):
        results = [ElementTree.tostring(root.find(f".//{name}{part}")) for root in (one, other)]
        assert results[0].strip() == results[1].strip()
    # Names that Fast DDS 2 does not know would make it refuse the file.
    assert one.find(f".//{name}times") is not None and other.find(f".//{name}times") is None


def test_discovery_stays_on_this_machine():
    for nothing in ({}, {"ROS_AUTOMATIC_DISCOVERY_RANGE": ""}, {"ROS_STATIC_PEERS": ""}):
        assert defaults(nothing) == closed()
    # ROS 2's own LOCALHOST listens on all interfaces, and would add shared memory to the profile.
    assert defaults({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}) == closed()


NO_SHARED_MEMORY = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}


def test_discovery_reaches_what_the_user_has_chosen():
    for chosen in (
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_STATIC_PEERS": "10.0.0.1"},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT"},
        {"ROS_LOCALHOST_ONLY": "0"},
        {"ROS_DISCOVERY_SERVER": "10.0.0.1"},
        {"CYCLONEDDS_URI": "file:///of/the/user.xml"},
    ):
        assert defaults(chosen) == {**chosen, **NO_SHARED_MEMORY}
    for own in (
        {"FASTDDS_DEFAULT_PROFILES_FILE": "/of/the/user.xml"},
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "FASTDDS_BUILTIN_TRANSPORTS": "LARGE_DATA"},
    ):
        assert defaults(own) == own


def test_peers_are_let_in_without_the_rest_of_the_network():
    peers = {"ROS_STATIC_PEERS": "10.0.0.1"}
    local = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    assert defaults(peers) == {**peers, **local, **NO_SHARED_MEMORY}


def test_the_way_of_humble_to_say_it_is_understood():
    # Kilted ignores ROS_LOCALHOST_ONLY: left as it is, it would mean the whole network.
    assert defaults({"ROS_LOCALHOST_ONLY": "1"}) == closed()
    both = {"ROS_LOCALHOST_ONLY": "1", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    assert defaults(both) == {**FAR, **NO_SHARED_MEMORY}


def test_one_call_inside_of_another_can_be_opened():
    # The profile of the outer call is not a choice of the user's.
    assert defaults({**defaults({}), **FAR}) == {**FAR, **NO_SHARED_MEMORY}
    for distro in ("kilted", "jazzy"):
        assert defaults(closed(distro), distro) == closed(distro)
    peers = {"ROS_STATIC_PEERS": "10.0.0.1"}
    assert defaults({**defaults({}), **peers}) == defaults(peers)


def test_humble_is_told_in_its_own_way():
    assert defaults({}, "humble") == {"ROS_LOCALHOST_ONLY": "1"}
    assert defaults({"ROS_LOCALHOST_ONLY": "0"}, "humble") == {"ROS_LOCALHOST_ONLY": "0"}


def bound(environment, domain):
    """Addresses on which a node listens in an environment, and SHARED."""
    kept = {k: v for k, v in os.environ.items() if k not in {*closed(HERE), *FAR}}
    result = subprocess.run(
        [sys.executable, "-c", BOUND],
        env={**kept, **environment, "ROS_DOMAIN_ID": str(domain)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_no_socket_is_reached_from_the_network_and_no_memory_is_shared(domain):
    if "fastrtps" not in rclpy.get_rmw_implementation_identifier():
        pytest.skip("the profile is Fast DDS's")
    assert bound(closed(HERE), domain) == {"127.0.0.1"}
    assert {"0.0.0.0", "SHARED"} <= bound(FAR, domain)  # what it keeps out


def test_the_range_that_sourcing_ros_sets_is_not_the_users_choice(tmp_path):
    sourced = {"ROS_DISTRO": "lyrical", **FAR}
    assert without_sourced_range(sourced) == {"ROS_DISTRO": "lyrical"}
    environment = SystemEnvironment(tmp_path, "lyrical")
    result = environment.variables({**sourced, "RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"})
    assert result["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    wheels = WheelsEnvironment(tmp_path).variables(sourced)
    assert wheels["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
    # Without a sourced ROS it is a choice, and so are these.
    assert without_sourced_range(FAR) == FAR
    for more in ({"ROS_LOCALHOST_ONLY": "0"}, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}):
        assert without_sourced_range({**sourced, **more}) == {**sourced, **more}


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


@pytest.mark.parametrize("distro", ["jazzy", "kilted"])
def test_summaries_name_the_ros_that_comes_from_wheels(distro, tmp_path, monkeypatch):
    wheels = WheelsEnvironment(tmp_path, distro=distro)
    monkeypatch.setattr(os, "environ", wheels.variables({"ROS_DISTRO": "humble"}))
    assert versions()["ros"] == distro


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


def test_the_profiles_that_close_discovery_are_those_of_the_suite():
    from diffbot_node import topic_nodes  # loads ROS

    names = {variable: Path(path).name for variable, path in _PROFILES.items()}
    assert set(names) == set(topic_nodes._PROFILE_VARIABLES)
    assert set(names.values()) == topic_nodes._CLOSED_PROFILES
