"""The stock service of Gazebo that lets a world that stands still advance by some steps."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from diffbot_sim.gz.commands import CONTROL_SERVICE


class GzWorld:
    """Client of the world's control, through ros_gz_bridge.

    Args:
        node: whose client it is.
        on_refused: called with what was said when Gazebo refuses.

    Raises:
        ImportError: ros_gz_interfaces is not installed.
    """

    def __init__(self, node: Node, on_refused: Callable[[str], None]) -> None:
        # Here: a machine without Gazebo does not have it, and shall still be able to test the rest.
        from ros_gz_interfaces.srv import ControlWorld

        self._type = ControlWorld
        self._on_refused = on_refused
        self._client = node.create_client(ControlWorld, CONTROL_SERVICE)

    def is_ready(self) -> bool:
        """Whether the bridge offers the service."""
        return self._client.service_is_ready()

    def step(self, count: int) -> None:
        """Advance by so many steps of the physics, and stand still again."""
        request = self._type.Request()
        request.world_control.pause = True
        request.world_control.multi_step = count
        self._client.call_async(request).add_done_callback(self._on_reply)

    def _on_reply(self, future) -> None:
        if not future.result().success:
            self._on_refused(f"{CONTROL_SERVICE} refused to step the world")
