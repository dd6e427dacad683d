# SPDX-License-Identifier: Apache-2.0
"""A node in an rclpy context of its own: for the others it is in another process."""

import time

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor

PATIENCE = 15.0


class Outsider:
    """Publishes, subscribes and calls services through the middleware only."""

    def __init__(self, name="outsider"):
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)

    def until(self, condition, also=lambda: None, patience=PATIENCE):
        """Spin, and do something else in between, until a condition holds; return what it gives."""
        end = time.monotonic() + patience
        while not (result := condition()):
            assert time.monotonic() < end, f"waited {patience} s in vain"
            self._executor.spin_once(timeout_sec=0.005)
            also()
        return result

    def hear(self, kind, topic, qos=10):
        """Return the list of messages that arrive from now on."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def call(self, kind, name, request):
        """Call a service; return its answer."""
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def close(self):
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
