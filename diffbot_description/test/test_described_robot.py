# SPDX-License-Identifier: Apache-2.0
"""Robot files made from URDFs: their text, the command, and robots made on the fly."""

import logging
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from foreign_urdfs import (
    CASTERS,
    HALF_TRACK,
    RADIUS,
    base,
    box,
    joint,
    link,
    origin,
    robot,
    shape,
    wheel,
    write_package,
    write_stl,
)
from strict_urdf import model_of

from diffbot_description import load_robot, urdf, write_identified_robot
from diffbot_description.describe_command import main
from diffbot_description.dynamics import closed_form
from diffbot_description.spoken_commands import spoken
from diffbot_description.urdf_appearance import rpy_from_rotation
from diffbot_description.urdf_tree import UrdfTree, pose, rotation_from_rpy

SEEN = link(
    "lamp",
    shape(box(0.1, 0.02, 0.02), origin(0.1, 0, 0.1), "visual")
    + shape('<mesh filename="package://looks/lamp.stl"/>', "", "visual")
    + shape('<mesh filename="package://no_where/lamp.stl"/>', "", "visual"),
) + joint("lamp_joint", "base_link", "lamp", inside=origin(0.05, 0.01, 0.2))
PARTS = (base(), wheel("left", HALF_TRACK), wheel("right", -HALF_TRACK), CASTERS, SEEN)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "diffbot" / "robots"


@pytest.fixture
def file(tmp_path):
    package = write_package(tmp_path / "ws", "looks")
    write_stl(package / "lamp.stl", (0.1, 0.1, 0.1))
    path = package / "foreign.urdf"
    path.write_text(robot(*PARTS))
    return path


@pytest.fixture
def xacro_file(file):
    path = file.with_name("foreign.urdf.xacro")
    head = '<robot name="foreign" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    argument = '<xacro:arg name="more" default="0.0"/>'
    text = robot(*PARTS).replace('<robot name="foreign">', head + argument)
    path.write_text(text.replace(f"0 {HALF_TRACK!r} 0", f"0 ${{{HALF_TRACK} + $(arg more)}} 0"))
    return path


