# SPDX-License-Identifier: Apache-2.0
"""The computer, the domain and what discovery lets through."""

from __future__ import annotations

from collections.abc import Iterator

from diffbot_check.check_finding import CheckFinding, Part, Severity
from diffbot_check.observation import CheckedRobot
from diffbot_description.spoken_commands import spoken


def machine(subject: CheckedRobot) -> Iterator[CheckFinding]:
    """Yield findings about this computer."""
    seen = subject.seen
    about = seen.machine
    if about is None:
        return
    if seen.is_empty:
        yield CheckFinding(
            Severity.FAULT,
            Part.MACHINE,
            f"no node of any robot is seen in domain {about.domain}"
            + ("; nodes on other computers are not seen" if about.beyond else ""),
            "the driver does not run, or in another ROS_DOMAIN_ID"
            + (", or on another computer" if about.beyond else ""),
            _opened(),
        )
    elif about.beyond:
        yield CheckFinding(
            Severity.NOTE,
            Part.MACHINE,
            "discovery is closed: nodes on other computers are not seen",
            "safe with a robot on this computer; one on another needs it open",
            _opened(),
        )
    if about.load > about.processors:
        yield CheckFinding(
            Severity.WARNING,
            Part.MACHINE,
            f"{about.load:.1f} processes want to run on {about.processors} processors",
            "states are then answered late, and zero is commanded now and then",
            "top",
        )
    if not about.real_time:
        yield CheckFinding(
            Severity.NOTE,
            Part.MACHINE,
            "processes of this user may not run at real-time priority",
            "a driver or controller manager at usual priority pauses when the computer is busy",
            "ulimit -r   (0 now; set rtprio in /etc/security/limits.conf)",
        )


def _opened() -> str:
    return f"ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET ROS_DOMAIN_ID=0 {spoken('check')}"
