"""Where a controller's node has K5..K8 from."""

from __future__ import annotations

from collections.abc import Callable

from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.parameter_file import read_dynamics, usable_dynamics
from diffbot_description import Robot, RobotModel, closed_form, urdf
from diffbot_msgs.msg import DynamicParameters
from diffbot_node import EffortNode

FROM_ROBOT, FROM_TOPIC = "robot", "topic"


def nominal_dynamics(robot: Robot) -> BodyDynamics:
    """The closed form of K5..K8 of a robot's description."""
    k = closed_form(RobotModel.from_urdf(urdf(robot), robot.joints.left, robot.joints.right))
    return BodyDynamics(k.k5, k.k6, k.k7, k.k8)


class DynamicsSource:
    """K5..K8 of the robot's description, of a file, or of `dynamic_parameters`.

    Args:
        node: of the controller.
        source: "robot", "topic" or the path of a file.
        use: called with each that may be used, and once before this returns: for a topic with the
            description's, so that what is wrong with a law is said at the start. A ValueError
            refuses them.

    Attributes:
        newest: those in use; None before valid ones have come on the topic.

    Raises:
        ValueError: the file does not hold parameters that may be used.
    """

    def __init__(self, node: EffortNode, source: str, use: Callable[[BodyDynamics], None]) -> None:
        self.newest: BodyDynamics | None = None
        self._node = node
        self._use = use
        if source == FROM_TOPIC:
            use(nominal_dynamics(node.robot))
            node.create_subscription(DynamicParameters, "dynamic_parameters", self._on_message, 10)
        elif source == FROM_ROBOT:
            self._take(nominal_dynamics(node.robot))
        else:
            self._take(read_dynamics(source, node.robot.name))

    def _take(self, dynamics: BodyDynamics) -> None:
        self._use(dynamics)
        self.newest = dynamics

    def _on_message(self, message: DynamicParameters) -> None:
        self._node.keep_waiting()  # an identification takes longer than anybody's patience
        if message.state != DynamicParameters.ESTIMATED:
            return
        try:
            values = (message.k5, message.k6, message.k7, message.k8)
            self._take(usable_dynamics(values, tuple(message.covariance_diagonal.tolist())))
        except ValueError as error:
            self._node.refused += 1
            self._node.complain(f"dynamic_parameters refused: {error}; those of before stay")
