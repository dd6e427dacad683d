# SPDX-License-Identifier: Apache-2.0
"""Window and camera where there is no display: what to do is said; the camera makes its own."""

import pytest
from gazebo_helpers import children

from diffbot_sim.engines import make_simulator
from diffbot_sim.engines.gazebo_engine import GazeboSimulator
from diffbot_sim.gazebo.installation import GazeboError


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)


def test_a_window_without_display_is_an_error_that_says_what_to_do(gazebo, twil):
    before = children()
    with pytest.raises(GazeboError, match="DISPLAY is not set; use gui:=false"):
        GazeboSimulator(twil, gui=True)
    assert children() == before


def test_a_camera_without_xvfb_is_an_error_that_says_what_to_install(
    gazebo, twil, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GazeboError, match="sudo apt install xvfb"):
        GazeboSimulator(twil, pictures=tmp_path / "pictures")


def test_an_xvfb_that_fails_is_an_error_with_its_words(gazebo, twil, tmp_path, monkeypatch):
    program = tmp_path / "Xvfb"
    program.write_text("#!/bin/sh\necho no screens found >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        GazeboError, match=r"Xvfb, the display for the camera, did not start[\s\S]*no screens"
    ):
        GazeboSimulator(twil, pictures=tmp_path / "pictures")


@pytest.mark.parametrize("engine", ["ideal", "mujoco"])
@pytest.mark.parametrize("wish", [{"gui": True}, {"pictures": "folder"}])
def test_engines_without_window_and_camera_name_the_one_that_has_them(twil, engine, wish):
    with pytest.raises(ValueError, match="use sim:=gazebo"):
        make_simulator(engine, twil, **wish)
