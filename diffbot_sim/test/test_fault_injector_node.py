# SPDX-License-Identifier: Apache-2.0
"""The fault_injector node between a publisher and a subscriber."""

import time

import pytest

rclpy = pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseStamped  # noqa: E402
from nav_msgs.msg import OccupancyGrid, Odometry, Path  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402

import diffbot_sim.faults.injector as injector_module  # noqa: E402
from diffbot_node import Node, to_stamp  # noqa: E402
from diffbot_node.intra_process import IntraProcess  # noqa: E402
from diffbot_sim.faults import Fault, FaultInjector  # noqa: E402
from diffbot_sim.faults.fault_injector_node import FaultInjectorNode  # noqa: E402
from diffbot_sim.simulator_node import SimulatorNode  # noqa: E402

STATES = "relays:\n  - {topic: joint_states, type: sensor_msgs/msg/JointState}\n"


def state(t):
    message = JointState(
        name=["left_wheel_joint", "right_wheel_joint"],
        position=[0.1 + t, 1e-17 * t],
        velocity=[1.0 / 3.0, -2.0],
        effort=[0.5, float("nan")],
    )
    message.header.stamp = to_stamp(t)
    message.header.frame_id = "base"
    return message


class Peer:
    """The node with its script, and those on both of its sides."""

    def __init__(self, file, script, **parameters):
        file.write_text(script)
        values = {"script": str(file), "use_sim_time": True, **parameters}
        words = [w for k, v in values.items() for w in ("-p", f"{k}:={v}")]
        rclpy.init(args=["--ros-args", *words])
        try:
            self.node = FaultInjectorNode()
        except BaseException:
            rclpy.try_shutdown()
            raise
        self.peer = rclpy.create_node("peer", use_global_arguments=False)
        self.executor = SingleThreadedExecutor()
        for node in (self.peer, self.node):
            self.executor.add_node(node)
        self.ticks = self.peer.create_publisher(Clock, "/clock", 10)
        self.said = []
        for level in ("info", "warning", "error"):
            setattr(self.node.get_logger(), level, self.said.append)

    def until(self, condition, timeout=10.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end
            self.executor.spin_once(timeout_sec=0.01)

    def connect(self, kind=JointState, topic="joint_states", qos=10, hearing=10):
        """A publisher of the input, and what is heard of the output."""
        heard = []
        publisher = self.peer.create_publisher(kind, topic, qos)
        self.listener = self.peer.create_subscription(
            kind, f"faulty/{topic}", heard.append, hearing
        )
        self.until(publisher.get_subscription_count)
        self.until(lambda: self.peer.count_publishers(f"faulty/{topic}"))
        self.until(lambda: self.node_output(f"/faulty/{topic}"))
        return publisher, heard

    def node_output(self, topic):
        """How many listen to a topic that the node publishes."""
        (output,) = [p for p in self.node.publishers if p.topic_name == topic]
        return output.get_subscription_count()

    def tick(self, t):
        """Let the clock stand at t, s."""
        self.ticks.publish(Clock(clock=to_stamp(t)))
        self.until(lambda: self.node.get_clock().now().nanoseconds == round(t * 1e9))

    def spin(self, wall):
        """Go on for a while, s of wall time."""
        end = time.monotonic() + wall
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def close(self):
        if not rclpy.ok():
            return
        self.node.close()
        self.node.destroy_node()
        self.peer.destroy_node()
        rclpy.try_shutdown()


@pytest.fixture
def make(tmp_path):
    peers = []

    def create(script, **parameters):
        peers.append(Peer(tmp_path / "faults.yaml", script, **parameters))
        return peers[-1]

    yield create
    for peer in peers:
        peer.close()


def times(heard):
    return [round(m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec, 3) for m in heard]


def test_without_faults_each_bit_passes(make):
    peer = make(STATES)
    publisher, heard = peer.connect()
    sent = [state(0.1 * k) for k in range(5)]
    for k, message in enumerate(sent):
        publisher.publish(message)
        peer.until(lambda k=k: len(heard) > k)
    # By their text: NaN differs from itself.
    assert repr(heard) == repr(sent)


def test_a_composed_simulation_is_the_same_to_the_last_digit(make, monkeypatch):
    """A controller whose torque depends on each digit of the state, with the node and without."""
    script = STATES + (
        "  - topic: commands\n    type: std_msgs/msg/Float64MultiArray\n"
        "    input: faulty/commands\n    output: effort_controller/commands\n"
    )
    runs = []
    for prefix, output in (("", "effort_controller/commands"), ("faulty/", "faulty/commands")):
        room = IntraProcess()
        monkeypatch.setattr(Node, "room", room)
        # Only one node may publish what the simulator takes.
        peer = make(script if prefix else STATES, engine="ideal")
        peer.peer.destroy_publisher(peer.ticks)  # the clock is the simulator's
        controller, simulator = Node("controller"), SimulatorNode()
        for node in (controller, simulator):
            peer.executor.add_node(node)
        commands, states = controller.create_publisher(Float64MultiArray, output, 10), []

        def answer(message, states=states, commands=commands):
            # The first state is published again until it is answered.
            if states and message.header.stamp == states[-1].header.stamp:
                return
            states.append(message)
            pull = [0.3 - 0.1 * speed for speed in message.velocity]
            commands.publish(Float64MultiArray(data=[pull[0], 0.5 * pull[1]]))

        controller.create_subscription(JointState, f"{prefix}joint_states", answer, 10)
        peer.until(lambda room=room, states=states: room.deliver(0.01) and len(states) >= 30)
        runs.append(repr(states[:30]))
        for node in (simulator, controller):
            node.destroy_node()
        peer.close()
    assert runs[0] == runs[1]
    assert len(set(runs[0].split("position="))) == 31  # the robot moves


def test_faults_follow_the_clock_and_are_told_once(make):
    peer = make(
        STATES + "faults:\n"
        "  - {topic: joint_states, kind: off, start: 0.1, duration: 0.2}\n"
        "  - {topic: joint_states, kind: delayed, start: 0.5, duration: 0.1, delay: 0.25}\n"
    )
    publisher, heard = peer.connect()
    for k in range(1, 10):
        peer.tick(0.1 * k)
        publisher.publish(state(0.1 * k))
        # 0.1 and 0.2 are lost, 0.5 is due at 0.75, which is seen at 0.8, and keeps those behind
        # it, 0.6 and 0.7, waiting.
        count = {3: 1, 4: 2, 8: 6, 9: 7}.get(k)
        if count:
            peer.until(lambda count=count: len(heard) >= count)
        else:
            peer.spin(0.05)
        assert len(heard) == {1: 0, 2: 0, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2, 8: 6, 9: 7}[k]
    assert times(heard) == [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    reported = [words for words in peer.said if "joint_states" in words]
    assert reported == [
        "begins: joint_states off start=0.1 duration=0.2",
        "has ended: joint_states off start=0.1 duration=0.2",
        "begins: joint_states delayed start=0.5 duration=0.1 delay=0.25",
        "has ended: joint_states delayed start=0.5 duration=0.1 delay=0.25",
    ]


def test_what_waits_comes_out_when_the_clock_ticks_and_no_more_messages_come(make):
    peer = make(STATES + "faults:\n  - {topic: joint_states, kind: delayed, delay: 0.1}\n")
    publisher, heard = peer.connect()
    peer.tick(1.0)
    publisher.publish(state(1.0))
    peer.spin(0.1)
    peer.tick(1.09)
    peer.spin(0.1)
    assert not heard
    peer.tick(1.1)
    peer.until(lambda: heard)


def test_without_simulated_time_it_counts_from_the_first_message(make):
    script = "faults:\n  - {topic: joint_states, kind: off, start: 0.0, duration: 0.4}\n"
    peer = make(STATES + script, use_sim_time=False)
    publisher, heard = peer.connect()
    peer.spin(0.1)
    begin = time.monotonic()
    while not heard:
        assert time.monotonic() - begin < 10.0
        publisher.publish(state(1.0))
        peer.spin(0.02)
    assert time.monotonic() - begin > 0.4


def test_time_that_goes_back_begins_the_script_anew(make):
    peer = make(STATES + "faults:\n  - {topic: joint_states, kind: off, start: 5.0}\n")
    publisher, heard = peer.connect()
    peer.tick(6.0)
    publisher.publish(state(6.0))
    peer.until(lambda: any("begins: joint_states off" in words for words in peer.said))
    peer.tick(1.0)
    publisher.publish(state(1.0))
    peer.until(lambda: heard)
    assert times(heard) == [1.0]
    assert any("time went back from 6 s to 1 s" in words for words in peer.said)


def test_best_effort_publishers_and_subscribers_are_served(make):
    peer = make(STATES)
    qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    heard = []
    publisher = peer.peer.create_publisher(JointState, "joint_states", qos)
    peer.peer.create_subscription(JointState, "faulty/joint_states", heard.append, qos)
    peer.until(publisher.get_subscription_count)
    end = time.monotonic() + 10.0
    while not heard:
        assert time.monotonic() < end
        publisher.publish(state(1.0))
        peer.spin(0.02)


def test_a_latched_message_reaches_those_who_come_late(make):
    peer = make("relays:\n  - {topic: emergency_stop, type: std_msgs/msg/Bool, latched: true}\n")
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = peer.peer.create_publisher(Bool, "emergency_stop", latched)
    publisher.publish(Bool(data=True))
    peer.until(publisher.get_subscription_count)
    peer.spin(0.1)
    heard = []
    peer.peer.create_subscription(Bool, "faulty/emergency_stop", heard.append, latched)
    peer.until(lambda: heard)
    assert heard == [Bool(data=True)]


def test_commands_of_a_wrong_length_and_of_garbage(make):
    peer = make(
        "relays:\n  - {topic: commands, type: std_msgs/Float64MultiArray}\nfaults:\n"
        "  - {topic: commands, kind: wrong, arrays: extra, duration: 0.1}\n"
        "  - {topic: commands, kind: garbage, value: .inf, fields: ['data[1]'], start: 0.1}\n"
    )
    publisher, heard = peer.connect(Float64MultiArray, "commands")
    for k in range(2):
        peer.tick(0.05 + 0.1 * k)
        publisher.publish(Float64MultiArray(data=[0.25, -0.25]))
        peer.until(lambda k=k: len(heard) > k)
    assert [list(m.data) for m in heard] == [[0.0, 0.25, -0.25], [0.25, float("inf")]]


def through(message, **settings):
    """A message after a fault that hits it."""
    injector = FaultInjector([Fault("a", **settings)])
    injector.push(0.0, message)
    return injector.due(0.0)[0]


def test_messages_with_fields_of_all_types():
    odometry = Odometry()
    odometry.pose.pose.position.x = 2.0
    odometry.pose.covariance[7] = 4.0
    wrong = through(odometry, kind="wrong", scale=0.5)
    assert (wrong.pose.pose.position.x, wrong.pose.covariance[7]) == (1.0, 2.0)
    assert through(odometry, kind="garbage", value="nan", fields=["pose.pose.orientation.w"]) != (
        odometry
    )
    short = through(odometry, kind="wrong", arrays="short")
    assert len(short.pose.covariance) == 36  # arrays of a fixed length keep it
    grid = OccupancyGrid(data=[1, 2, 3])
    grid.info.width = 3
    for value, data, width in ((1e10, [127] * 3, 2**32 - 1), (-1e10, [-128] * 3, 0)):
        wild = through(grid, kind="garbage", value=value)
        assert (list(wild.data), wild.info.width) == (data, width)
    # No whole number is NaN: they stay.
    assert list(through(grid, kind="garbage", value="nan").data) == [1, 2, 3]
    assert through(Bool(data=True), kind="garbage", fields=["data"]).data in (True, False)
    path = Path(poses=[PoseStamped(), PoseStamped()])
    path.poses[1].header.stamp.sec = 5
    late = through(path, kind="wrong", offset=2.5, fields=["poses.header.stamp"])
    assert [(p.header.stamp.sec, p.header.stamp.nanosec) for p in late.poses] == [
        (2, 500_000_000),
        (7, 500_000_000),
    ]
    one = through(path, kind="garbage", value=9.0, fields=["poses[1].header.stamp"])
    assert [p.header.stamp.sec for p in one.poses] == [0, 9]
    assert len(through(path, kind="wrong", arrays="extra").poses) == 3


def test_a_full_queue_is_told_once(make, monkeypatch):
    monkeypatch.setattr(injector_module, "CAPACITY", 2)
    peer = make(STATES + "faults:\n  - {topic: joint_states, kind: delayed, delay: 9}\n")
    publisher, heard = peer.connect()
    peer.tick(1.0)
    for _ in range(5):
        publisher.publish(state(1.0))
    peer.until(lambda: peer.node._topics[0].injector.lost == 3)
    assert sum("more are lost" in words for words in peer.said) == 1
    assert not heard


def test_alone_it_leaves_when_it_has_lost_its_company(make):
    peer = make(STATES, leave_when_alone=True)
    peer.connect()
    peer.spin(0.15)
    assert peer.node.exit_code is None
    peer.peer.destroy_subscription(peer.listener)
    peer.until(lambda: peer.node.exit_code is not None)
    assert peer.node.exit_code == 0
    assert any("no subscriber of /faulty/joint_states any more" in words for words in peer.said)


def test_alone_it_does_not_wait_for_ever(make):
    peer = make(STATES, leave_when_alone=True, patience=0.2)
    peer.until(lambda: peer.node.exit_code is not None)
    assert peer.node.exit_code == 1
    assert any("wall time: no publisher of /joint_states" in words for words in peer.said)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("faults: []\n", "relays: must name at least one topic"),
        (
            "relays:\n  - {topic: a, type: sensor_msgs/msg/Joint}\n",
            "message type 'sensor_msgs/msg/Joint' not found",
        ),
        ("relays:\n  - {topic: a, type: no_such/Joint}\n", "not found; is its package built"),
        (
            STATES + "faults:\n  - {topic: joint_states, kind: garbage, fields: [header.time]}\n",
            "joint_states, garbage at 0 s: fields: 'header.time': Header has no field 'time'; it "
            "has stamp, frame_id",
        ),
        (
            STATES + "faults:\n  - {topic: joint_states, kind: wrong, scale: 2, fields: [name]}\n",
            "'name' is sequence<string>: scale, offset and wrap change numbers",
        ),
        (
            "relays:\n  - {topic: a, type: std_msgs/Bool, output: /a}\n",
            "a: input and output are both /a: remap one of them",
        ),
    ],
)
def test_a_wrong_script_is_refused(tmp_path, script, words):
    with pytest.raises(ValueError) as error:
        Peer(tmp_path / "faults.yaml", script)
    assert words in str(error.value)


def test_a_script_is_needed():
    rclpy.init(args=[])
    try:
        with pytest.raises(ValueError, match="parameter 'script' = '': must be the path of a"):
            FaultInjectorNode()
    finally:
        rclpy.try_shutdown()
