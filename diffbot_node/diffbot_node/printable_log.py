# SPDX-License-Identifier: Apache-2.0
"""A node's log, in which names from the graph and from files cannot act on the terminal."""

from __future__ import annotations

import os
from typing import Any

from rclpy.impl import rcutils_logger

from diffbot_description.terminal_text import visible_lines

# Filters such as `once` belong to the line that logs, which rclpy seeks outside these files.
getattr(rcutils_logger, "_internal_callers", []).append(os.path.realpath(__file__))


class PrintableLogger(rcutils_logger.RcutilsLogger):  # type: ignore[misc,unused-ignore]
    """A logger of rclpy; control characters become escapes."""

    @classmethod
    def of(cls, log: Any) -> Any:
        """Return the same log, with escapes; one that is not of rclpy as it is."""
        return cls(log.name) if isinstance(log, rcutils_logger.RcutilsLogger) else log

    def log(  # type: ignore[override,unused-ignore]
        self, message: Any, severity: Any, **filters: Any
    ) -> Any:
        return super().log(visible_lines(message), severity, **filters)
