# SPDX-License-Identifier: Apache-2.0
"""K5 to K8, friction and dead time that a controller begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diffbot_controllers.friction_adaptation import friction_laws, friction_values
from diffbot_controllers.laws.friction import Laws, without_static
from diffbot_controllers.parameter_reader import DynamicsFile
from diffbot_description import DynamicParameters, FrictionLaw, Robot, closed_form, wheel_friction
from diffbot_description.dynamics import NO_FRICTION, turning_resistance

FROM_ROBOT = "robot"


class KnownDynamics:
    """What is known of a robot before its run: as described, or as identified in a file.

    Args:
        source: "robot" for its closed form, or the path of a dynamic_parameters.yaml.
        frictionless: Whether its friction is left out.

    Raises:
        ValueError: The file cannot be used; also by the properties, for values of no robot.
    """

    def __init__(self, robot: Robot, source: str, frictionless: bool = False) -> None:
        self._robot, self._frictionless = robot, frictionless
        self._file = None if source == FROM_ROBOT else DynamicsFile(source)

    @property
    def dynamics(self) -> DynamicParameters:
        if self._file is None:
            return closed_form(self._robot.model)
        return self._file.dynamics(self._robot.name)

    @property
    def friction(self) -> Laws:
        described = wheel_friction(self._robot)
        if self._frictionless:
            return friction_laws(without_static(described), (0.0,) * 4)
        if self._file is None:
            return described
        values = _completed(self._file.friction(), friction_values(described))
        left, right = friction_laws(described, values)
        if (losses := self._file.gear_loss()) is None:
            return left, right
        return replace(left, gear_loss=losses[0]), replace(right, gear_loss=losses[1])

    @property
    def turning(self) -> FrictionLaw[float]:
        """The floor's moment against turning."""
        if self._frictionless:
            return NO_FRICTION
        described = turning_resistance(self._robot)
        if self._file is None or self._robot.turning is None:
            return described
        known = (described.viscous, described.coulomb)
        return FrictionLaw(*_completed(self._file.turning(), known))

    @property
    def delay(self) -> float:
        """Time from a command to its torque, s; 0 where no file has it."""
        return 0.0 if self._file is None else self._file.torque_delay() or 0.0


def _completed(results: Sequence[float | None], described: Sequence[float]) -> tuple[float, ...]:
    pairs = zip(results, described, strict=True)
    return tuple(known if value is None else value for value, known in pairs)
