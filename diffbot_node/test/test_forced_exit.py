# SPDX-License-Identifier: Apache-2.0
"""A process that cannot leave ends all the same."""

import subprocess
import sys


def test_a_process_that_cannot_leave_ends_with_its_status():
    """The main thread waits for ever and holds Python's lock, as in a destructor of Fast DDS."""
    code = (
        "import ctypes; from diffbot_node.node_process import exit_after\n"
        "with exit_after(1, 7): pass\n"
        "ctypes.CDLL(None).usleep(1500000)\n"
        "print('left in time', flush=True)\n"
        "with exit_after(1, 7): ctypes.PyDLL(None).pause()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("left in time\n", 7), done.stderr
