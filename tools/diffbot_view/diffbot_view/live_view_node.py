# SPDX-License-Identifier: Apache-2.0
"""The live_view node: a running graph in the browser, with a stop button.

It only listens, best effort, and nothing waits for it. The stop button publishes `emergency_stop`
(true, latched) and calls each `~/enable` with false; its release publishes false, and then calls
`~/enable` with true if requested. While another node publishes `emergency_stop` and the button is
not pressed, this node does not: with two publishers neither can release the stop.
"""

from __future__ import annotations

import math
import os
import queue
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from builtin_interfaces.msg import Time
from rcl_interfaces.srv import GetParameters
from rclpy.client import Client
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from diffbot_description import Robot, load_robot
from diffbot_description.terminal_text import printable
from diffbot_msgs.srv import SetPayload
from diffbot_node import Node, RobotParameters, declare, parameter
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.stop_inputs import TOPIC
from diffbot_node.topic_nodes import LATCHED
from diffbot_view.live_values import SPACING, Readings, ShownNode
from diffbot_view.server import AccessGate, Button, LiveServer, PageAddition, PageCommand
from diffbot_view.store import Store


class PolledNode(Node):
    """Hides subscriptions from the executor, to fetch their messages in batches.

    A simulator may send some thousand messages a second; a callback for each would take a core.
    """

    # The base class reads its subscriptions before this class has created any.
    _polled: tuple[Subscription[Any], ...] = ()

    @property
    def subscriptions(self) -> Iterator[Subscription[Any]]:
        """The subscriptions that an executor serves."""
        polled = {id(subscription) for subscription in self._polled}
        return (s for s in super().subscriptions if id(s) not in polled)

    def create_polled(self, message_type: type, topic: str, qos: QoSProfile) -> Subscription[Any]:
        """Create a raw subscription for `take`; its queue must last until the next one."""
        subscription = self.create_subscription(message_type, topic, lambda _: None, qos, raw=True)
        self._polled = (*self._polled, subscription)
        return subscription

    @staticmethod
    def take(subscription: Subscription[Any]) -> Iterator[bytes]:
        """Yield the serialized messages received, oldest first."""
        handle, kind = subscription.handle, subscription.msg_type
        with handle:
            for _ in range(DEPTH):  # of a publisher that fills the queue meanwhile, the rest later
                if (taken := handle.take_message(kind, True)) is None:
                    return
                yield taken[0]


def raw_stamp(serialized: bytes) -> Time:
    """Return the stamp of a serialized message whose first field is a std_msgs/Header.

    CDR puts 4 bytes in front, of which the second gives the byte order.
    """
    order = "<" if serialized[1] & 1 else ">"
    seconds, nanoseconds = struct.unpack_from(order + "iI", serialized, 4)
    return Time(sec=seconds, nanosec=nanoseconds)


