# SPDX-License-Identifier: Apache-2.0
"""diffbot-suite, the distribution without ROS: what is in it, and that it works without ROS."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from made_recordings.excited_runs import RunSetting, record

from diffbot_bringup.workspace.packages import find_packages
from diffbot_recordings import identify_arrays
from diffbot_study import simulate

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

WITHOUT_POSIX = """
import asyncio, multiprocessing.pool, os, shutil, signal, sys, tempfile
import matplotlib.figure, numpy, plotly, rich.console, rosbags.highlevel, scipy.optimize, yaml
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty", "rclpy", "diffbot_msgs"):
    sys.modules[name] = None
for name in [name for name in dir(signal) if name.startswith(("SIG", "pthread"))]:
    if name not in ("SIGINT", "SIGTERM", "SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV", "SIG_DFL",
                    "SIG_IGN"):
        delattr(signal, name)
del os.fork, os.getuid, os.geteuid, os.killpg, os.setsid
site = sys.argv[1]
sys.path.insert(0, site)
import importlib
count = 0
for package in sorted(entry for entry in os.listdir(site) if "." not in entry):
    module = importlib.import_module(package)
    assert module.__file__.startswith(site), module.__file__
    for name in getattr(module, "__all__", ()):
        try:
            getattr(module, name)
            count += 1
        except ModuleNotFoundError as error:
            of_ros = ("_msgs", "rclpy", "interfaces", "ament")
            assert any(part in (error.name or "") for part in of_ros), (package, name, error)
for command in ("diffbot_recordings.identify", "diffbot_calibration.command",
                "diffbot_description.describe_command", "diffbot_export.command",
                "diffbot_study.study", "diffbot_study.fleet", "diffbot_study.simulate",
                "diffbot_study.torque_run", "diffbot_study.drive_run",
                "diffbot_bringup.cli", "diffbot_bringup.commands.reproduce",
                "diffbot_bringup.commands.view"):
    importlib.import_module(command)
print(count)
"""


def built(function, source, target):
    """The file that a function of the build backend makes of a folder of sources."""
    before = Path.cwd()
    os.chdir(source)
    try:
        return target / function(str(target))
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(build.build_wheel, ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel):
    """The folder of an unpacked wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"


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


def test_its_bill_of_materials_lists_every_dependency(installed):
    (info,) = installed.glob("*.dist-info")
    bill = json.loads((info / "sboms" / "diffbot-suite.cdx.json").read_text())
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    lines = (info / "METADATA").read_text().splitlines()
    requirements = [line.split()[1] for line in lines if line.startswith("Requires-Dist")]
    assert sorted(scopes) == sorted(name.strip(";").lower() for name in requirements)
    assert scopes["numpy"] == "required" and scopes["mujoco"] == "optional"
    assert "Version: " + bill["metadata"]["component"]["version"] in lines


def test_the_sources_give_the_same_wheel_byte_by_byte(wheel, tmp_path):
    archive = built(build.build_sdist, ROOT, tmp_path)
    with tarfile.open(archive) as sources:
        sources.extractall(tmp_path / "sources")
    (folder,) = (tmp_path / "sources").iterdir()
    (tmp_path / "again").mkdir()
    again = built(build.build_wheel, folder, tmp_path / "again")
    assert again.name == wheel.name and again.read_bytes() == wheel.read_bytes()


def test_public_names_need_nothing_of_posix(installed, tmp_path):
    """As far as Linux can tell: modules that Windows lacks are missing, and so are its signals."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX, str(installed)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def test_the_base_is_imported_without_what_loads_slowly(installed, tmp_path):
    slow = "{'numpy', 'scipy', 'matplotlib', 'plotly', 'rich', 'rosbags'} & {*sys.modules}"
    code = "import sys; sys.path.insert(0, sys.argv[1]); import diffbot_ident, diffbot_study; {}"
    code = code.format(f"import diffbot_bringup.cli, diffbot_description; print({slow})")
    done = subprocess.run(
        [sys.executable, "-c", code, str(installed)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "set()\n"


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


def test_a_run_is_simulated_as_in_the_workspace(diffbot, tmp_path):
    words = (
        "ident",
        "robot:=twil",
        "seed:=5",
        "duration:=6",
        "until:=none",
        "verification:=0",
        "report:=html",
    )
    done = diffbot("simulate", *words, "results:=out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert simulate.main([*words, f"results:={tmp_path}/own"]) == 0
    said, own = (
        json.loads((tmp_path / name / "summary.json").read_text())["parameters"]
        for name in ("out", "own")
    )
    for name, value in own.items():
        assert said[name]["value"] == pytest.approx(value["value"], rel=1e-9), name
    page = (tmp_path / "out" / "report.html").read_text()
    assert "diffbot simulate ident robot:=twil" in page and "./diffbot simulate" not in page


@pytest.mark.parametrize("robot", ["twil", "agv", "turtlebot2"])
def test_every_robot_is_there(diffbot, robot):
    done = diffbot("simulate", "ident", f"robot:={robot}", "results:=/dev/null/x")
    assert done.returncode == 2 and "no such robot" not in done.stderr
    assert ("results:=/dev/null/x" in done.stderr) or ("takes velocities" in done.stderr)


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
