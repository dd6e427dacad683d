# SPDX-License-Identifier: Apache-2.0
"""Worker processes of studies."""

import json
import os
import signal
import subprocess
import sys

import pytest

from diffbot_study.study import INTERRUPTED


def test_ctrl_c_ends_the_workers_of_a_study_without_a_word(tmp_path):
    pytest.importorskip("pyarrow")
    file = tmp_path / "small.yaml"
    file.write_text(json.dumps({"kind": "drive", "repeats": 500, "fixed": {"seconds": 60.0}}))
    program = "import sys; from diffbot_study.study import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(file), "--output", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a terminal sends Ctrl-C to all processes of it
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("dashboard"):
            break
    os.killpg(process.pid, signal.SIGINT)
    text = process.communicate(timeout=60)[0]
    assert process.returncode == INTERRUPTED, text
    assert "interrupted: finished runs are kept" in text and "Traceback" not in text, text


# The client's own regular update of what it knows of the scheduler names no workers.
ALWAYS_THERE = """
import dask
from diffbot_study.task_cluster import Cluster
if __name__ == "__main__":
    dask.config.set({"distributed.client.scheduler-info-interval": "5ms"})
    with Cluster(workers=1) as cluster:
        print({len(cluster._workers()) for _ in range(300)})
"""


def test_a_worker_is_not_lost_while_the_client_updates_itself(tmp_path):
    """Without one of two workers half of a study would stand still, and it was said to be lost."""
    pytest.importorskip("pyarrow")  # comes together with Dask
    file = tmp_path / "always_there.py"
    file.write_text(ALWAYS_THERE)
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60)
    assert ended.stdout.strip() == "{1}", ended.stdout + ended.stderr
