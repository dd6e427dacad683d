# SPDX-License-Identifier: Apache-2.0
"""A node's log, in which names from the graph and from files cannot act on the terminal."""

from __future__ import annotations

import os
import sys
from typing import Any

from rclpy.impl import rcutils_logger
from rclpy.impl.implementation_singleton import rclpy_implementation

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
        text = visible_lines(message)
        if filters:
            return super().log(text, severity, **filters)
        # Without a filter rclpy seeks the line that logs all the same: 80 ms in a process's first.
        if not self.is_enabled_for(severity):
            return False
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == rcutils_logger.__file__:
            frame = frame.f_back
        code = frame.f_code
        rclpy_implementation.rclpy_logging_rcutils_log(
            severity, self.name, text, code.co_name, code.co_filename, frame.f_lineno
        )
        return True
