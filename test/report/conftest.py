# SPDX-License-Identifier: Apache-2.0
"""Pages name commands as in a checkout, also where these tests run in a ROS 2 install."""

import pytest

from diffbot_description.spoken_commands import CHECKOUT


@pytest.fixture(autouse=True, scope="session")
def in_a_checkout():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHECKOUT, "/checkout")
        yield
