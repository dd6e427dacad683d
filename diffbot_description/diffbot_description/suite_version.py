# SPDX-License-Identifier: Apache-2.0
"""The version of the suite, whether it is a ROS workspace or the distribution without ROS."""

from importlib import metadata

PACKAGE, DISTRIBUTION = "diffbot_description", "diffbot-suite"


def suite_version() -> str:
    """Return the installed version, such as "0.1.0"."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return metadata.version(DISTRIBUTION)
