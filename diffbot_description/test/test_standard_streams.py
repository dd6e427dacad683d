# SPDX-License-Identifier: Apache-2.0
"""Writes to standard output and error never fail, however little they can take."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from diffbot_description.standard_streams import have_lost_reader, keep_streams
keep_streams()
for _ in range(3):
    print("σ" * 100_000, flush=True)
    print("an error", file=sys.stderr)
sys.exit(3 if have_lost_reader() else 4)
"""


def without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def full():
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("sink", "status"), [(without_reader, 3), (full, 4)])
def test_a_run_outlives_what_its_output_goes_to(sink, status, unbuffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONIOENCODING": "utf-8"}
    file = sink()
    try:
        command = [sys.executable, "-c", PROGRAM]
        ended = subprocess.run(command, stdout=file, stderr=file, env=environment)
    finally:
        os.close(file)
    assert ended.returncode == status


def test_what_can_be_written_is_written_in_order_and_encoding():
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1:replace"}
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, env=environment)
    assert ended.returncode == 4
    assert ended.stdout == 3 * (b"?" * 100_000 + b"\n")
    assert ended.stderr == 3 * b"an error\n"
