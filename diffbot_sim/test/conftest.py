# SPDX-License-Identifier: Apache-2.0
"""Robots that the tests share; hypothesis draws the same examples in each run."""

import pytest
from hypothesis import settings

from diffbot_description import load_robot

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=30)
settings.load_profile("repeatable")


@pytest.fixture(params=["twil", "agv"], scope="session")
def robot(request):
    """Each of the two robots, without friction."""
    return load_robot(request.param).without_friction()


@pytest.fixture(scope="session")
def twil():
    return load_robot("twil")
