# SPDX-License-Identifier: Apache-2.0
"""URDF and xacro files: arguments, packages beside the file, and what is missing."""

import os
from pathlib import Path

import pytest
from foreign_urdfs import robot, write_package, write_stl

from diffbot_description.urdf_files import (
    Packages,
    _is_suites,
    read_urdf,
    with_absolute_meshes,
    xacro_arguments,
)
from diffbot_description.urdf_tree import UrdfTree

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'


def xacro(folder, content, name="r.urdf.xacro"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEAD}{content}</robot>")
    return path


def links(path, **arguments):
    return list(UrdfTree(read_urdf(path, arguments)).links)


def test_a_plain_urdf_is_read_as_it_is(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(robot())
    assert read_urdf(path) == robot()


def test_a_file_that_ends_in_xacro_is_expanded(tmp_path):
    content = '<xacro:arg name="prefix" default=""/><link name="$(arg prefix)base"/>'
    path = xacro(tmp_path, content)
    assert links(path) == ["base"]
    assert links(path, prefix="bot_") == ["bot_base"]


def test_nested_xacro_of_packages_beside(tmp_path):
    """A package includes a file of another one, which includes a third's, laid out as sources."""
    one, two, three = (write_package(tmp_path / "ws", name) for name in ("one", "two", "three"))
    xacro(three, '<xacro:macro name="m" params="n"><link name="${n}"/></xacro:macro>', "m.xacro")
    xacro(two, '<xacro:include filename="$(find three)/m.xacro"/>', "description/urdf/i.xacro")
    path = xacro(
        one,
        '<xacro:include filename="$(find two)/urdf/i.xacro"/><xacro:m n="base"/>',
        "urdf/r.xacro",
    )
    assert links(path) == ["base"]
    assert sorted(p.name for p in two.rglob("*")) == [
        "description",
        "i.xacro",
        "package.xml",
        "urdf",
    ]


def test_a_package_that_is_nowhere_is_left_out_where_nothing_of_it_is_used(tmp_path):
    include = '<xacro:include filename="$(find no_such_sensor)/urdf/s.xacro"/><link name="base"/>'
    path = xacro(tmp_path, include)
    packages = Packages(path)
    assert "base" in read_urdf(path, {}, packages)
    assert packages.missing == ["no_such_sensor"]


def test_a_package_that_is_nowhere_is_named_where_it_is_used(tmp_path):
    include = '<xacro:include filename="$(find no_such)/urdf/s.xacro"/><xacro:sensor/>'
    with pytest.raises(ValueError) as caught:
        read_urdf(xacro(tmp_path, include))
    assert "without the packages no_such, which are neither installed nor beside" in str(
        caught.value
    )
    assert "xacro FILE > robot.urdf" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<link name="$(arg side)"/>', "needs the argument 'side'. Give it: side:=VALUE"),
        ('<link name="${1/0}"/>', "xacro cannot expand it"),
        ('<link name="${nothing}"/>', "name 'nothing' is not defined"),
        ('<xacro:include filename="no.xacro"/>', "No such file"),
        ("<link", "xacro cannot expand it"),
    ],
)
def test_what_xacro_does_not_expand_is_told_in_one_line(content, message, tmp_path):
    path = xacro(tmp_path, content)
    with pytest.raises(ValueError) as caught:
        read_urdf(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_arguments_are_told(tmp_path):
    with pytest.raises(ValueError, match="'side=left' is no xacro argument. Write NAME:=VALUE"):
        xacro_arguments(["side=left"])
    path = xacro(tmp_path, '<xacro:arg name="side" default="a"/><link name="$(arg side)"/>')
    with pytest.raises(ValueError, match="has no argument 'sides'. Did you mean side"):
        read_urdf(path, {"sides": "b"})
    plain = tmp_path / "p.urdf"
    plain.write_text(robot())
    with pytest.raises(ValueError, match="is no xacro, but the arguments a were given"):
        read_urdf(plain, {"a": "b"})


def test_meshes_are_found_by_package_path_and_beside(tmp_path, monkeypatch):
    own, other = (write_package(tmp_path / "ws" / "src", name) for name in ("own", "other"))
    write_stl(other / "m.stl", (1.0, 1.0, 1.0))
    path = own / "urdf" / "r.urdf"
    path.parent.mkdir()
    text = '<robot name="r"><link name="a"><visual><geometry>{}</geometry></visual></link></robot>'
    path.write_text(text.format('<mesh filename="package://other/m.stl"/>'))
    packages = Packages(path)
    assert packages.resolve("package://other/m.stl") == other / "m.stl"
    assert packages.resolve("../../other/m.stl").samefile(other / "m.stl")
    assert packages.resolve(f"file://{other}/m.stl") == other / "m.stl"
    for nowhere in ("package://other/n.stl", "package://none/m.stl", "model://other/m.stl", ""):
        assert packages.resolve(nowhere) is None
    assert f"file://{other}/m.stl" in with_absolute_meshes(path.read_text(), packages)
    alone = Packages(tmp_path / "alone.urdf")
    assert alone.resolve("package://other/m.stl") is None
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
    assert Packages(tmp_path / "alone.urdf").resolve("package://other/m.stl") == other / "m.stl"


def test_the_name_of_a_package_beside_is_no_path(tmp_path):
    """The packages beside a file are linked by their names into a temporary folder."""
    package = write_package(tmp_path / "ws", "own")
    manifest = package / "package.xml"
    escaped = tmp_path / "escaped"
    for name in (f"../../..{escaped}", str(escaped), "..", "a/b", ""):
        manifest.write_text(f"<package><name>{name}</name></package>")
        path = xacro(package, '<link name="base"/>', "urdf/r.xacro")
        assert links(path) == ["base"]
        assert list(Packages(path).around) == ["own"]
        assert not escaped.exists() and not escaped.is_symlink()
    manifest.write_text('<!DOCTYPE a [<!ENTITY b "x">]><package><name>&b;</name></package>')
    assert list(Packages(path).around) == ["own"]


def test_arguments_are_searched_in_no_time(tmp_path):
    path = xacro(tmp_path, "<xacro:arg " * 80_000)
    with pytest.raises(ValueError, match="xacro cannot expand it"):
        read_urdf(path)


def installed(prefix, name):
    """Return the folder of an installed package with a mark.xacro that names its prefix."""
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True, exist_ok=True)
    (index / name).touch()
    folder = write_package(prefix / "share", name)
    xacro(folder, f'<link name="{prefix.name}"/>', "mark.xacro")
    return folder


