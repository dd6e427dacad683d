# SPDX-License-Identifier: Apache-2.0
"""Files that somebody names: what has no end, or no writer, is refused and not opened."""

import os
import time
from pathlib import Path

import pytest

from arc_odometry import WheelGeometry
from diffbot_bringup.xml_launch.document import LaunchError, read
from diffbot_controllers.parameter_reader import DynamicsFile
from diffbot_description import load_robot
from diffbot_description.files import read_regular, read_text
from diffbot_description.limits import TEXT, Limit
from diffbot_description.show_parameters import main as show_parameters
from diffbot_description.urdf_shapes import mesh_box
from diffbot_recordings.bag import Bag
from diffbot_recordings.recorded_readings import ReadingOptions, read_readings
from diffbot_recordings.samples import RecordingError, check_files
from diffbot_recordings.sysid_log import read_entries, read_sysid
from diffbot_sim.faults.fault import load_script

REFUSED = "is not a regular file but a device or a pipe"
READERS = {
    ".yaml": (
        load_robot,
        read_text,
        load_script,
        lambda path: DynamicsFile(str(path)).dynamics("twil"),
    ),
    ".json": (read_sysid,),
}


OPENERS = {
    ".csv": lambda path: check_files([path]),
    ".mcap": Bag,
    ".db3": Bag,
    ".wpilog": read_entries,
}


def refusals(path):
    """The messages of all readers of that kind of file; each is one line, and comes at once."""
    for reader in READERS[path.suffix]:
        begin = time.process_time()
        with pytest.raises(ValueError) as error:
            reader(path)
        assert time.process_time() - begin < 1.0
        assert path.name in str(error.value) and "\n" not in str(error.value)
        yield str(error.value)


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.wall_time
def test_devices_and_pipes_are_not_opened(suffix, tmp_path):
    device, pipe = tmp_path / f"zero{suffix}", tmp_path / f"pipe{suffix}"
    device.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    for path in (device, pipe):
        assert all(REFUSED in text for text in refusals(path))


@pytest.mark.parametrize("suffix", [".csv", ".mcap", ".db3", ".wpilog"])
def test_recordings_that_are_devices_or_pipes_are_not_opened(suffix, tmp_path):
    device, pipe = tmp_path / f"zero{suffix}", tmp_path / f"pipe{suffix}"
    device.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    for path in (device, pipe):
        with pytest.raises(RecordingError, match=REFUSED):
            check_files([path])
        with pytest.raises(RecordingError, match=REFUSED):
            read_readings([path], ReadingOptions(), WheelGeometry(0.1, 0.1, 0.3))
        with pytest.raises(RecordingError, match=REFUSED):
            OPENERS[suffix](path)
    with pytest.raises(RecordingError, match="there is no such file or folder"):
        check_files([tmp_path / ("a" * 5000)])


def test_meshes_that_are_devices_or_pipes_are_not_opened(tmp_path):
    for name, make in (("zero", lambda path: path.symlink_to("/dev/zero")), ("pipe", os.mkfifo)):
        for suffix in (".stl", ".obj", ".dae"):
            make(path := tmp_path / f"{name}{suffix}")
            with pytest.raises(ValueError, match=REFUSED):
                mesh_box(path)


def test_launch_files_that_are_pipes_are_not_opened(tmp_path):
    os.mkfifo(pipe := tmp_path / "pipe.launch.xml")
    with pytest.raises(LaunchError, match=rf"cannot read the launch file {pipe}: {REFUSED}"):
        read(pipe)


def test_the_pipe_of_a_shell_is_named_where_it_is_gone():
    with pytest.raises(ValueError, match="such as <"):
        read_regular(Path("/dev/fd/963"))


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.wall_time
def test_folders_and_other_kinds_of_content_are_named(suffix, tmp_path):
    folder, picture = tmp_path / f"folder{suffix}", tmp_path / f"picture{suffix}"
    folder.mkdir()
    picture.write_bytes(b"\x89PNG\xff")
    assert all("is a folder" in text for text in refusals(folder))
    assert all("is no text file" in text for text in refusals(picture))


@pytest.mark.wall_time
def test_the_limit_is_of_what_is_read(tmp_path):
    """2 characters of 3 bytes: the limit counts characters; a sparse file has 1 TB of zeros."""
    file = tmp_path / "x.yaml"
    file.write_text("€€", encoding="utf-8")
    size, one = (Limit("the size", count, "characters", "shorten it") for count in (2, 1))
    assert read_regular(file, size) == "€€"
    with pytest.raises(ValueError, match="the size exceeds the limit of 1 characters; shorten it"):
        read_regular(file, one)
    os.truncate(file, 10**12)
    assert all(f"the limit of {TEXT}" in text for text in refusals(file))


def test_a_urdf_is_read_alike(tmp_path, capsys):
    device = tmp_path / "zero.urdf"
    device.symlink_to("/dev/zero")
    assert show_parameters([str(device)]) == 2
    assert f"{device}: cannot be read: is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "read", [load_robot, load_script, lambda path: DynamicsFile(path).dynamics("x")]
)
def test_the_home_of_nobody_is_a_path_that_does_not_exist(read):
    with pytest.raises(ValueError, match="~nobody_here/x"):
        read("~nobody_here/x.yaml")


def test_paths_are_expanded_in_one_place():
    root = Path(__file__).resolve().parents[2]
    parts = [*root.glob("[a-z]*_*/[a-z]*_*"), *root.glob("tools/*/diffbot_*")]
    files = [file for part in parts for file in part.rglob("*.py")]
    assert len(files) > 300
    assert [file for file in files if ".expanduser()" in file.read_text()] == []


def test_a_folder_that_is_named_as_a_robot(tmp_path):
    with pytest.raises(ValueError, match=rf"robot '{tmp_path}' is a folder. Known robots: agv,"):
        load_robot(str(tmp_path))
