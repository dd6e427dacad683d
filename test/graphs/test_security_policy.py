# SPDX-License-Identifier: Apache-2.0
"""The SROS 2 policy allows each node what it makes, and nothing else."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import rclpy
from rclpy.signals import SignalHandlerOptions

import diffbot_node.node_process
from arc_odometry.odometry_node import OdometryNode
from diffbot_bringup.workspace.packages import find_packages
from diffbot_bringup.xml_launch.resolver import executables
from pose2d_trajectories import pose_nodes

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "config" / "sros2_policy.xml"
INCLUDE = "{http://www.w3.org/2001/XInclude}include"
KINDS = {("topics", "publish"), ("topics", "subscribe"), ("services", "reply")}
KINDS |= {("services", "request")}
COMMANDS, WATCHED = "/effort_controller/commands", "/effort_watchdog/commands"
COMMANDERS = ("ident", "backstep_controller", "pose_controller", "linearizing_controller")
# Executables that are no nodes, or have no business on a robot; the policy says the latter too.
WITHOUT_KEYS = {"calibrate", "describe", "diffbot", "identify", "robot_urdf", "show_parameters"}
WITHOUT_KEYS |= {"gz_simulator", "ros2_control_simulator", "fault_injector", "live_view"}
WITHOUT_KEYS |= {"composed", "draft"}

# As the launch files start them, where that decides over topics; with all that they may subscribe.
ADAPTIVE = "-p parameters:=adaptive -r dynamic_parameters:=ident/dynamic_parameters"
ADAPTIVE += " -p wait_for_reference:=true"
WORDS = {
    "simulator": "--ros-args -p engine:=ideal -p imu:=true -p pose_source:=true",
    "velocity_simulator": "--ros-args -p imu:=true -p pose_source:=true -p joint_states:=true",
    "backstep_controller": f"--ros-args {ADAPTIVE}",
    "pose_controller": f"--ros-args {ADAPTIVE}",
    "linearizing_controller": f"--ros-args {ADAPTIVE}",
    "pose_step": "1,0,0 --ros-args -r command:=pose_controller/command",
    "trajectory_publisher": "--ros-args -r reference:=backstep_controller/reference "
    "-r command:=trajectory_publisher/command",
    "ident": "--ros-args -p imu:=true",
    "velocity_tracking_controller": "--ros-args -p imu:=true -p sigma:=[0.2,0.2,1.0,1.0] "
    "-p robot:=turtlebot2 -p wait_for_reference:=true",
    "velocity_ident": "--ros-args -p robot:=turtlebot2 -p twist:=TwistStamped "
    "-p odometry_source:=odom -p input_timeout:=0.25 -p until:=gain=1%",
    "odometry_publisher": "--ros-args -p left_radius:=0.1 -p right_radius:=0.1 -p separation:=0.4",
    "drive_report": "--ros-args -p controller:=backstep_controller",
}
DEFAULT_RECORDED = {"joint_states", "effort_controller/commands"}
# What is made later, or where another launch file remaps it.
REPORTED = ("pose_controller", "linearizing_controller", "velocity_tracking_controller")
LATER = {
    "velocity_ident": {("subscribe", "/joint_states"), ("subscribe", "/tf")},  # odometry_source
    # With tf:="map base_link", or velocity:=true.
    "calibrate_node": {
        ("subscribe", topic) for topic in ("/tf", "/odom", "/velocity_ident/status")
    },
    "simulator": {("subscribe", "/backstep_controller/reference")},  # by gazebo only
    "effort_watchdog": {("subscribe", WATCHED)},  # while somebody takes what it sends
    "velocity_tracking_controller": {("subscribe", "/velocity_tracking_controller/reference")},
    "dynamics_estimator": {("publish", "/ident/dynamic_parameters")},
    "pose_step": {
        ("publish", f"/{controller}/command")
        for controller in ("backstep_controller", "velocity_tracking_controller")
    },
    "trajectory_publisher": {
        ("publish", "/velocity_tracking_controller/reference"),
        ("subscribe", "/odom"),
    },
    "drive_report": {
        ("subscribe", f"/{c}/{t}") for c in REPORTED for t in ("adaptation", "state", "status")
    },
} | {commander: {("publish", WATCHED)} for commander in COMMANDERS}
# The files of parameters say what is recorded, and ident's launch file, which has two kinds.
TOPICS = [
    (ROOT / "config", "*.yaml", r"^    topics: '(.*)'$"),
    (ROOT / "launch", "*.xml", r'<let name="recorded_topics" value="([^"]*)"'),
]
RECORDED = {
    re.sub(r"\$\(var (\w+)\)", r"\1", word).split(":")[0]
    for folder, files, pattern in TOPICS
    for path in folder.glob(files)
    for topics in re.findall(pattern, path.read_text(), re.MULTILINE)
    for word in re.sub(r"\$\(var (\w+)\)", r"\1", topics).split()
} - {"recorded_topics"}
# As the topics of the robot appear.
LISTENED = (
    *("cmd_vel", "effort_controller/commands", "imu/data", "joint_states", "odom"),
    *("pose", "scan", "tf"),
)
LATER["learn"] = {("subscribe", f"/{topic}") for topic in LISTENED}
LATER["recorder"] = {
    ("subscribe", f"/{topic.lstrip('/')}") for topic in RECORDED - DEFAULT_RECORDED
}
# References are subscribed to when the law is ready.
LATER["linearizing_controller"] |= {("subscribe", "/cmd_vel")}
LATER["backstep_controller"] |= {("subscribe", "/backstep_controller/reference")}


def enclaves():
    """Profile by the last part of the enclave's path."""
    root = ElementTree.parse(POLICY).getroot()
    return {e.get("path").rsplit("/")[-1]: e.find("profiles/profile") for e in root.iter("enclave")}


