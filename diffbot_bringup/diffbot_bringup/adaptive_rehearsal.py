"""A run of launch/adaptive.launch.xml in one process: drive_rehearsal with live parameters.

The same estimator and gates as the nodes'. They see what the joint states say, never what is true.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample, WheelGeometry
from diffbot_controllers import BodyDynamics
from diffbot_controllers.adaptation import Adaptation
from diffbot_controllers.adaptation_settings import AdaptationSettings
from diffbot_controllers.gates import Offer
from diffbot_description import Robot
from diffbot_ident.estimate import Estimate, State
from diffbot_ident.live_estimator import LiveSettings, make_live_estimator

# Defaults of the nodes' parameters `period` and `estimate_delay`, s.
ESTIMATE_PERIOD, ESTIMATE_DELAY = 0.2, 0.1
SETTINGS = AdaptationSettings()
TOLERANCE = 1e-6  # s


class AdaptiveLaw(Protocol):
    """A control law whose parameters may be replaced between two updates."""

    dynamics: BodyDynamics


class AdaptiveRehearsal:
    """The dynamics_estimator node and the gates of a controller; give it as `on_sample`.

    Args:
        robot: that is driven.
        nominal: its K5..K8 as they are known without adaptation.
        law: gets the parameters in use.
        settings: of the gates.
        live: of the estimator.
        also: called with each joint sample first, such as what puts a payload on.
    """

    def __init__(
        self,
        robot: Robot,
        nominal: BodyDynamics,
        law: AdaptiveLaw,
        settings: AdaptationSettings = SETTINGS,
        live: LiveSettings = LiveSettings(),  # noqa: B008
        also: Callable[[JointSample], None] | None = None,
    ) -> None:
        wheels = robot.wheels
        geometry = WheelGeometry(wheels.radius, wheels.radius, wheels.separation)
        self.adaptation = Adaptation(nominal, geometry.half_track, settings)
        self._estimator = make_live_estimator(
            geometry,
            self.adaptation.values,
            (*robot.friction.viscous, *robot.friction.coulomb),
            live,
        )
        self._law = law
        self._also = also
        self._offers: deque[Offer] = deque()
        self._published = -ESTIMATE_PERIOD
        self._rows: list[tuple[float, ...]] = []

    def __call__(self, sample: JointSample) -> None:
        """Take a sample in, and give the law what counts from its stamp on."""
        if self._also is not None:
            self._also(sample)
        self._estimator.update(sample)
        if sample.stamp - self._published >= ESTIMATE_PERIOD - TOLERANCE:
            self._published = sample.stamp
            self._offers.append(offer_of(self._estimator.estimate(), sample.stamp))
        while self._offers and self._offers[0].stamp <= sample.stamp - ESTIMATE_DELAY + TOLERANCE:
            offer = self._offers.popleft()
            judgement = self.adaptation.judge(offer)
            self._law.dynamics = self.adaptation.in_use
            self._rows.append(
                (
                    offer.stamp,
                    *self.adaptation.values,
                    *offer.values,
                    *offer.deviations,
                    judgement.refused,
                )
            )

    @property
    def rows(self) -> NDArray[np.float64]:
        """One per judgement: stamp in s, K5..K8 in use, offered, and std of those; refused."""
        return np.array(self._rows).reshape(-1, 14)


def offer_of(estimate: Estimate, stamp: float) -> Offer:
    """An estimate as the gates get it."""
    return Offer(
        stamp=stamp,
        values=estimate.values,
        variances=estimate.variances,
        estimated=estimate.state is State.ESTIMATED,
        reason=estimate.reason,
        coverage=estimate.coverage,
    )
