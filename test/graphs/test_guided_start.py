# SPDX-License-Identifier: Apache-2.0
"""`diffbot start --browser`: the page leads, stops the robot at once, and continues later."""

import time

import browser as chromium
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("websockets", minversion="13")

from guided_page import DRAWN, GuidedPage, served_guide
from moving_stand_in import moving
from stand_in_robot import StandIn

from diffbot_description.command_kind import CommandKind

PATIENCE = 60.0
TO_ZERO = 0.1  # s from the click to zero torque on the wire
ATTEMPTS = 4  # a busy machine may end the moving check before it has begun


def turning(guide, robot):
    """Begin the moving check; return whether a wheel is turned."""
    handled = guide.guide["handled"]
    guide.begin()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and guide.guide["handled"] == handled:
        if any(any(command) for command in robot.received[-1:]):
            return True
    return False


@pytest.mark.wall_time
@pytest.mark.one_distribution
@pytest.mark.skipif(
    chromium.program() is None, reason="no Chromium: install the Debian package chromium"
)
def test_the_page_leads_stops_and_continues(tmp_path, domain):
    folder = tmp_path / "mine"
    with StandIn(moving(CommandKind.EFFORT, friction=2.0)) as robot:
        with served_guide(folder) as (_, url), chromium.browser(tmp_path / "profile") as page:
            guide = GuidedPage(page, url)
            assert guide.run()["outcome"] == "done"
            guide.shown("describe")
            assert "connect is done" in guide.text("#before")
            guide.click("input[value=known]")
            guide.fill("#known", "twil")
            assert guide.run()["outcome"] == "done"
            page.wait("state.robot && state.robot.name === 'twil'")
            guide.shown("check")
            guide.press("#skip")
            guide.shown("check moving")

            assert not robot.received
            assert page.value("byId('go').getAttribute('aria-disabled')") == "true"
            guide.click("#sure")
            assert any(turning(guide, robot) for _ in range(ATTEMPTS))
            guide.click("#stop")
            pressed = 1e-3 * page.value("stopPressedAt")
            while time.time() < pressed + TO_ZERO:
                time.sleep(0.001)
            count = len(robot.received)
            guide.until("state.guide.running === null")
            assert not any(any(command) for command in robot.received[count:])
            assert "Mend each fault" in guide.text("#step-said")
            guide.click("#release")
            page.wait("state.pressed === false")

            page.call("Page.reload")
            page.wait(DRAWN)
            assert guide.step["name"] == "check moving"
            elsewhere = [each for each in page.requests if not each.startswith((url, "data:"))]
            assert not elsewhere and not page.complaints
        with served_guide(folder) as (process, url), chromium.browser(tmp_path / "again") as page:
            guide = GuidedPage(page, url)
            assert guide.step["name"] == "check moving" and guide.guide["kind"] == "effort"
            page.value("ask({do: 'leave'})")
            assert process.wait(PATIENCE) == 1  # left before the end