def allowed(profile):
    """(publish, subscribe, reply or request; full name), what sros2_common.xml has included."""
    common = ElementTree.parse(POLICY.with_name(profile.find(INCLUDE).get("href"))).getroot()
    none = set()
    for group in [*common, *(child for child in profile if child.tag != INCLUDE)]:
        (kind,) = group.attrib
        assert (group.tag, kind) in KINDS and group.get(kind) == "ALLOW"
        for entry in group:
            assert entry.tag == group.tag[:-1]
            name = entry.text.replace("~", f"/{profile.get('node')}")
            none.add((kind, name if name.startswith("/") else f"/{name}"))
    return none


PROFILES = enclaves()
NODES = sorted(PROFILES.keys() - {"operator"})


def package_of(executable):
    """The package that has it."""
    return next(p.name for p in find_packages(ROOT) if executable in executables(p.name))


def made(executable, monkeypatch):
    """What a node has once it is made, as the ROS graph names it, and the node's full name."""
    package = package_of(executable)
    created = []
    monkeypatch.setattr(sys, "argv", [executable, *WORDS.get(executable, "").split()])
    if package == "arc_odometry":
        created.append(OdometryNode)
    else:
        for module in (diffbot_node, diffbot_node.node_process, pose_nodes):
            monkeypatch.setattr(module, "run_node", lambda new, *_, **__: created.append(new) or 0)
        # What an executable does to its own process is not for this one.
        monkeypatch.setattr(os, "sched_setscheduler", lambda *_: None)
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        getattr(importlib.import_module(f"{package}.executables"), executable)()
    rclpy.init(args=sys.argv, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = created[0]()
        about = node.get_name(), node.get_namespace()
        lists = {
            "publish": node.get_publisher_names_and_types_by_node(*about),
            "subscribe": node.get_subscriber_names_and_types_by_node(*about),
            "reply": node.get_service_names_and_types_by_node(*about),
            "request": node.get_client_names_and_types_by_node(*about),
        }
        full = node.get_fully_qualified_name()
        node.destroy_node()
        return {(kind, name) for kind, entries in lists.items() for name, _ in entries}, full
    finally:
        rclpy.try_shutdown()


@pytest.mark.parametrize("name", NODES)
def test_a_node_is_allowed_what_it_makes_and_nothing_else(name, domain, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    profile = PROFILES[name]
    result, full = made(name, monkeypatch)
    assert full == f"/{profile.get('node')}" and profile.get("ns") == "/"
    clock = {("subscribe", "/clock")}  # with use_sim_time only
    rest = allowed(profile) - LATER.get(name, set()) - clock
    assert result - clock == rest


def test_every_node_has_an_enclave():
    known = {name for p in find_packages(ROOT) for name in executables(p.name)}
    assert known - WITHOUT_KEYS == set(NODES)


def test_only_those_who_must_can_move_the_robot():
    may = {name for name in PROFILES if ("publish", COMMANDS) in allowed(PROFILES[name])}
    assert may == {*COMMANDERS, "effort_watchdog"}
    presses = {n for n in PROFILES if ("publish", "/emergency_stop") in allowed(PROFILES[n])}
    assert presses == {"operator"}
    states = {n for n in PROFILES if ("publish", "/joint_states") in allowed(PROFILES[n])}
    assert states == {"simulator", "velocity_simulator"}


def test_the_operator_can_enable_every_commanding_node():
    served = {name for p in PROFILES.values() for kind, name in allowed(p) if kind == "reply"}
    wanted = {("request", name) for name in served if name.endswith("/enable")}
    assert wanted and wanted <= allowed(PROFILES["operator"])


def test_no_comment_between_the_enclaves():
    # SROS 2 takes each child of <enclaves> for an enclave, comments too, and fails.
    builder = ElementTree.TreeBuilder(insert_comments=True)
    root = ElementTree.parse(POLICY, ElementTree.XMLParser(target=builder)).getroot()
    assert root.get("version") == "0.2.0" and root.tag == "policy"
    assert {child.tag for child in root.find("enclaves")} == {"enclave"}
