# SPDX-License-Identifier: Apache-2.0
"""diffbot-suite, the distribution without ROS: what is in it, and that it works without ROS."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from made_recordings.excited_runs import RunSetting, record

from diffbot_bringup.workspace.packages import find_packages
from diffbot_recordings import identify_arrays

build = pytest.importorskip("hatchling.build")
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [package for package in find_packages(ROOT) if (package.path / "setup.py").exists()]
# Python with the suite from one folder, and without any package of ROS.
PROGRAM = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("rclpy", "ament_index_python", "diffbot_msgs", "std_msgs"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import importlib.util
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "rclpy" else find_spec(name)
sys.path.insert(0, sys.argv.pop(1))
import diffbot_bringup.cli as cli
assert cli.__file__.startswith(sys.path[0]), cli.__file__
sys.exit(cli.main())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of an unpacked wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        wheel = folder / build.build_wheel(str(folder))
    finally:
        os.chdir(before)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def diffbot(installed, tmp_path):
    def run(*words):
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("DIFFBOT", "AMENT"))
        }
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, str(installed), *map(str, words)],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_every_file_of_every_package_is_in_it(installed):
    for package in PACKAGES:
        for file in (package.path / package.name).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert (installed / file.relative_to(package.path)).is_file(), file
    for folder in ("config", "urdf"):
        wanted = {path.name for path in (ROOT / "diffbot_description" / folder).iterdir()}
        installed_files = installed / "diffbot_description" / "share" / folder
        assert wanted and {path.name for path in installed_files.iterdir()} == wanted
    assert not list(installed.rglob("test_*.py"))


def test_its_version_is_that_of_the_packages(installed):
    (metadata,) = installed.glob("*.dist-info/METADATA")
    version = next(line for line in metadata.read_text().splitlines() if line.startswith("Version"))
    for package in PACKAGES:
        assert f'version="{version.split()[1]}"' in (package.path / "setup.py").read_text()


def test_a_table_is_identified_as_in_the_workspace(diffbot, tmp_path):
    run = record(RunSetting(), seed=3, seconds=25.0)
    rows = [(s.stamp, *s.position, *s.effort) for s in run.samples]
    names = "time,left_position,right_position,left_effort,right_effort"
    lines = [names, *(",".join(map(repr, map(float, row))) for row in rows)]
    (tmp_path / "run.csv").write_text("\n".join(lines))
    words = ["--wheel-radius", "0.075", "--track", "0.27217", "--output", "out", "--no-pictures"]
    done = diffbot("identify", "run.csv", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((tmp_path / "out" / "summary.json").read_text())["parameters"]
    stamps, *columns = zip(*rows, strict=True)
    angles, torques = zip(*columns[:2], strict=True), zip(*columns[2:], strict=True)
    same = identify_arrays(
        stamps, [*angles], [*torques], wheel_radius=0.075, wheel_separation=0.27217
    )
    values = [said[name]["value"] for name in ("K5", "K6", "K7", "K8")]
    assert values == pytest.approx(same.values, rel=1e-9)


def test_its_robots_and_pages_are_found(diffbot, tmp_path):
    done = diffbot("calibrate", "--robot", "twil", "--umbmark", "--side", "4",
                   "--cw", "0.1,0.05", "0.11,0.06", "--ccw", "0.09,-0.05", "0.1,-0.06",
                   "--output", "out")  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    "words", [("launch", "ident"), ("run", "a", "b"), ("echo", "/a"), ("view",)]
)
def test_what_needs_ros_says_so(diffbot, words):
    done = diffbot(*words)
    assert done.returncode == 2 and "needs ROS 2, which is not installed here" in done.stderr
    assert "Traceback" not in done.stderr