def test_packages_are_searched_in_the_files_own_then_sourced_then_the_suite(tmp_path, monkeypatch):
    """`diffbot_description` is a package of the suite, which comes last wherever it is sourced."""
    name = "diffbot_description"
    suite = installed(tmp_path / "suite", name)
    manifest = (Path(__file__).parents[1] / "package.xml").read_text()
    (suite / "package.xml").write_text(manifest)
    include = f'<xacro:include filename="$(find {name})/mark.xacro"/>'
    path = xacro(tmp_path / "alone", include, "r.xacro")

    def source(*prefixes):
        results = [str(tmp_path / prefix) for prefix in prefixes]
        monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(results))

    source("suite")
    assert links(path) == ["suite"]
    assert Packages(path).find(name) == suite
    user = installed(tmp_path / "user", name)
    source("suite", "user")
    assert links(path) == ["user"]
    assert Packages(path).find(name) == user
    # A neighbour replaces what only the suite has; the package of the file replaces all.
    near = write_package(tmp_path / "ws", name)
    xacro(near, '<link name="neighbour"/>', "mark.xacro")
    other = xacro(write_package(tmp_path / "ws", "other"), include, "r.xacro")
    assert links(other) == ["user"]
    source("suite")
    assert links(other) == ["neighbour"]
    assert Packages(other).find(name) == near
    source("suite", "user")
    own = xacro(near, include, "r.xacro")
    assert links(own) == ["neighbour"]
    assert Packages(own).find(name) == near


def test_a_file_that_the_files_own_package_gets_only_at_its_installation(tmp_path, monkeypatch):
    installed(tmp_path / "user", "mine")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "user"))
    source = write_package(tmp_path / "ws", "mine")
    path = xacro(source, '<xacro:include filename="$(find mine)/mark.xacro"/>', "r.xacro")
    assert links(path) == ["user"]
    assert sorted(p.name for p in source.iterdir()) == ["package.xml", "r.xacro"]


def test_each_package_of_the_suite_is_known_as_its_own():
    root = Path(__file__).resolve().parents[2]
    manifests = [*root.glob("*/package.xml"), *root.glob("tools/*/package.xml")]
    results = [p for p in manifests if (p.parent / "setup.py").exists()]
    assert len(results) > 10
    assert all(_is_suites(manifest.parent) for manifest in results)