# Periods of handling the buttons, taking messages, and checking the graph, s.
BUTTON_PERIOD, TAKE_PERIOD, LOOK_PERIOD = 0.01, 0.05, 0.5
# Period of repeating a pressed stop, and time between false and enable, s.
REPEAT_PERIOD, RELEASE_TIME = 0.1, 0.2
# Least time between two equal buttons, s: each asks other nodes.
BUTTON_PAUSE = 0.1
# Time after which a missing answer of a service is reported, s.
SERVICE_PATIENCE = 2.0
# The graph is gone if no shown topic has a publisher for so long, s.
PARTING = 1.0
# Queue of each topic, and messages shown per batch; a simulation may send thousands a second.
DEPTH, MOST_AT_ONCE = 50, 10
SEEN = QoSProfile(
    depth=DEPTH,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
REPORTED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Tools do not list a hidden node, and no node takes it for a part of the run.
NAME = "_live_view"
# Every simulator publishes it, and no real robot.
TRUTH = "ground_truth"
LATCHED_KINDS = ("Verification", "VelocityParameters")
PACKAGES = ("sensor_msgs", "nav_msgs", "diagnostic_msgs", "diffbot_msgs")


@dataclass(frozen=True)
class LiveViewParameters(RobotParameters):
    """Parameters of live_view."""

    robot: str = parameter(
        "",
        "robot of the suite, or a robot's YAML, URDF or xacro file; empty: the one that the nodes "
        "name in their parameter of this name",
    )
    address: str = parameter(
        "127.0.0.1",
        "IP address to listen on; 127.0.0.1: this machine only, 0.0.0.0: all its networks, with a "
        "token in the URL",
    )
    port: int = parameter(
        8765,
        "port to listen on; if it is in use, one of the next ones; 0: any free one",
        minimum=0,
        maximum=65535,
    )
    token: str = parameter(
        "", "token in the URL, 16 characters or more; empty: generated if one is needed"
    )
    controls: str = parameter(
        "all",
        "what the page may do: all, stop (only stop), none",
        choices=("all", "stop", "none"),
    )
    rate: float = parameter(
        15.0, "rate of updates to each browser, 1/s of wall time", above=0.0, maximum=30.0
    )
    leave_when_alone: bool = parameter(
        True, "whether it ends when the nodes that it showed have ended"
    )


class LiveView(PolledNode):
    """ROS interface of the live view.

    Args:
        addition: What its page has besides.

    Attributes:
        store: What its page shows.
    """

    def __init__(self, addition: PageAddition | None = None) -> None:
        super().__init__(NAME)
        self.exit_code: int | None = None
        self.values = declare(self, LiveViewParameters)
        robot = load_robot(self.values.robot or RobotParameters.robot)
        self._asked: set[str] = set()
        self._is_known = bool(self.values.robot)
        self.store = Store(SPACING)
        self._readings = Readings(robot, self.store)
        self._feeds: dict[str, tuple[str, Subscription[Any]]] = {}
        self._last: dict[str, float] = {}
        self._commands: queue.SimpleQueue[PageCommand] = queue.SimpleQueue()
        self._robots: queue.SimpleQueue[Robot] = queue.SimpleQueue()
        self._buttons = Buttons(self, self.store)
        self._graph = Presence(0.0, PARTING)
        self._looked = self._taken = -1e9
        self.store.set(
            mode="live",
            controls=self.values.controls,
            title=_title(robot),
            silent=None,
        )
        self._heard: float | None = None
        gate = AccessGate.of(self.values.address, self.values.token)
        self._server = LiveServer(
            self.store, gate, self.values.port, self.values.rate, self._commands.put, addition
        )
        self.get_logger().info(f"live view: {self._server.url}")
        create_wall_timer(self, BUTTON_PERIOD, self._turn)

    @property
    def below(self) -> str:
        """Prefix of the names in this node's namespace."""
        return f"{self.get_namespace().rstrip('/')}/"

    @property
    def url(self) -> str:
        """URL of the page."""
        return self._server.url

    def show_robot(self, robot: Robot) -> None:
        """Show this robot from now on; from any thread."""
        self._robots.put(robot)

    def close(self) -> None:
        """Disconnect the browsers; stopped nodes stay stopped until somebody enables them."""
        self._server.close()

    def _turn(self) -> None:
        now = time.monotonic()
        for _ in range(self._commands.qsize()):  # no more than are there, or nothing else is done
            self._on_browser_command(self._commands.get_nowait())
        for _ in range(self._robots.qsize()):
            self._use(self._robots.get_nowait())
        self._buttons.look(now)
        if now - self._looked >= LOOK_PERIOD:
            self._looked = now
            self._look_around()
        if now - self._taken >= TAKE_PERIOD:
            self._taken = now
            self._take_all(now)

    # What is shown.

    def _look_around(self) -> None:
        there = False
        for topic, types in self.get_topic_names_and_types():
            package, _, kind = types[0].replace("/msg/", "/").partition("/")
            if package not in PACKAGES or kind not in self._readings.kinds:
                continue
            if not topic.startswith(self.below):
                continue
            if topic.endswith(TRUTH):  # the true pose, which only a simulator knows
                continue
            if topic not in self._feeds:
                self._subscribe(topic, package, kind)
            there = there or self.count_publishers(topic) > 0
        self._buttons.find()
        self._show_nodes()
        if not self._is_known:
            self._ask_for_robot()
        leaves = self.values.leave_when_alone
        if self._graph.have_left(there) and self._graph.met:
            self.store.set(ended=True)
            if leaves:
                self.get_logger().info("the nodes that were shown have ended")
                self.exit_code = 0
        else:
            self.store.set(ended=False)

    def _subscribe(self, topic: str, package: str, kind: str) -> None:
        message_type = getattr(import_module(f"{package}.msg"), kind)
        latched = kind in LATCHED_KINDS or f"/{TRUTH}/" in topic
        offered = [each.qos_profile for each in self.get_publishers_info_by_topic(topic)]
        latched = latched and all(each.durability == REPORTED.durability for each in offered)
        feed = self.create_polled(message_type, topic, REPORTED if latched else SEEN)
        self._feeds[topic] = (kind, feed)

    def _show_nodes(self) -> None:
        names = {
            name
            for name, space in self.get_node_names_and_namespaces()
            if f"{space}/".startswith(self.below) and not name.startswith("_")
        }
        known = {each["name"]: each for each in self.store.get("nodes")}
        left = {name for name, each in known.items() if each["text"] == "gone"}
        for name in names - (known.keys() - left):
            self._readings.node_state(ShownNode(name, "quiet", "there"))
        for name, each in known.items():
            gone = name.partition(" (")[0] not in names
            if gone and each["text"] != "gone":
                self._readings.node_state(ShownNode(name, "quiet", "gone"))

    def _ask_for_robot(self) -> None:
        for name, space in self.get_node_names_and_namespaces():
            full = f"{space.rstrip('/')}/{name}"
            if name.startswith("_") or full in self._asked or not full.startswith(self.below):
                continue
            client: Client[Any, Any] = self.create_client(GetParameters, f"{full}/get_parameters")
            if client.service_is_ready():
                self._asked.add(full)
                answer = client.call_async(GetParameters.Request(names=["robot"]))
                answer.add_done_callback(self._on_robot)

    def _on_robot(self, answer: Any) -> None:
        values = answer.result().values
        name = values[0].string_value if values else ""
        if not name or self._is_known:
            return
        try:
            robot = load_robot(name)
        except (ValueError, OSError) as error:
            self.get_logger().warning(f"the nodes' robot cannot be shown: {printable(error)}")
            return
        self._use(robot)

    def _use(self, robot: Robot) -> None:
        self._is_known = True
        self._readings.use_robot(robot)
        self.store.set(title=_title(robot))

    def _take_all(self, now: float) -> None:
        for topic, (kind, feed) in self._feeds.items():
            for data in self._chosen(topic, list(self.take(feed))):
                self._heard = now
                self._readings.take(topic, kind, deserialize_message(data, feed.msg_type))
        silent = None if self._heard is None else round(now - self._heard, 1)
        self.store.set(silent=silent if silent is None or silent > 0.5 else 0.0)

    def _chosen(self, topic: str, taken: list[bytes]) -> list[bytes]:
        """Return the newest and evenly spaced earlier messages: decoding takes 40 µs each."""
        if len(taken) > MOST_AT_ONCE:
            step = -(-len(taken) // MOST_AT_ONCE)
            taken = taken[::-1][::step][::-1]
        if not taken:
            return []
        stamp = raw_stamp(taken[-1])
        newest = stamp.sec + 1e-9 * stamp.nanosec
        if newest == self._last.get(topic) and not topic.endswith("state"):
            return []  # a waiting simulator repeats its state
        self._last[topic] = newest
        return taken

    # Requests of browsers.

    def _on_browser_command(self, command: PageCommand) -> None:
        if command.button in _ALLOWED[self.values.controls]:
            self._buttons.press(command)


_ALLOWED = {"all": tuple(Button), "stop": (Button.STOP,), "none": ()}
"""Buttons that the parameter `controls` allows."""


def _title(robot: Robot) -> str:
    return f"{robot.name}, ROS domain {os.environ.get('ROS_DOMAIN_ID', '0')}"


class Buttons:
    """Buttons for stop, release and enable, and for pause and payload of a simulator."""

    def __init__(self, node: LiveView, store: Store) -> None:
        self._node, self._store = node, store
        self._topic = node.resolve_topic_name(TOPIC)
        self._publisher: Publisher[Bool] | None = None
        self._pressed = False
        self._published = 0.0
        self._enables: dict[str, Client[Any, Any]] = {}
        self._others: dict[str, Client[Any, Any]] = {}
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._waiting: dict[Button, PageCommand] = {}
        self._handled: dict[Button, float] = {}
        self._note = ""
        store.set(pressed=False, note="", can={})

    def press(self, command: PageCommand) -> None:
        """Handle a button of the page, each at most every BUTTON_PAUSE: the newest of it waits.

        A stop never waits: it is already sent, and repeated.
        """
        if command.button is Button.STOP:
            self._waiting.clear()
            if self._pressed and not self._may(Button.STOP):
                return
        elif not self._may(command.button):
            self._waiting.pop(command.button, None)
            self._waiting[command.button] = command
            return
        self._handled[command.button] = time.monotonic()
        self._handle(command)

    def _may(self, button: Button) -> bool:
        return time.monotonic() - self._handled.get(button, -math.inf) >= BUTTON_PAUSE

    def _handle(self, command: PageCommand) -> None:
        if command.button is Button.STOP:
            self._stop()
        elif command.button in (Button.RELEASE, Button.ENABLE):
            self._release()
            if command.button is Button.ENABLE:
                self._later(RELEASE_TIME, self._enable)
        elif command.button is Button.PAUSE:
            self._ask("set_paused", SetBool.Request(data=command.on))
        elif command.button is Button.PAYLOAD:
            self._load(command.mass, command.x)

    def find(self) -> None:
        """Find available services; withdraw the stop publisher while another node has one."""
        node = self._node
        for name, types in node.get_service_names_and_types():
            end = name.rpartition("/")[2]
            if not name.startswith(node.below):
                continue
            if end == "enable" and types == ["std_srvs/srv/SetBool"]:
                if name not in self._enables:
                    self._enables[name] = node.create_client(SetBool, name)
            elif end in ("set_paused", "set_payload") and name not in self._others:
                kind = SetBool if end == "set_paused" else SetPayload
                self._others[name] = node.create_client(kind, name)
        others = node.count_publishers(self._topic) - (self._publisher is not None)
        if not self._pressed:
            if others and self._publisher is not None:
                node.destroy_publisher(self._publisher)
                self._publisher = None
            elif not others:
                self._button()  # created early, so that it is discovered before it is pressed
        self._store.set(
            other_buttons=others,
            can={
                "pause": self._client("set_paused") is not None,
                "payload": self._client("set_payload") is not None,
            },
        )

    def look(self, now: float) -> None:
        """Repeat a pressed stop, and do what is due; called every few ms."""
        if self._pressed and now - self._published >= REPEAT_PERIOD:
            self._publish(True)
        for due in [each for each in self._due if each[0] <= now]:
            self._due.remove(due)
            due[1]()
        for waiting in [each for each in self._waiting.values() if self._may(each.button)]:
            del self._waiting[waiting.button]
            self.press(waiting)

    def _stop(self) -> None:
        self._pressed = True
        self._due.clear()
        self._publish(True)
        for client in self._enables.values():
            client.call_async(SetBool.Request(data=False))
        self._show_note("stop sent")
        self._store.set(pressed=True)
        self._node.get_logger().warning("stopped from the live view")

    def _release(self) -> None:
        self._pressed = False
        self._publish(False)
        self._store.set(pressed=False)
        self._show_note("emergency stop released")

    def _enable(self) -> None:
        commanding = {each["name"] for each in self._store.get("nodes") if each["commands"]}
        called = [name for name in self._enables if name.split("/")[-2] in commanding]
        self._node.get_logger().info(f"enabling from the live view: {', '.join(called) or 'none'}")
        if not called:
            self._show_note("there is no commanding node to enable")
        for name in called:
            self._call(name.split("/")[-2], self._enables[name], SetBool.Request(data=True))

    def _button(self) -> Publisher[Bool]:
        if self._publisher is None:
            self._publisher = self._node.create_publisher(Bool, TOPIC, LATCHED)
        return self._publisher

    def _publish(self, pressed: bool) -> None:
        self._published = time.monotonic()
        self._button().publish(Bool(data=pressed))

    def _load(self, mass: float, x: float) -> None:
        # A cube of 0.1 m on the deck: only mass and position matter.
        inertia = mass * 0.1**2 / 6.0
        self._ask("set_payload", SetPayload.Request(mass=mass, x=x, z=0.05, yaw_inertia=inertia))

    def _client(self, end: str) -> Client[Any, Any] | None:
        return next(
            (
                client
                for name, client in self._others.items()
                if name.endswith(f"/{end}") and client.service_is_ready()
            ),
            None,
        )

    def _ask(self, end: str, request: Any) -> None:
        client = self._client(end)
        if client is None:
            self._show_note(f"no node offers {end} any more")
        else:
            self._call("simulator", client, request)

    def _call(self, who: str, client: Client[Any, Any], request: Any) -> None:
        answer = client.call_async(request)

        def on_answer(future: Any) -> None:
            answered = future.result()
            said = answered.message or ("done" if answered.success else "refused")
            self._show_note(f"{who}: {said}")

        answer.add_done_callback(on_answer)

        def look() -> None:
            if not answer.done():
                client.remove_pending_request(answer)
                self._show_note(f"{who}: no answer within {SERVICE_PATIENCE:g} s")

        self._later(SERVICE_PATIENCE, look)

    def _later(self, delay: float, what: Callable[[], None]) -> None:
        self._due.append((time.monotonic() + delay, what))

    def _show_note(self, note: str) -> None:
        self._store.set(note=note, note_at=time.time())
