# SPDX-License-Identifier: Apache-2.0
"""The world that Gazebo loads: the robot's settings arrive, and nothing appears twice."""

import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from diffbot_description import load_robot
from diffbot_sim.gazebo import world
from diffbot_sim.gazebo.installation import GazeboError
from diffbot_sim.gazebo.world import PhysicsSettings, robot_sdf, write_world


def write(gazebo, folder, robot, pictures=None, **settings):
    """The roots of world and robot."""
    world = write_world(gazebo, folder, robot, PhysicsSettings(**settings), pictures)
    model = folder / "robot" / "model.sdf"
    return ElementTree.parse(world).getroot(), ElementTree.parse(model).getroot()


@pytest.fixture
def make(gazebo, tmp_path):
    return partial(write, gazebo, tmp_path)


@pytest.fixture(scope="module")
def written(gazebo, robot, tmp_path_factory):
    """World and model as they are without special wishes."""
    return write(gazebo, tmp_path_factory.mktemp("world"), robot)


def wheel_collisions(robot, model):
    links = [model.findtext(f".//joint[@name='{name}']/child") for name in robot.joints.first]
    return [model.findall(f".//link[@name='{link}']/collision") for link in links]


def values(collision, name):
    return float(collision.findtext(f"surface/{name}"))


def test_each_wheel_touches_with_one_sphere_of_its_radius(written, robot):
    _, model = written
    for collisions in wheel_collisions(robot, model):
        assert len(collisions) == 1
        (shape,) = collisions[0].find("geometry")
        assert shape.tag == "sphere"
        assert float(shape.findtext("radius")) == pytest.approx(robot.wheels.radius)


def test_contact_settings_of_the_robots_yaml_arrive(make, robot, tmp_path):
    text = robot.path.read_text()
    settings = {"stiffness": 3e6, "damping": 700.0, "wheel_friction": 4.0, "caster_friction": 0.25}
    for name, value in settings.items():
        text, count = re.subn(rf"(?m)^  {name}: \S+", f"  {name}: {value}", text)
        assert count == 1
    path = tmp_path / "other.yaml"
    path.write_text(text)
    robot = load_robot(path)
    _, model = make(robot)
    wheels = [x for result in wheel_collisions(robot, model) for x in result]
    casters = [x for x in model.iter("collision") if "caster" in x.get("name")]
    assert len(casters) == len(robot.casters)
    # The casters' drag is the engine's, not the contact's.
    for group, friction in ((wheels, 4.0), (casters, 0.0)):
        for collision in group:
            assert values(collision, "contact/ode/kp") == 3e6
            assert values(collision, "contact/ode/kd") == 700.0
            assert values(collision, "friction/ode/mu") == friction
            assert values(collision, "friction/ode/mu2") == friction


def test_settings_for_measurements_replace_those_of_the_robot(make, twil):
    settings = {"stiffness": 2e5, "damping": 30.0, "wheel_friction": 2.0}
    world, model = make(twil, solver="quick", iterations=77, inner_step=0.0005, **settings)
    for collision in (x for result in wheel_collisions(twil, model) for x in result):
        assert values(collision, "contact/ode/kp") == 2e5
        assert values(collision, "contact/ode/kd") == 30.0
        assert values(collision, "friction/ode/mu") == 2.0
    for caster in (x for x in model.iter("collision") if "caster" in x.get("name")):
        assert values(caster, "friction/ode/mu") == twil.contact.caster_friction
    physics = world.find(".//physics")
    assert physics.findtext("ode/solver/type") == "quick"
    assert int(physics.findtext("ode/solver/iters")) == 77
    assert float(physics.findtext("max_step_size")) == 0.0005


def test_masses_and_joints_are_those_of_the_robot(written, robot):
    _, model = written
    masses = sorted(float(x.text) for x in model.iter("mass"))
    assert masses == pytest.approx(sorted([robot.body.mass, *[robot.wheels.mass] * 2]), rel=1e-5)
    for name in robot.joints.first:
        joint = model.find(f".//joint[@name='{name}']")
        assert joint.get("type") == "revolute"
        assert [float(x) for x in joint.findtext("axis/xyz").split()] == pytest.approx([0, 1, 0])


def test_every_part_of_the_robot_has_its_colour(written, robot):
    _, model = written
    colours = {
        tuple(float(x) for x in visual.findtext("material/diffuse").split()[:3])
        for visual in model.iter("visual")
    }
    assert {tuple(robot.appearance.body), tuple(robot.appearance.accent)} <= colours


def test_one_plugin_that_knows_the_joints(written, robot):
    world, _ = written
    (plugin,) = world.iter("plugin")
    assert plugin.findtext("left_joint") == robot.joints.first[0]
    assert plugin.findtext("right_joint") == robot.joints.first[1]
    (name,) = [x.findtext("name") for x in world.iter("include")]
    assert plugin.findtext("robot") == name


def test_camera_only_on_demand(written):
    world, _ = written
    assert world.findall(".//sensor") == []


def test_camera_writes_into_a_folder_of_any_name(make, twil, tmp_path):
    """Gazebo gives the path to a shell, so it gets one that leads there and holds no surprise."""
    folder = tmp_path / "new" / "a <b> & 'c' $(touch x); y"
    world, _ = make(twil, pictures=folder)
    (sensor,) = world.iter("sensor")
    path = Path(sensor.findtext("camera/save/path"))
    assert path.is_dir() and path.resolve() == folder
    assert re.fullmatch(r"[\w/.-]+", str(path))


def test_a_robot_that_gazebo_cannot_read_is_an_error_with_its_words(gazebo, twil, tmp_path):
    broken = replace(gazebo, prefix=tmp_path)
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    program = tmp_path / "usr" / "bin" / "gz"
    program.write_text("#!/bin/sh\necho 'Error: no such shape' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(GazeboError, match="no such shape"):
        write_world(broken, tmp_path, twil, PhysicsSettings(), None)


def test_a_robot_is_converted_once_and_another_one_again(gazebo, robot, monkeypatch):
    world._converted.cache_clear()
    runs, run = [], subprocess.run
    monkeypatch.setattr(
        world.subprocess, "run", lambda *args, **kw: runs.append(args) or run(*args, **kw)
    )
    first, second = (robot_sdf(gazebo, robot, PhysicsSettings()) for _ in range(2))
    assert first == second and len(runs) == 1
    other = robot_sdf(gazebo, robot, PhysicsSettings(damping=123.0))
    assert other != first and len(runs) == 2
