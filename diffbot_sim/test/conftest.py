# SPDX-License-Identifier: Apache-2.0
"""Robots that the tests share."""

import pytest

from diffbot_description import load_robot


@pytest.fixture(params=["twil", "agv"], scope="session")
def robot(request):
    """Each of the two robots, without friction."""
    return load_robot(request.param).without_friction()


@pytest.fixture(scope="session")
def twil():
    return load_robot("twil")
