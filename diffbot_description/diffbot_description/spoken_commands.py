# SPDX-License-Identifier: Apache-2.0
"""Command lines in messages and pages, as the person who reads them types them.

In a checkout they begin with ``./diffbot``, in a sourced ROS 2 workspace with ``ros2``, elsewhere
with ``diffbot``.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

CHECKOUT = "DIFFBOT_ROOT"
"""Variable that ./diffbot sets for everything that it starts: the folder of the checkout."""
SOURCED = "AMENT_PREFIX_PATH"
"""Variable of a sourced ROS 2 workspace."""


def spoken(*words: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a command line, quoted for a shell, of the words after ``./diffbot``."""
    if environment.get(CHECKOUT):
        begin, rest = ["./diffbot"], list(words)
    elif not environment.get(SOURCED):
        begin, rest = ["diffbot"], list(words)
    elif words[:1] == ("launch",):
        begin = ["ros2", "launch", "diffbot_bringup"]
        rest = [f"{words[1].removesuffix('.launch.xml')}.launch.xml", *words[2:]]
    elif words[:1] == ("run",):
        begin, rest = ["ros2"], list(words)
    else:
        begin, rest = ["ros2", "run", "diffbot_bringup", "diffbot"], list(words)
    return shlex.join([*begin, *rest])