class TestCommand:
    def test_writes_a_file_that_loads_with_units_and_sources(self, file, tmp_path, capsys):
        output = tmp_path / "mine.yaml"
        assert main([str(file), "--output", str(output)]) == 0
        said = capsys.readouterr().out
        assert "wheels left_joint, right_joint (by their axes and places): radius 0.06 m" in said
        assert f"{spoken('launch', 'ident', f'robot:={output}')}\n" in said
        text = output.read_text()
        assert "radius: 0.06              # m; collision cylinder of link 'left_wheel'" in text
        assert "counts: 4096              # counts; assumed" in text
        assert max(len(line) for line in text.splitlines() if not line.startswith("#")) <= 100
        strict = model_of(file.read_text(), "left_joint", "right_joint")
        assert np.allclose(closed_form(load_robot(output).model), closed_form(strict), rtol=1e-6)

    def test_every_value_has_a_unit_or_a_source(self, file, tmp_path):
        output = tmp_path / "mine.yaml"
        main([str(file), "--output", str(output)])
        lines = output.read_text().splitlines()
        bare = [
            line
            for before, line in zip(lines, lines[1:], strict=False)
            if ": " in line and "#" not in line and not before.strip().startswith("#")
        ]
        assert [line.split(":")[0].strip() for line in bare] == ["left", "right", "body", "accent"]

    def test_arguments_of_xacro_and_the_shapes_beside(self, xacro_file, tmp_path, capsys):
        output = tmp_path / "deep" / "mine.yaml"
        assert main([str(xacro_file), "more:=0.01", "--output", str(output)]) == 0
        assert "mine_shapes.urdf" in capsys.readouterr().out
        robot = load_robot(output)
        assert robot.wheels.separation == pytest.approx(2 * HALF_TRACK + 0.01)
        assert robot.appearance.urdf == "mine_shapes.urdf"
        assert str(xacro_file.parent / "lamp.stl") in urdf(robot)

    def test_without_output_nothing_is_written(self, file, tmp_path, capsys):
        before = sorted(tmp_path.rglob("*"))
        assert main([str(file)], "diffbot describe") == 0
        assert (
            "nothing written; to write the robot file: diffbot describe" in capsys.readouterr().out
        )
        assert sorted(tmp_path.rglob("*")) == before

    def test_options_reach_the_description(self, file, capsys):
        words = ["--wheels", "left_joint", "right_joint", "--wheel-radius", "0.061", "--mass", "9"]
        assert main([str(file), *words]) == 0
        said = capsys.readouterr().out
        assert "(as given by --wheels): radius 0.061 m" in said
        assert "9 kg in" in said

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["no.urdf"], "does not exist"),
            (["robot.yaml"], "must end in .urdf or .xacro"),
            (["FILE", "--output", "robot.txt"], "must end in .yaml"),
            (["FILE", "side:left"], "'side:left' is no xacro argument"),
            (["FILE", "side:=left"], "is no xacro, but the arguments"),
            (["FILE", "--wheels", "a", "b"], "joint 'a' is not in the URDF"),
        ],
    )
    def test_refuses_in_one_line(self, words, message, file, capsys):
        assert main([word.replace("FILE", str(file)) for word in words]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


class TestOnTheFly:
    def test_a_urdf_is_a_robot_and_is_spoken_of_once(self, file, cache, caplog):
        with caplog.at_level(logging.WARNING):
            first = load_robot(str(file))
        (record,) = caplog.records
        lines = record.getMessage().splitlines()
        assert lines[0] == f"robot foreign, made from {file}:"
        assert f"  all of it with its source: {first.path}" in lines
        assert len(lines) <= 16
        assert first.path.parent == cache
        caplog.clear()
        assert load_robot(file) == first
        assert caplog.records == []

    def test_a_changed_urdf_is_another_robot(self, file, cache):
        first = load_robot(file)
        file.write_text(robot(*PARTS).replace(f'radius="{RADIUS!r}"', 'radius="0.061"'))
        assert load_robot(file).wheels.radius == 0.061
        assert load_robot(first.path).wheels.radius == RADIUS
        assert len(list(cache.glob("*.yaml"))) == 2

    def test_a_xacro_file_is_a_robot(self, xacro_file, cache):
        robot = load_robot(xacro_file)
        assert robot.wheels.separation == pytest.approx(2 * HALF_TRACK)
        assert (cache / robot.appearance.urdf).is_file()

    def test_without_a_home_it_is_made_in_a_folder_of_its_own(self, file, tmp_path, monkeypatch):
        (tmp_path / "taken").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
        assert load_robot(file).wheels.radius == RADIUS

    def test_what_is_no_robot_is_told_with_the_file(self, tmp_path):
        path = tmp_path / "arm.urdf"
        path.write_text('<robot name="arm"><link name="base"/></robot>')
        with pytest.raises(ValueError, match=f"{path}: the URDF has no wheel"):
            load_robot(path)


class TestShapes:
    def test_are_the_urdfs_at_their_places(self, file):
        robot = load_robot(file)
        links = {e.get("name"): e for e in ElementTree.fromstring(urdf(robot)).iter("link")}
        visuals = links["chassis_link"].findall("visual")
        places = [pose(visual, "v")[1].tolist() for visual in visuals]
        # base_link is at the axle, as the generated base_link is.
        assert places == [[0.15, 0.01, 0.3], [0.05, 0.01, 0.2]]
        mesh = links["chassis_link"].find("visual/geometry/mesh")
        assert mesh.get("filename") == f"file://{file.parent / 'lamp.stl'}"

    def test_turn_with_their_wheel(self, tmp_path):
        drawn = shape(box(0.02, 0.02, 0.01), origin(0.03), "visual")
        parts = [
            wheel(n, y).replace("</link>", drawn + "</link>", 1)
            for n, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
        ]
        path = tmp_path / "r.urdf"
        path.write_text(robot(base(), *parts, CASTERS))
        tree = UrdfTree(urdf(load_robot(path)))
        for side, y in (("left", HALF_TRACK), ("right", -HALF_TRACK)):
            placed = tree.links[f"{side}_wheel_link"]
            (visual,) = placed.element.findall("visual")
            _, offset = pose(visual, "v")
            assert np.allclose(placed.rotation @ offset + placed.translation, [0.03, y, 0])

    def test_change_nothing_but_the_look(self, file):
        robot = load_robot(file)
        plain = replace(robot, appearance=replace(robot.appearance, urdf=None))

        def physics(text):
            root = ElementTree.fromstring(text)
            for element in root.iter("link"):
                for visual in element.findall("visual"):
                    element.remove(visual)
            for material in root.findall("material"):
                root.remove(material)
            words = [(e.tag, sorted(e.attrib.items()), (e.text or "").strip()) for e in root.iter()]
            return words

        assert physics(urdf(robot)) == physics(urdf(plain))

    def test_of_a_file_that_is_gone_are_named(self, file, tmp_path):
        output = tmp_path / "mine.yaml"
        main([str(file), "--output", str(output)])
        file.unlink()
        with pytest.raises(
            ValueError, match=r"mine.yaml: appearance.urdf: file .* not exist.*Copy"
        ):
            urdf(load_robot(output))

    def test_stay_with_an_identified_robot_elsewhere(self, file, tmp_path):
        output = tmp_path / "mine.yaml"
        main([str(file), "--output", str(output)])
        robot = load_robot(output)
        k = closed_form(robot.model)
        identified, _ = write_identified_robot(
            robot, tmp_path / "results" / "run", k.k5, k.k7, k.k8, (None,) * 4, []
        )
        assert "lamp.stl" in urdf(load_robot(identified))

    def test_rotations_come_back(self):
        rng = np.random.default_rng(1)
        angles = [*rng.uniform(-3, 3, (50, 3)), (0.3, np.pi / 2, 0.2), (1, -np.pi / 2, -0.4)]
        for rpy in angles:
            rotation = rotation_from_rpy(*rpy)
            again = rotation_from_rpy(*rpy_from_rotation(rotation))
            assert np.allclose(again, rotation, atol=1e-7)


def test_names_of_joints_may_hold_a_robots_name(tmp_path):
    text = (
        robot().replace("left_joint", "bot1/left-wheel").replace("right_joint", "bot1/right.wheel")
    )
    path = Path(tmp_path, "r.urdf")
    path.write_text(text)
    result = load_robot(path)
    assert result.joints.first[0] == "bot1/left-wheel"
    assert yaml.safe_load(result.path.read_text())["joints"]["right"] == "bot1/right.wheel"
    assert "bot1/left-wheel" in urdf(result)


def test_four_wheels_are_written_as_a_robot_file_that_loads(tmp_path):
    ends = [
        wheel(f"{end}_{side}", y, x)
        for end, x in (("front", 0.15), ("rear", -0.15))
        for side, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
    ]
    path = tmp_path / "husky.urdf"
    path.write_text(robot(base(), *ends, SEEN).replace("collision>", "visual>"))
    output = tmp_path / "husky.yaml"
    assert main([str(path), "--output", str(output)]) == 0
    result = load_robot(output)
    assert result.joints.left == ("front_left_joint", "rear_left_joint")
    assert result.turning.coulomb > 0.0
    assert "turning.coulomb = " in output.read_text()
    # All of its shapes are drawn with the body, where they are in the URDF.
    tree = UrdfTree(urdf(result))
    assert not tree.links["left_wheel_link"].element.findall("visual")
    places = {
        tuple(np.round(pose(visual, "a visual")[1], 3))
        for visual in tree.links["chassis_link"].element.findall("visual")
    }
    for x in (0.15, -0.15):
        for y in (HALF_TRACK, -HALF_TRACK):
            assert any(np.allclose(place[:2], (x, y), atol=1e-3) for place in places)
