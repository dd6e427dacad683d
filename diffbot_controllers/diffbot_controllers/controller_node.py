"""What the controllers' nodes share: parameters K5..K8, odometry, and the run.

Subscribes to `joint_states` and, with `parameters` = topic or adaptive, to `dynamic_parameters`
(diffbot_msgs/DynamicParameters; through gates), for which it publishes `~/adaptation`
(diffbot_msgs/AdaptationStatus) per estimate. Publishes `effort_controller/commands`,
`~/odom` (nav_msgs/Odometry), `/tf` (odom_frame -> base_frame), `~/state`
(diffbot_msgs/ControllerState, latched) and `~/status`. A subclass adds its reference and its law.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from arc_odometry import JointSample
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.dynamics_source import DynamicsSource
from diffbot_controllers.feedback import WheelFeedback
from diffbot_controllers.motion import State, Torque
from diffbot_controllers.node_parameters import CONTROLLER_PARAMETERS
from diffbot_controllers.reference_follower import ReferenceFollower
from diffbot_controllers.reference_input import ReferenceInput
from diffbot_controllers.telemetry import Telemetry
from diffbot_node import EffortNode, KeptTopic, Parameter, pose_from_text


class ControllerNode(ReferenceFollower, EffortNode):
    """A law on a robot; the mathematics is the law's and WheelFeedback's.

    Args:
        name: name of the node.
        parameters: the subclass's own parameters; CONTROLLER_PARAMETERS are added.
        status_type: type of `~/status`.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    def __init__(self, name: str, parameters: tuple[Parameter, ...], status_type: type) -> None:
        super().__init__(name, (*CONTROLLER_PARAMETERS, *parameters))
        values = self.values
        self._feedback = WheelFeedback(
            self.geometry,
            pose_from_text("start", values.start),
            values.path_noise,
            values.velocity_source == "position",
        )
        self._dt = 0.0  # s since the sample before; 0: the law was not asked
        self._telemetry = Telemetry(self, values, status_type)
        self._telemetry.state.torque_limit = self.torque_limit
        self._telemetry.state.law = self.law_name
        self.follow(self.make_input())
        self._dynamics = DynamicsSource(self, self._on_dynamics)

    # What a subclass gives.

    @abstractmethod
    def make_input(self) -> ReferenceInput:
        """Where references go."""

    @abstractmethod
    def make_law(self, dynamics: BodyDynamics) -> Any:
        """The law: `update(state, reference, dt)`, `reset()`, `record`, `dynamics`."""

    @property
    @abstractmethod
    def law_name(self) -> str:
        """Name of the law, for `~/state`."""

    @abstractmethod
    def fill_status(self, status: Any, stamp: float, dt: float, torque: Torque) -> None:
        """Put `law.record` into a message; stamp and period in s, torque commanded in N m."""

    # Dynamic parameters.

    def _on_dynamics(self, dynamics: BodyDynamics) -> None:
        if self._start is None:
            self.law = self.make_law(dynamics)  # with gains that suit them
        else:
            self.law.dynamics = dynamics

    @property
    def kept_topics(self) -> tuple[KeptTopic, ...]:
        """`~/status` and, where parameters are live, `~/adaptation`."""
        return (self._telemetry.status_topic, *self._dynamics.kept_topics)

    @property
    def dynamics(self) -> BodyDynamics | None:
        """K5..K8 in use; None before valid ones have come."""
        return self._dynamics.newest

    # The loop.

    def waits_for(self) -> str:
        """What is missing before torque may be commanded; empty when nothing is."""
        if missing_dynamics := self._dynamics.waits_for():
            return missing_dynamics
        return super().waits_for()

    def required_fields(self) -> tuple[str, ...]:
        """Angles, and speeds where the velocity is taken from them."""
        speeds = self.values.velocity_source == "velocity"
        return ("position", "velocity") if speeds else ("position",)

    def awaits(self, sample: JointSample) -> str:
        """In lock-step: the reference for the sample's stamp, and the estimates that count."""
        return super().awaits(sample) or self._dynamics.awaits(sample.stamp)

    def on_sample(self, sample: JointSample) -> Torque:
        """The law's torque for the sample, N m; zero until a reference has come."""
        self._dt = 0.0
        reading = self._feedback.update(sample, self.commanded)
        if reading.oddity is not None and reading.oddity.kind == "reset":
            self._dynamics.reset(sample.stamp)
        self.advance_to(sample.stamp, reading.oddity)
        self._dynamics.advance(sample.stamp)
        reference = self.input.at(sample.stamp)
        if reading.state is None or reference is None:
            self.law.reset()
            return 0.0, 0.0
        if self.begin(sample.stamp):
            self._say_how()
        if self.ends_now():
            return 0.0, 0.0
        torque = self.drive(reading.state, reference, reading.dt)
        self._dt = reading.dt
        return torque

    def drive(self, state: State, reference: Any, dt: float) -> Torque:
        """Ask the law; a subclass may bound the reference before."""
        return self.law.update(state, reference, dt)

    def _say_how(self) -> None:
        self.get_logger().info(
            f"driving robot '{self.robot.name}' by law '{self.law_name}' with at most "
            f"{self.torque_limit:g} N m, parameters from {self.values.parameters}: "
            f"{self.dynamics}"
        )

    def on_commanded(self, sample: JointSample, torque: Torque) -> None:
        """Publish what the law knows, the odometry, and now and then the state."""
        if self.exit_code is not None:
            return
        if self._dt > 0.0 and self.law.record is not None:
            self.fill_status(self._telemetry.status, sample.stamp, self._dt, torque)
            self._telemetry.publish_status()
        self._publish_odometry()
        self.tell_state(sample.stamp)

    def on_refused(self, sample: JointSample) -> None:
        """A law starts anew after an interruption."""
        self.law.reset()
        self._publish_odometry()

    def on_stopped(self, sample: JointSample) -> None:
        """Somebody may push the robot about: odometry goes on, and the law starts anew."""
        self._dt = 0.0
        try:
            self.advance_to(sample.stamp, self._feedback.update(sample, self.commanded).oddity)
        except ValueError as error:
            self.complain(str(error))
        self.law.reset()
        self._publish_odometry()

    def close(self) -> None:
        """On every way out: zero torque first, then say why, and keep what was learnt."""
        super().close()
        self._dynamics.close()

    def on_look(self) -> None:
        """Estimates that came before their listeners are judged once these are there."""
        self._dynamics.look()

    # Telemetry.

    def _publish_odometry(self) -> None:
        self._telemetry.publish_odometry(self._newest, self._feedback.odometry)

    def publish_state(self, stamp: float, phase: int, message: str) -> None:
        """What the node is doing, with the parameters in use."""
        state = self._telemetry.state
        state.elapsed, state.refused = self.elapsed, self.refused
        state.judgements = sum(topic.count for topic in self._dynamics.kept_topics)
        self._telemetry.publish_state(stamp, phase, message, self.dynamics)
