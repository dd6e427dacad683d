"""Where a controller's node has K5..K8 from."""

from __future__ import annotations

from collections.abc import Callable

from diffbot_controllers.adaptation import Adaptation
from diffbot_controllers.adaptation_parameters import NOWHERE, adaptation_settings
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.last_good import LastGood
from diffbot_controllers.live_dynamics import LiveDynamics
from diffbot_controllers.parameter_file import read_dynamics
from diffbot_description import Robot, RobotModel, closed_form, urdf
from diffbot_node import EffortNode, KeptTopic

FROM_ROBOT, FROM_TOPIC, ADAPTIVE = "robot", "topic", "adaptive"


def nominal_dynamics(robot: Robot) -> BodyDynamics:
    """The closed form of K5..K8 of a robot's description."""
    k = closed_form(RobotModel.from_urdf(urdf(robot), robot.joints.left, robot.joints.right))
    return BodyDynamics(k.k5, k.k6, k.k7, k.k8)


class DynamicsSource:
    """K5..K8 of the robot's description, of a file, or live from `dynamic_parameters`.

    Live estimates go through the gates of Adaptation. With `adaptive` the robot drives with the
    nominal or the last good parameters from the start, which follow the estimates; with `topic` it
    waits until the gates let a first estimate pass, and drives with that. So the first set is
    either trusted or, unless `require_verified` says otherwise, verified.

    Args:
        node: of the controller, with CONTROLLER_PARAMETERS and ADAPTATION_PARAMETERS.
        use: called with each that may be used, and once before this returns: for a topic with the
            nominal ones, so that what is wrong with a law is said at the start. A ValueError
            refuses them.

    Raises:
        ValueError: a file does not hold parameters that may be used, or a setting is wrong.
    """

    def __init__(self, node: EffortNode, use: Callable[[BodyDynamics], None]) -> None:
        self._node = node
        self._live: LiveDynamics | None = None
        self._newest: BodyDynamics | None = None
        source = node.values.parameters
        if source in (FROM_TOPIC, ADAPTIVE):
            self._live = self._follow(use, adaptive=source == ADAPTIVE)
        else:
            self._newest = self._read(source)
            use(self._newest)

    @property
    def newest(self) -> BodyDynamics | None:
        """Those in use; None before valid ones have come on the topic."""
        if self._live is None:
            return self._newest
        adaptation = self._live.adaptation
        return adaptation.in_use if adaptation.is_started else None

    @property
    def kept_topics(self) -> tuple[KeptTopic, ...]:
        """`~/adaptation` where they are live."""
        return (self._live.topic,) if self._live else ()

    def look(self) -> None:
        """Called now and then."""
        if self._live is not None:
            self._live.look()

    def waits_for(self) -> str:
        """What is missing before the robot may be driven; empty when nothing is."""
        if self.newest is None:
            return (
                "no valid dynamic_parameters yet (~/adaptation says why); start an identification "
                "that verifies them, or give the file of one as `parameters`"
            )
        if self._live and self._node.values.wait_for_estimates and not self._live.is_offered:
            return "nobody publishes dynamic_parameters; start dynamics_estimator"
        return ""

    def awaits(self, stamp: float) -> str:
        """What has to come before the joint state of a stamp (s) can be answered."""
        if self._live is None or not self._node.values.wait_for_estimates:
            return ""
        if self._live.reaches(stamp):
            return ""
        return f"no dynamic_parameters for the joint state of {stamp:.3f} s"

    def advance(self, stamp: float) -> None:
        """Take in the estimates that count from a stamp on, s."""
        if self._live is not None:
            self._live.advance(stamp)

    def reset(self, stamp: float) -> None:
        """The joint states' time was set back to a stamp, s."""
        if self._live is not None:
            self._live.reset(stamp)

    def close(self) -> None:
        """Keep what was learnt."""
        if self._live is not None:
            self._live.close()

    def _read(self, source: str) -> BodyDynamics:
        robot = self._node.robot
        return (
            nominal_dynamics(robot) if source == FROM_ROBOT else read_dynamics(source, robot.name)
        )

    def _follow(self, use: Callable[[BodyDynamics], None], adaptive: bool) -> LiveDynamics:
        node, values = self._node, self._node.values
        settings = adaptation_settings(values, adaptive)
        nominal, half_track = self._read(values.nominal_parameters), node.geometry.half_track
        kept = None
        if values.last_good not in ("", NOWHERE):
            kept = LastGood(values.last_good, node.robot.name)
        adaptation = Adaptation(nominal, half_track, settings, started=adaptive)
        if kept is not None and adaptive:
            try:
                start = kept.restore()
                if start is not None:
                    adaptation = Adaptation(nominal, half_track, settings, start)
                    node.get_logger().info(f"parameters begin as kept in {kept.path}: {start}")
            except ValueError as error:
                node.get_logger().warning(f"last_good refused: {error}; the nominal ones are used")
        use(adaptation.in_use)
        return LiveDynamics(node, adaptation, use, kept)
