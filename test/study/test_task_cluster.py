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
