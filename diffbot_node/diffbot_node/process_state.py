# SPDX-License-Identifier: Apache-2.0
"""Whether a process is stopped by a signal. Imports no ROS."""


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a process; false if it runs, waits, or does not exist."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The state follows the name, which is in parentheses and may contain any character.
            return file.read().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False
