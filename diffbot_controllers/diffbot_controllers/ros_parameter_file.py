"""Reading of ROS parameter files that hold identified parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffbot_description.regular_file import read_regular
from diffbot_description.strict_yaml import LARGEST, parse_yaml


def read_section(path: str, names: Sequence[str], advice: str) -> dict[str, Any]:
    """What stands below the first `NODE: ros__parameters:` that has one of the names.

    Args:
        path: of the file; `~` is expanded.
        names: of parameters.
        advice: how to come to a right file, for messages.

    Raises:
        ValueError: there is no such file, or it is another kind of file; the message names it.
    """
    try:
        text = read_regular(Path(path).expanduser(), LARGEST)
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error}; {advice}, or give its file") from None
    try:
        document = parse_yaml(text)
    except ValueError as error:
        raise ValueError(f"parameters '{path}': {error} {advice}") from None
    nodes = document.values() if isinstance(document, dict) else ()
    for node in nodes:
        section = node.get("ros__parameters") if isinstance(node, dict) else None
        if isinstance(section, dict) and any(name in section for name in names):
            return section
    wanted = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    raise ValueError(
        f"parameters '{path}': no {wanted} below '/**: ros__parameters:'; is it another kind of "
        f"file? {advice}"
    )
