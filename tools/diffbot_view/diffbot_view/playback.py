# SPDX-License-Identifier: Apache-2.0
"""Shows a recording in the browser like a live run; knows no ROS.

The pose is the recorded one, or wheel odometry if none was recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from diffbot_description import load_robot
from diffbot_node.topic_types import ARRAY
from diffbot_recordings.bag import Bag
from diffbot_view.live_values import SPACING, Readings
from diffbot_view.server import AccessGate, LiveServer
from diffbot_view.store import Store

RATE = 10.0  # updates per second; a browser receives all it needs in the first one


def read_recording(path: Path, robot: str) -> Store:
    """Return the content of a rosbag2 folder or file as a view's store. Raises ValueError."""
    described = load_robot(robot)
    store = Store(SPACING)
    readings = Readings(described, store)
    bag = Bag(path)
    read: dict[str, tuple[Callable[[bytes], object], Callable[[Any], None]]] = {}
    for topic in bag.topics.values():
        kind = topic.type.rpartition("/")[2]
        if topic.type == ARRAY and topic.name.endswith("/commands"):
            read[topic.name] = bag.decoder(topic), readings.take_torques
        elif kind in readings.kinds and not topic.name.endswith("ground_truth"):
            read[topic.name] = bag.decoder(topic), partial(readings.take, topic.name, kind)
    with closing(bag.messages(read)) as messages:
        for name, _logged, data in messages:
            decode, take = read[name]
            if (message := decode(data)) is not None:
                take(message)
    if not store.has("pose"):
        listed = ", ".join(sorted(bag.topics)) or "none"
        raise ValueError(
            f"{path}: nothing to show: no joint states of {described.name} "
            f"({', '.join(described.joints.names)}), odometry or status; its topics: "
            f"{listed}; give the robot that it was recorded of with --robot"
        )
    store.set(mode="recording", controls="none", title=f"{path.name}, {described.name}")
    if bag.warnings:
        store.set(note="; ".join(bag.warnings))
    return store


def play(
    path: Path,
    robot: str,
    address: str,
    port: int,
    ends: threading.Event,
    say: Callable[[str], None],
) -> None:
    """Show a recording until `ends` is set; `say` is called with its path and the URL.

    Raises ValueError, or OSError if it cannot listen there.
    """
    gate = AccessGate.of(address)
    store = read_recording(path, robot)
    server = LiveServer(store, gate, port, RATE, lambda command: None)
    try:
        say(f"{path}: {server.url}")
        while not ends.wait(1.0):
            pass
    finally:
        server.close()
