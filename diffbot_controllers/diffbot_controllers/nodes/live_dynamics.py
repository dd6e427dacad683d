# SPDX-License-Identifier: Apache-2.0
"""Sources of K5..K8 for a controller's node: a description, a file, or live estimates.

Live ones arrive on `dynamic_parameters` and must pass the gates of Adaptation, whose result is on
`~/adaptation`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from arc_odometry.joints import STAMP_TOLERANCE
from diffbot_controllers.adaptation import Adaptation, Gate, Judgement, LiveEstimate
from diffbot_controllers.friction_adaptation import (
    FrictionAdaptation,
    friction_laws,
    friction_values,
    is_adaptable,
)
from diffbot_controllers.known_dynamics import FROM_ROBOT, KnownDynamics
from diffbot_controllers.laws.friction import Laws
from diffbot_controllers.nodes.dynamics_source import (
    ADAPTIVE,
    IGNORED_FRICTION,
    NOWHERE,
    DynamicsParameters,
    DynamicsSource,
)
from diffbot_controllers.nodes.references import LOOK_PERIOD
from diffbot_controllers.parameter_reader import ParameterCheckpoint
from diffbot_description import DynamicParameters
from diffbot_ident.interpretation.fleet_prior import read_prior
from diffbot_msgs import msg
from diffbot_node import CountedTopic, EffortNode, seconds, to_stamp
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.verdicts import GOOD, Level, Verdict

Use = Callable[[DynamicParameters, Laws], None]


def live_dynamics(
    node: EffortNode[DynamicsParameters], known: KnownDynamics, use: Use
) -> LiveDynamics:
    """Return the live parameters selected by a controller's ROS parameters.

    With `adaptive` the robot drives from the start with the nominal or the last good parameters,
    which then follow the estimates. With `topic` it waits until a first estimate passes the gates.

    Args:
        use: Called with each usable set and the friction, also once before this returns; rejects
            them by a ValueError.

    Raises:
        ValueError: A file contains no usable parameters, or a setting is wrong.
    """
    values = node.values
    adaptive = values.parameters == ADAPTIVE
    nominal, half_track = known.dynamics, node.geometry.half_track
    prior = None
    if values.prior not in ("", NOWHERE):
        prior = read_prior(values.prior, node.robot)
        if values.nominal_parameters == FROM_ROBOT:
            nominal = DynamicParameters(*prior.values)
        node.get_logger().info(f"parameters stay within {prior.about} in {values.prior}")
    checkpoint = None
    if values.last_good not in ("", NOWHERE):
        checkpoint = ParameterCheckpoint(values.last_good, node.robot.name)
    adaptation = Adaptation(nominal, half_track, values, started=adaptive, prior=prior)
    kept_friction: tuple[float | None, ...] = (None,) * 4
    if checkpoint is not None and adaptive:
        try:
            kept = checkpoint.restore()
            if kept is not None:
                adaptation = Adaptation(nominal, half_track, values, kept[0], prior=prior)
                kept_friction = kept[1]
                node.get_logger().info(f"parameters begin as kept in {checkpoint.path}: {kept[0]}")
        except ValueError as error:
            node.get_logger().warning(f"last_good refused: {error}; the nominal ones are used")
    known_friction = known.friction
    friction = FrictionAdaptation(
        friction_values(known_friction),
        node.robot.limits.torque,
        node.robot.wheel_speed,
        values,
        kept_friction,
    )
    follows = _follows_friction(values, known_friction)
    laws = friction_laws(known_friction, friction.in_use) if follows else known_friction
    use(adaptation.in_use, laws)
    return LiveDynamics(node, adaptation, friction, known_friction, use, checkpoint)


def _follows_friction(values: DynamicsParameters, known: Laws) -> bool:
    return values.friction != IGNORED_FRICTION and is_adaptable(known)


TOPIC = "dynamic_parameters"
# Largest lead of an estimate over the joint states, s; more is another clock's.
LONGEST_LEAD = 1.0
LONG_AGO = -math.inf  # stamp before the first estimate, s
# Gates that cause a warning; the others are closed often.
ALARMING = {Gate.FINITE, Gate.PHYSICAL, Gate.LAW}


class LiveDynamics(DynamicsSource):
    """Receives estimates from `dynamic_parameters`, judges them, and publishes each judgement.

    An estimate is used a fixed robot time after its stamp, whatever its transport takes: with
    `wait_for_estimates` a run in lock-step repeats to the last digit.
    """

    def __init__(
        self,
        node: EffortNode[DynamicsParameters],
        adaptation: Adaptation,
        friction: FrictionAdaptation,
        known: Laws,
        use: Use,
        checkpoint: ParameterCheckpoint | None,
    ) -> None:
        super().__init__(adaptation.in_use if adaptation.is_started else None)
        self._adaptation = adaptation
        self._friction = friction
        self._known_friction = known
        self._node = node
        self._use = use
        self._checkpoint = checkpoint
        self._delay = node.values.estimate_delay
        self._waiting: deque[LiveEstimate] = deque(maxlen=1000)
        self._known: deque[LiveEstimate] = deque(maxlen=10)  # to detect repeated estimates
        self._judged = LONG_AGO  # stamp of the newest estimate that was judged, s
        self._begun = False
        self._topic = CountedTopic(node, msg.AdaptationStatus, "~/adaptation")
        self.counted_topics = (self._topic,)
        self._estimates = node.create_subscription(
            msg.DynamicParameters, TOPIC, self._on_message, 100
        )
        create_wall_timer(node, LOOK_PERIOD, self._judge_early)

    def needs(self) -> Verdict:
        if self.newest is None:
            return Verdict(
                Level.WAIT,
                "no valid dynamic_parameters yet (~/adaptation has the reason); start an "
                "identification that verifies them, or give the file of one as `parameters`",
            )
        offered = self._node.count_publishers(self._estimates.topic_name) > 0
        if self._node.values.wait_for_estimates and not offered:
            missing = "no node publishes dynamic_parameters; start dynamics_estimator"
            return Verdict(Level.WAIT, missing)
        return GOOD

    def awaits(self, stamp: float) -> Verdict:
        if not self._node.values.wait_for_estimates or self._reaches(stamp):
            return GOOD
        missing = f"no dynamic_parameters for the joint state of {stamp:.3f} s"
        return Verdict(Level.WAIT, missing)

    def _reaches(self, stamp: float) -> bool:
        newest = stamp - self._delay  # latest stamp that is due
        due = newest - self._node.values.estimate_period
        stamps = (self._judged, *(estimate.stamp for estimate in self._waiting))
        # An estimate far ahead does not show that the due ones have arrived.
        return newest < -STAMP_TOLERANCE or any(
            due + STAMP_TOLERANCE < s <= stamp + LONGEST_LEAD for s in stamps
        )

    def advance(self, stamp: float) -> None:
        self._begun = True
        if self._judged > stamp + LONGEST_LEAD:
            self._judged = LONG_AGO
        if not self._waiting:
            return
        estimates = list(self._waiting)
        self._waiting.clear()
        for estimate in estimates:
            ahead = estimate.stamp - stamp
            if ahead <= STAMP_TOLERANCE - self._delay:
                self._judge(estimate)
            elif ahead <= LONGEST_LEAD:
                self._waiting.append(estimate)
            else:
                self._node.complain(
                    f"{TOPIC} stamped {ahead:.3f} s ahead of the joint states ignored, limit "
                    f"{LONGEST_LEAD:g} s: publish them with the stamps of the joint states' clock"
                )

    def reset(self, stamp: float) -> None:
        self._judged = LONG_AGO
        self._known.clear()
        # The estimator may have noticed the reset first.
        kept = [estimate for estimate in self._waiting if estimate.stamp <= stamp + STAMP_TOLERANCE]
        self._waiting.clear()
        self._waiting.extend(kept)

    def close(self) -> None:
        if self._adaptation.accepted:
            self._keep(lambda kept: kept.write(self._adaptation.in_use, self._friction.in_use))

    def _on_message(self, message: msg.DynamicParameters) -> None:
        estimate = estimate_of(message)
        if estimate in self._known:
            return
        self._node.presence.keep_waiting()  # an identification takes longer than the waiting time
        self._known.append(estimate)
        self._waiting.append(estimate)
        self._judge_early()
        self._node.loop.resume()

    def _judge_early(self) -> None:
        """Judge at once before the run if all subscribers are there; not in lock-step."""
        values = self._node.values
        if self._node.exit_code is not None or self._begun:
            return
        if values.wait_for_estimates or self._topic.missing(values.listeners):
            return
        while self._waiting:
            self._judge(self._waiting.popleft())

    def _judge(self, estimate: LiveEstimate) -> None:
        self._judged = max(self._judged, estimate.stamp)
        judgement = self._used(estimate, self._adaptation.judge(estimate))
        self.newest = self._adaptation.in_use if self._adaptation.is_started else None
        refuted = estimate.verified is False
        if estimate.estimated and (refuted or ALARMING & judgement.reasons.keys()):
            self._node.complain(f"{TOPIC} refused: {judgement.reason}; those in use are kept")
        status = msg.AdaptationStatus()
        status.header.frame_id = self._node.values.base_frame
        status.header.stamp = to_stamp(max(estimate.stamp, 0.0))
        fill_adaptation(status, self._adaptation, estimate, judgement)
        self._topic.publish(status)
        if not judgement.refused:
            self._keep(
                lambda kept: kept.keep(
                    self._adaptation.in_use, self._friction.in_use, estimate.stamp
                )
            )

    def _friction_for(self, estimate: LiveEstimate) -> Laws:
        known = self._known_friction
        if not _follows_friction(self._node.values, known):
            return known
        self._friction.judge(
            estimate.friction, estimate.friction_variances, self._adaptation.elapsed
        )
        return friction_laws(known, self._friction.in_use)

    def _used(self, estimate: LiveEstimate, judgement: Judgement) -> Judgement:
        if judgement.refused:
            return judgement
        laws = self._friction_for(estimate)
        try:
            self._use(self._adaptation.in_use, laws)
        except ValueError as error:
            self._friction.take_back()
            return self._adaptation.take_back(judgement, str(error))
        return judgement

    def _keep(self, write: Callable[[ParameterCheckpoint], None]) -> None:
        if self._checkpoint is None:
            return
        try:
            write(self._checkpoint)
        except OSError as error:
            self._node.complain(str(error))


VERIFIED = {msg.DynamicParameters.VERIFIED: True, msg.DynamicParameters.REFUTED: False}


def estimate_of(message: msg.DynamicParameters) -> LiveEstimate:
    """Return the estimate in a message; unknown friction is 0 with an infinite variance.

    NaN is unequal to itself: a repeated estimate would be taken for a new one.
    """
    v5, v6, v7, v8 = message.covariance_diagonal.tolist()
    c5, c6, c7, c8 = message.coverage.tolist()
    f_1, f_2, f_3, f_4 = (0.0 if math.isnan(f) else f for f in message.friction.tolist())
    return LiveEstimate(
        stamp=seconds(message.header.stamp),
        values=(message.k5, message.k6, message.k7, message.k8),
        variances=(v5, v6, v7, v8),
        estimated=message.state == msg.DynamicParameters.ESTIMATED,
        reason=message.reason,
        verified=VERIFIED.get(message.verification),
        coverage=(c5, c6, c7, c8),
        friction=(f_1, f_2, f_3, f_4),
        friction_variances=tuple(message.friction_variance.tolist()),
    )


def fill_adaptation(
    status: msg.AdaptationStatus,
    adaptation: Adaptation,
    estimate: LiveEstimate,
    judgement: Judgement,
) -> None:
    """Write a judgement to a message, except its stamp."""
    status.state = int(judgement.state)
    status.reason = judgement.reason
    status.in_use[:] = adaptation.in_use
    status.offered[:] = estimate.values
    status.offered_std[:] = estimate.deviations
    status.lower[:] = adaptation.band.lower
    status.upper[:] = adaptation.band.upper
    status.follows = list(judgement.follows)
    status.gates = [gate.value for gate in Gate]
    status.passed = [gate not in judgement.reasons for gate in Gate]
    status.refused = adaptation.refused
