"""Rules for node names and namespaces, as rclpy and launch_ros have them."""

from __future__ import annotations

import re

_TOKEN = r"[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(_TOKEN)
_NAMESPACE = re.compile(rf"/|(?:/{_TOKEN})+")


def join(base: str | None, namespace: str | None) -> str | None:
    """Return the absolute namespace of `namespace` seen from `base`; None when both are None.

    An absolute `namespace` (leading slash) wins over the base; a trailing slash is dropped.
    """
    if namespace is None:
        combined = base
    elif not base or namespace.startswith("/"):
        combined = namespace
    else:
        combined = ("" if base == "/" else base) + "/" + namespace
    if combined is None:
        return None
    if combined != "/":
        combined = combined.rstrip("/")
    return combined if combined.startswith("/") else "/" + combined


def check_name(name: str) -> None:
    """Raise ValueError when `name` cannot be the name of a node."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"node name {name!r} is not valid: letters, digits and underscores only, "
            "and no digit first"
        )


def check_namespace(namespace: str) -> None:
    """Raise ValueError when the absolute `namespace` is not valid."""
    if not _NAMESPACE.fullmatch(namespace):
        raise ValueError(
            f"namespace {namespace!r} is not valid: words of letters, digits and underscores "
            "(no digit first) with one slash between them"
        )
