"""What the controllers' nodes share: parameters K5..K8, odometry, and the run.

Subscribes to `joint_states` and, with `parameters` = topic or adaptive, to `dynamic_parameters`
(diffbot_msgs/DynamicParameters; through gates), for which it publishes `~/adaptation`
(diffbot_msgs/AdaptationStatus) per estimate. Publishes `effort_controller/commands`,
`~/odom` (nav_msgs/Odometry), `/tf` (odom_frame -> base_frame), `~/state`
(diffbot_msgs/ControllerState, latched) and `~/status`. A subclass adds its reference and its law.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any

from rclpy.clock import Clock, ClockType

from arc_odometry import JointSample, Oddity
from arc_odometry.rate_limit import RateLimit
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.dynamics_source import DynamicsSource
from diffbot_controllers.feedback import WheelFeedback
from diffbot_controllers.motion import State, Torque
from diffbot_controllers.node_parameters import CONTROLLER_PARAMETERS
from diffbot_controllers.reference_input import ReferenceInput
from diffbot_controllers.telemetry import Telemetry
from diffbot_msgs.msg import ControllerState
from diffbot_node import EffortNode, Parameter, pose_from_text

STATE_RATE = 10.0  # messages on ~/state per s of robot time
LOOK_PERIOD = 0.05  # s of wall time between two looks at who is there


class ControllerNode(EffortNode):
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
        self._start: float | None = None
        self._newest = 0.0
        self._ended = False
        self._left_since: float | None = None
        self._dt = 0.0  # s since the sample before; 0: the law was not asked
        self._subscribed = False
        self._state_rate = RateLimit(STATE_RATE)
        self._telemetry = Telemetry(self, values, status_type)
        self._telemetry.state.torque_limit = self.torque_limit
        self._telemetry.state.law = self.law_name
        self.input = self.make_input()
        self._dynamics = DynamicsSource(self, self._on_dynamics)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)

    # What a subclass gives.

    @abstractmethod
    def make_input(self) -> ReferenceInput:
        """Where references go."""

    @abstractmethod
    def subscribe_to_references(self) -> None:
        """Subscribe to references, once the robot can be driven: they begin when one listens."""

    @abstractmethod
    def make_law(self, dynamics: BodyDynamics) -> Any:
        """The law: `update(state, reference, dt)`, `reset()`, `record`, `dynamics`."""

    @property
    @abstractmethod
    def law_name(self) -> str:
        """Name of the law, for `~/state`."""

    @property
    @abstractmethod
    def stream(self) -> str:
        """Name of the topic that stamped references come on."""

    @abstractmethod
    def at_rest(self, reference: Any) -> bool:
        """Whether a reference says that the robot should stand."""

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
    def dynamics(self) -> BodyDynamics | None:
        """K5..K8 in use; None before valid ones have come."""
        return self._dynamics.newest

    # References.

    def take(self, stamp: float | None, make: Any, values: dict[str, float]) -> None:
        """Take a reference that has come.

        Args:
            stamp: that it is for, s; None: it lasts.
            make: makes a reference of the values, or raises a ValueError that says what is wrong.
            values: fields of the message.
        """
        try:
            reference = make(**values)
        except ValueError as error:
            self.refused += 1
            reference = ValueError(f"{error}; send another one")
        if stamp is None:
            self.input.hold(reference)
        else:
            self.input.add(stamp, reference)
        self.resume()

    # The loop.

    def waits_for(self) -> str:
        """What is missing before torque may be commanded; empty when nothing is."""
        if missing_dynamics := self._dynamics.waits_for():
            return missing_dynamics
        missing = self.values.listeners - self._telemetry.listeners
        if missing > 0:
            return f"{missing} more subscribers of ~/status are awaited"
        return super().waits_for()

    def required_fields(self) -> tuple[str, ...]:
        """Angles, and speeds where the velocity is taken from them."""
        speeds = self.values.velocity_source == "velocity"
        return ("position", "velocity") if speeds else ("position",)

    def awaits(self, sample: JointSample) -> str:
        """In lock-step: the reference for the sample's stamp, and the estimates that count."""
        if not self.values.wait_for_reference or self.input.reaches(sample.stamp):
            return self._dynamics.awaits(sample.stamp)
        return f"no reference for the joint state of {sample.stamp:.3f} s on {self.stream}"

    def on_sample(self, sample: JointSample) -> Torque:
        """The law's torque for the sample, N m; zero until a reference has come."""
        self._dt = 0.0
        reading = self._feedback.update(sample, self.commanded)
        self._advance_to(sample.stamp, reading.oddity)
        self._dynamics.advance(sample.stamp)
        reference = self.input.at(sample.stamp)
        if reading.state is None or reference is None:
            self.law.reset()
            return 0.0, 0.0
        if self._start is None:
            self._begin(sample.stamp)
        # A rounding error of the stamps must not add a control period.
        if 0.0 < self.values.duration <= self.elapsed + 1e-6:
            self._end(ControllerState.DONE, 0, "")
            return 0.0, 0.0
        torque = self.drive(reading.state, reference, reading.dt)
        self._dt = reading.dt
        return torque

    def _advance_to(self, stamp: float, oddity: Oddity | None) -> None:
        """Take the time of a sample, s; an odd sample is refused."""
        if oddity is not None and oddity.kind == "reset":
            self._dynamics.reset(stamp)
            if self._start is not None:
                self._start += stamp - self._newest
        if oddity is None or oddity.kind != "late":
            self._newest = stamp
        if oddity is not None:
            raise ValueError(oddity.text)

    def drive(self, state: State, reference: Any, dt: float) -> Torque:
        """Ask the law; a subclass may bound the reference before."""
        return self.law.update(state, reference, dt)

    @property
    def elapsed(self) -> float:
        """Robot time since the robot began to be driven, s."""
        return 0.0 if self._start is None else self._newest - self._start

    def _begin(self, stamp: float) -> None:
        self._start = stamp
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
        if self._start is not None and self._state_rate.due(sample.stamp):
            self._publish_state(ControllerState.DRIVING)

    def on_refused(self, sample: JointSample) -> None:
        """A law starts anew after an interruption."""
        self.law.reset()
        self._publish_odometry()

    # The end.

    def _look_around(self) -> None:
        """Say what is waited for, and notice when the reference has left."""
        if self.exit_code is not None:
            return
        if not self._subscribed and not self.waits_for():
            self._subscribed = True
            self.subscribe_to_references()
        if self.count_publishers(self.stream) > 1:
            self.complain(f"more than one node publishes {self.stream}; stop all but one")
        if self._start is None:
            self._publish_waiting()
        elif self.values.leave_with_reference and self._reference_left():
            self._end_without_reference()

    def _publish_waiting(self) -> None:
        text = self.waits_for() or "a reference"
        if text != self._telemetry.state.message:
            self._publish_state(ControllerState.WAITING, text)

    def _reference_left(self) -> bool:
        """Whether nobody has published references for two looks, though more are needed."""
        needed = self.is_pending if self.values.wait_for_reference else self.input.is_stream
        if self.count_publishers(self.stream) or not needed:
            self._left_since = None
        elif self._left_since is None:
            self._left_since = time.monotonic()
        return self._left_since is not None and time.monotonic() - self._left_since > LOOK_PERIOD

    def _end_without_reference(self) -> None:
        newest = self.input.newest
        if not isinstance(newest, ValueError) and self.at_rest(newest):
            self._end(ControllerState.DONE, 0, "")
            return
        self._end(
            ControllerState.STOPPED, 1, "the reference's publisher left while it was in motion"
        )

    def _end(self, phase: int, exit_code: int, message: str) -> None:
        self._ended = True
        self.finish(exit_code, f"{message or 'done'} after {self.elapsed:.2f} s of robot time")
        self._publish_state(phase, message)

    def close(self) -> None:
        """On every way out: zero torque first, then say why."""
        super().close()
        self._dynamics.close()
        if not self._ended:
            self._publish_state(ControllerState.STOPPED, self.last_words or "interrupted")

    # Telemetry.

    def _publish_odometry(self) -> None:
        self._telemetry.publish_odometry(self._newest, self._feedback.odometry)

    def _publish_state(self, phase: int, message: str = "") -> None:
        state = self._telemetry.state
        state.elapsed, state.refused = self.elapsed, self.refused
        self._telemetry.publish_state(self._newest, phase, message, self.dynamics)
