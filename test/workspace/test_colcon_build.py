# SPDX-License-Identifier: Apache-2.0
"""`colcon build` of the environment in use makes what the README sources."""

import os
import subprocess
import sys
from pathlib import Path

MANIFEST = """<package format="3"><name>tiny</name><version>1.0.0</version><description/>
<maintainer email="a@b.c">a</maintainer><license>Apache-2.0</license>
<export><build_type>ament_python</build_type></export></package>"""
SETUP = """from setuptools import setup
setup(name="tiny", version="1.0.0", packages=["tiny"], data_files=[
    ("share/ament_index/resource_index/packages", ["resource/tiny"]),
    ("share/tiny", ["package.xml"])])"""
CONFIG = "[develop]\nscript_dir=$base/lib/tiny\n[install]\ninstall_scripts=$base/lib/tiny\n"


def test_a_workspace_that_colcon_built_is_sourced_by_bash(tmp_path):
    for name, text in (
        ("package.xml", MANIFEST),
        ("setup.py", SETUP),
        ("setup.cfg", CONFIG),
        ("tiny/__init__.py", "ANSWER = 42\n"),
        ("resource/tiny", ""),
    ):
        path = tmp_path / "src" / "tiny" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    here = Path(sys.executable).parent
    own = here / "colcon"
    colcon = own if own.exists() else "colcon"
    variables = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    if " " in sys.executable:
        # colcon's scripts call their Python without quotes; docs/ros2.md says what helps.
        link = tmp_path / "python3"
        link.symlink_to(sys.executable)
        variables["COLCON_PYTHON_EXECUTABLE"] = str(link)
    subprocess.run(
        [colcon, "build", "--executor", "sequential"],
        cwd=tmp_path,
        env=variables,
        check=True,
        capture_output=True,
        timeout=300,
    )
    script = "set -e; source install/setup.bash; python3 -c 'import tiny; print(tiny.ANSWER)'"
    said = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (said.returncode, said.stdout) == (0, "42\n"), said.stderr
