"""ROS side of adaptation: estimates in, parameters and `~/adaptation` out."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from diffbot_controllers.adaptation import Adaptation
from diffbot_controllers.adaptation_messages import fill_adaptation, offer_of
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.gates import Offer
from diffbot_controllers.judgement import Judgement
from diffbot_controllers.last_good import LastGood
from diffbot_msgs.msg import AdaptationStatus, DynamicParameters
from diffbot_node import EffortNode, KeptTopic, to_stamp

TOPIC = "dynamic_parameters"
TOLERANCE = 1e-6  # s; stamps go through floats
# An estimate further ahead of the joint states than this is stamped by another clock, s.
LONGEST_LEAD = 1.0
LONG_AGO = -math.inf  # s; stamp of no estimate
# Gates that are worth a warning; the others are often shut, and ~/adaptation says so.
ALARMING = ("finite", "physical", "law")


class LiveDynamics:
    """Takes estimates from `dynamic_parameters`, judges them, and publishes each judgement.

    An estimate is used a fixed robot time after its stamp, however long it was on its way: with
    `wait_for_estimates` a run in lock-step repeats to the last digit. One that is stamped far ahead
    of the joint states is left out, with a warning.

    Args:
        node: of the controller, with CONTROLLER_PARAMETERS and ADAPTATION_PARAMETERS.
        adaptation: the gates.
        use: called with parameters that change. A ValueError refuses the estimate, and those of
            before stay.
        last_good: where they are kept; None: nowhere.

    Attributes:
        topic: `~/adaptation`.
    """

    def __init__(
        self,
        node: EffortNode,
        adaptation: Adaptation,
        use: Callable[[BodyDynamics], None],
        last_good: LastGood | None,
    ) -> None:
        self.adaptation = adaptation
        self._node = node
        self._use = use
        self._last_good = last_good
        self._delay = node.values.estimate_delay
        self._offers: deque[Offer] = deque(maxlen=1000)
        self._known: deque[Offer] = deque(maxlen=10)  # an estimate may be said again
        self._judged = LONG_AGO  # stamp of the newest estimate that was judged, s
        self._begun = False
        self._status = AdaptationStatus()
        self._status.header.frame_id = node.values.base_frame
        resume = node.resume if node.values.wait_for_reference else None
        self.topic = KeptTopic(node, AdaptationStatus, "~/adaptation", resume)
        self._estimates = node.create_subscription(DynamicParameters, TOPIC, self._on_message, 100)

    @property
    def accepted(self) -> bool:
        """Whether any estimate was accepted so far."""
        return self.adaptation.accepted > 0

    @property
    def is_offered(self) -> bool:
        """Whether somebody publishes estimates."""
        return self._node.count_publishers(self._estimates.topic_name) > 0

    def reaches(self, stamp: float) -> bool:
        """Whether all estimates that count at a stamp (s) have come.

        They come every `estimate_period`, so that there is none between the newest and the next.
        """
        newest = stamp - self._delay  # that counts
        due = newest - self._node.values.estimate_period
        stamps = (self._judged, *(offer.stamp for offer in self._offers))
        # One that is far ahead says nothing about those that are still to come.
        return newest < -TOLERANCE or any(
            due + TOLERANCE < s <= stamp + LONGEST_LEAD for s in stamps
        )

    def advance(self, stamp: float) -> None:
        """Judge the estimates that count from a stamp on, s."""
        self._begun = True
        if self._judged > stamp + LONGEST_LEAD:
            self._judged = LONG_AGO
        if not self._offers:
            return
        offers = list(self._offers)
        self._offers.clear()
        for offer in offers:
            ahead = offer.stamp - stamp
            if ahead <= TOLERANCE - self._delay:
                self._judge(offer)
            elif ahead <= LONGEST_LEAD:
                self._offers.append(offer)
            else:
                self._node.complain(
                    f"{TOPIC} stamped {ahead:.3f} s ahead of the joint states left out, limit "
                    f"{LONGEST_LEAD:g} s: publish them with the stamps of the joint states' clock"
                )

    def reset(self, stamp: float) -> None:
        """The joint states' time was set back to a stamp, s: what came before it is forgotten."""
        self._judged = LONG_AGO
        self._known.clear()
        # The estimator may have been faster to notice: its first ones after the reset stay.
        kept = [offer for offer in self._offers if offer.stamp <= stamp + TOLERANCE]
        self._offers.clear()
        self._offers.extend(kept)

    def close(self) -> None:
        """Keep the parameters in use for the next run."""
        if self._last_good is not None and self.accepted:
            self._keep(lambda kept: kept.write(self.adaptation.in_use))

    def _on_message(self, message: DynamicParameters) -> None:
        offer = offer_of(message)
        if offer in self._known:
            return
        self._node.keep_waiting()  # an identification takes longer than anybody's patience
        self._known.append(offer)
        self._offers.append(offer)
        self.look()
        self._node.resume()

    def look(self) -> None:
        """Before the run: judge at once, when those are there who are to hear of it.

        In lock-step an estimate counts from its time on, whenever it came.
        """
        values = self._node.values
        if self._begun or values.wait_for_estimates or self.topic.missing(values.listeners):
            return
        while self._offers:
            self._judge(self._offers.popleft())

    def _judge(self, offer: Offer) -> None:
        self._judged = max(self._judged, offer.stamp)
        judgement = self._used(self.adaptation.judge(offer))
        refuted = offer.verified is False
        if offer.estimated and (refuted or any(judgement.reasons[gate] for gate in ALARMING)):
            self._node.complain(f"{TOPIC} refused: {judgement.reason}; those in use stay")
        self._status.header.stamp = to_stamp(max(offer.stamp, 0.0))
        fill_adaptation(self._status, self.adaptation, offer, judgement)
        self.topic.publish(self._status)
        if not judgement.refused:
            self._keep(lambda kept: kept.keep(self.adaptation.in_use, offer.stamp))

    def _used(self, judgement: Judgement) -> Judgement:
        """Hand what an estimate gave to the law, or take it back."""
        if judgement.refused:
            return judgement
        try:
            self._use(self.adaptation.in_use)
        except ValueError as error:
            return self.adaptation.take_back(judgement, str(error))
        return judgement

    def _keep(self, write: Callable[[LastGood], None]) -> None:
        if self._last_good is None:
            return
        try:
            write(self._last_good)
        except OSError as error:
            self._node.complain(str(error))
