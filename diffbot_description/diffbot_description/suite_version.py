# SPDX-License-Identifier: Apache-2.0
"""The version of the suite, whether it is a ROS workspace or the distribution without ROS."""

import re
from pathlib import Path

PACKAGE, DISTRIBUTION = "diffbot_description", "diffbot-suite"


def suite_version() -> str:
    """Return the installed version, such as "0.1.0"."""
    from importlib import metadata  # slow to import

    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return metadata.version(DISTRIBUTION)


def checkout_version(root: Path) -> str:
    """Return the version of a checkout, before anything of it is installed."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    line = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    return line[1] if line else "unknown"
