# SPDX-License-Identifier: Apache-2.0
"""Rows of the watchdog: invalid commands, and a controller that dies."""

from __future__ import annotations

from rclpy.node import Node

from diffbot_sim.faults.fault import Fault
from faults.row import WATCHDOG_TIME_TO_ZERO, Outcome, Promise, Row
from faults.rows.making import INSTANT, PHYSICS
from faults.scene import BACKSTEP, FAULT, Scene

GROUP = "Wrong commands, with the watchdog"
TOPIC = "effort_watchdog/commands"
SECONDS = 0.3  # duration of the faults, s


def _watchdog() -> type[Node]:
    from diffbot_node.effort_watchdog_node import EffortWatchdogNode

    return EffortWatchdogNode


class _Guarded(Scene):
    """The controller publishes to the watchdog, and the watchdog to the wheels."""

    def _build(self) -> None:
        self._parameters["remap"] = {"effort_controller/commands": TOPIC}
        super()._build()
        self.add(_watchdog())


def _wrong(**settings):
    def run(engine: str) -> Outcome:
        fault = Fault(TOPIC, start=FAULT, duration=SECONDS, **settings)
        with _Guarded(BACKSTEP, engine, faults=(fault,)) as scene:
            scene.advance(FAULT + SECONDS - INSTANT)
            return scene.zero(FAULT - INSTANT, FAULT + SECONDS - INSTANT)

    return run


def _killed(engine: str) -> Outcome:
    with _Guarded(BACKSTEP, engine) as scene:
        scene.advance(FAULT + INSTANT)
        scene.bus.kill(scene.member)
        scene.advance(FAULT + SECONDS)
        return scene.zero(FAULT + INSTANT, FAULT + SECONDS)


def _row(name: str, longest: float | None = None, **settings) -> Row:
    run = _wrong(**settings) if settings else _killed
    title = f"{name}: {BACKSTEP.name}"
    if longest is None:
        return Row(GROUP, title, Promise.ZERO, PHYSICS, run)
    return Row(GROUP, title, Promise.ZERO, PHYSICS, run, longest)


ROWS = (
    _row("no value", kind="wrong", arrays="empty", fields=("data",)),
    _row("1 value", kind="wrong", arrays="short", fields=("data",)),
    _row("3 values", kind="wrong", arrays="duplicated", fields=("data",)),
    _row("NaN", kind="garbage", value="nan", fields=("data[0]",)),
    _row("inf", kind="garbage", value="inf", fields=("data[1]",)),
    _row("too large, 1000 N m", kind="garbage", value=1000.0, fields=("data[0]",)),
    _row("noise of 1000 N m", kind="garbage", fields=("data",)),
    _row("commands stop", WATCHDOG_TIME_TO_ZERO, kind="off"),
    _row("the controller is killed", WATCHDOG_TIME_TO_ZERO),
)
