"""The backstep_controller node: non-smooth backstepping, Lages (2018).

Subscribes to `joint_states`, `~/command` and `~/reference`; publishes `effort_controller/commands`,
`~/status` (diffbot_msgs/BackstepStatus, every variable of Listing 3, once per control period),
`~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from diffbot_controllers.backstepping_published import PublishedBackstepping
from diffbot_controllers.backstepping_standard import StandardBackstepping
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.motion import Reference, State, Torque
from diffbot_controllers.nonsmooth import NonsmoothGains
from diffbot_controllers.pose_tracking_node import POSE_PARAMETERS, PoseTrackingNode
from diffbot_controllers.status_messages import fill_backstep_status
from diffbot_controllers.tuning import tuned_backstepping
from diffbot_msgs.msg import BackstepStatus
from diffbot_node import Parameter

PARAMETERS = (
    *POSE_PARAMETERS,
    Parameter(
        "law",
        "standard",
        "the corrected, practical law, or Listing 3 to the letter (within the torque limits)",
        choices=("standard", "published"),
    ),
    Parameter(
        "gammas",
        (),
        "rates, 1/s: [gamma_1, gamma_2] with law = standard, gamma_1 to gamma_4 with published; "
        "[]: tuned to the robot, or the paper's",
        above=0.0,
    ),
    Parameter(
        "lambdas",
        (),
        "weights: [lambda_2, lambda_3] with law = standard, lambda_1 to lambda_5 with published; "
        "[]: the law's own",
        above=0.0,
    ),
    Parameter(
        "time_step", 0.01, "period that law = published is made for, s", above=0.0, maximum=1.0
    ),
)


class BackstepNode(PoseTrackingNode):
    """ROS side of the backstepping laws."""

    def __init__(self) -> None:
        super().__init__("backstep_controller", PARAMETERS)
        self._status = BackstepStatus()
        self._status.header.frame_id = self.values.odom_frame
        self._status_topic = self.create_publisher(BackstepStatus, "~/status", 100)

    @property
    def law_name(self) -> str:
        """Which law it is."""
        return self.values.law

    def listened_to(self) -> int:
        """Subscribers of `~/status`."""
        return self._status_topic.get_subscription_count()

    def make_law(self, dynamics: BodyDynamics) -> StandardBackstepping | PublishedBackstepping:
        """The law that the parameters ask for."""
        values = self.values
        published = values.law == "published"
        gammas = self._numbers("gammas", 4 if published else 2)
        lambdas = self._numbers("lambdas", 5 if published else 2)
        if published:
            default = NonsmoothGains()
            gains = NonsmoothGains(lambdas or default.lambdas, gammas or default.gammas)
            return PublishedBackstepping(dynamics, gains, values.time_step, self.torque_limit)
        bounds = self.speed_limits()
        gamma1, gamma2 = gammas or (None, None)
        return tuned_backstepping(
            dynamics,
            self.torque_limit,
            bounds.v,
            bounds.omega,
            values.direction,
            mean_velocity=values.velocity_source == "position",
            gamma1=gamma1,
            gamma2=gamma2,
            ratio=lambdas[1] / lambdas[0] if lambdas else None,
        )

    def _numbers(self, name: str, count: int) -> tuple[float, ...]:
        numbers = getattr(self.values, name)
        if len(numbers) not in (0, count):
            raise ValueError(
                f"parameter '{name}' = {list(numbers)}: must be {count} numbers with law = "
                f"{self.values.law}, or [] for its own"
            )
        return numbers

    def drive(self, state: State, reference: Reference, dt: float) -> Torque:
        """The law's torque, N m.

        Raises:
            ValueError: the published law has ignored joint states for too long. It would hold its
                last torque for ever.
        """
        torque = super().drive(state, reference, dt)
        ignored = getattr(self.law, "ignored", 0)
        if ignored * dt > self.values.input_timeout:
            step = self.values.time_step
            raise ValueError(
                f"law = published has ignored {ignored} joint states in a row: they come every "
                f"{dt:.4g} s, and it needs one every {step} s within 5 %; set time_step, or use "
                "law = standard"
            )
        return torque

    def publish_status(self, stamp: float, dt: float, torque: Torque) -> None:
        """Publish what Listing 3 publishes."""
        if self.law.record is not None:
            fill_backstep_status(self._status, stamp, self.law.record, torque)
            self._status_topic.publish(self._status)
