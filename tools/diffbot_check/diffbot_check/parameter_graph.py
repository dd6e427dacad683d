# SPDX-License-Identifier: Apache-2.0
"""Asks running nodes for their parameters, and sets them all together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.parameter import Parameter, parameter_value_to_python

from diffbot_export.parameter_changes import RunningParameter
from diffbot_export.sourced_value import Value
from diffbot_node.hidden_node import HiddenNode

SERVICE = "/set_parameters_atomically"
# Longest wait for nodes to appear, time without a new one after which all are there, and longest
# wait for an answer, s.
DISCOVERY, SETTLED, ANSWER = 6.0, 0.5, 5.0


class ParameterGraph:
    """The parameters of the nodes of a graph; use it as a context manager."""

    def __enter__(self) -> ParameterGraph:
        self._hidden = HiddenNode("apply", args=[]).__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hidden.__exit__(*error)

    def nodes(self, enough: Callable[[Sequence[str]], bool]) -> list[str]:
        """Return the full names of the nodes whose parameters can be set.

        It waits until those are there that are `enough`, which is asked whenever one appears, and
        no other appears after them; DISCOVERY at most.
        """
        names: set[str] = set()
        began = changed = time.monotonic()
        is_enough = False
        while (now := time.monotonic()) - began < DISCOVERY and not (
            is_enough and now - changed > SETTLED
        ):
            self._hidden.executor.spin_once(timeout_sec=0.1)
            services = self._hidden.node.get_service_names_and_types()
            there = {each.removesuffix(SERVICE) for each, _ in services if each.endswith(SERVICE)}
            if there - names:
                names, changed = names | there, now
                is_enough = enough(sorted(names))
        return sorted(names)

    def read(self, node: str) -> dict[str, RunningParameter]:
        """Return all parameters of a node.

        Raises:
            ValueError: It does not answer.
        """
        request = ListParameters.Request()
        names = list(self._ask(node, "list_parameters", ListParameters, request).result.names)
        values = self.values(node, names)
        described = self._ask(
            node, "describe_parameters", DescribeParameters, DescribeParameters.Request(names=names)
        ).descriptors
        return {each.name: _running(each, values[each.name]) for each in described}

    def values(self, node: str, names: Sequence[str]) -> dict[str, Value | None]:
        """Return the values of some parameters of a node. Raises ValueError as `read`."""
        request = GetParameters.Request(names=[*names])
        given = self._ask(node, "get_parameters", GetParameters, request).values
        return dict(zip(names, map(_value, given), strict=True))

    def set(self, node: str, values: Mapping[str, Value]) -> None:
        """Set all of these values, or none.

        Raises:
            ValueError: The node refuses, and why, or does not answer.
        """
        given: Mapping[str, Any] = values
        parameters = [Parameter(n, value=value).to_parameter_msg() for n, value in given.items()]
        request = SetParametersAtomically.Request(parameters=parameters)
        kind = SetParametersAtomically
        result = self._ask(node, SERVICE.strip("/"), kind, request).result
        if not result.successful:
            raise ValueError(f"{node} refuses: {result.reason or 'without a reason'}")

    def _ask(self, node: str, service: str, kind: Any, request: Any) -> Any:
        client: Any = self._hidden.node.create_client(kind, f"{node}/{service}")
        try:
            if client.wait_for_service(timeout_sec=ANSWER):
                future = client.call_async(request)
                self._hidden.executor.spin_until_future_complete(future, timeout_sec=ANSWER)
                if future.done():
                    return future.result()
            raise ValueError(f"{node} does not answer {service} within {ANSWER:g} s: has it ended?")
        finally:
            self._hidden.node.destroy_client(client)


def _running(descriptor: Any, value: Value | None) -> RunningParameter:
    ranges = [*descriptor.floating_point_range, *descriptor.integer_range]
    lower, upper = -math.inf, math.inf
    if ranges:
        lower, upper = ranges[0].from_value, ranges[0].to_value
    return RunningParameter(value, descriptor.read_only, lower, upper)


def _value(message: Any) -> Value | None:
    value: Any = parameter_value_to_python(message)
    return value if value is None or isinstance(value, (bool, int, float, str)) else list(value)
