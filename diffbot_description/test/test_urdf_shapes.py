# SPDX-License-Identifier: Apache-2.0
"""Boxes around shapes and meshes."""

import math

import numpy as np
import pytest
from foreign_urdfs import write_stl
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description.urdf_shapes import Shape, mesh_box
from diffbot_description.urdf_tree import rotation_from_rpy

ANGLE = st.floats(-math.pi, math.pi)


def test_text_and_binary_stl_and_obj_are_the_same(tmp_path):
    write_stl(tmp_path / "b.stl", (2.0, 4.0, 6.0))
    corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in ((-1, -2, -3), (1, 2, 3), (1, -2, 3)))
    (tmp_path / "t.STL").write_text(f"solid t\nfacet normal 0 0 1\nouter loop\n{corners}endloop\n")
    (tmp_path / "o.obj").write_text("# o\nvn 9 9 9\nv -1 -2 -3\nv 1 2 3 1.0\nf 1 2 2\n")
    for name in ("b.stl", "t.STL", "o.obj"):
        low, high = mesh_box(tmp_path / name)
        assert low.tolist() == [-1, -2, -3]
        assert high.tolist() == [1, 2, 3]


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema">
  <asset><unit name="millimetre" meter="0.001"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array count="6">-1 -2 -3 1 2 3</float_array></source>
    <source id="n"><float_array count="3">9 9 9</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene><node>
    {}<node><instance_geometry url="#g"/></node>
  </node></visual_scene></library_visual_scenes>
</COLLADA>"""


@pytest.mark.parametrize(
    ("transform", "low", "high"),
    [
        ("", (-1, -2, -3), (1, 2, 3)),
        ("<translate>10 0 0</translate><rotate>0 0 1 90</rotate>", (8, -1, -3), (12, 1, 3)),
        ("<rotate>0 0 1 90</rotate><translate>10 0 0</translate>", (-2, 9, -3), (2, 11, 3)),
        ("<scale>2 1 1</scale>", (-2, -2, -3), (2, 2, 3)),
        ("<matrix>0 0 1 5 0 1 0 0 -1 0 0 0 0 0 0 1</matrix>", (2, -2, -1), (8, 2, 1)),
    ],
)
def test_collada_with_its_unit_and_the_transforms_of_its_nodes(transform, low, high, tmp_path):
    (tmp_path / "m.dae").write_text(COLLADA.format(transform))
    result = mesh_box(tmp_path / "m.dae")
    assert np.allclose(result, 0.001 * np.array([low, high]), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.3ds", b"", ".3ds is not read"),
        ("m.dae", b"<COLLADA/>", "holds no vertices"),
        ("m.dae", b"<COLLADA>", "is no Collada file that can be read"),
        ("m.dae", COLLADA.format("<matrix>1 0</matrix>").encode(), "is no Collada file"),
        ("m.stl", b"", "no whole STL"),
        ("m.stl", b"\0" * 90, "no whole STL"),
        ("m.stl", b"solid empty\nendsolid", "holds no vertices"),
        ("m.stl", b"solid s\nvertex 1 2 x", "does not hold three numbers"),
        ("m.obj", b"v 1 2", "does not hold three numbers"),
        ("m.obj", b"v 1 2 nan", "not finite"),
    ],
)
def test_broken_meshes_are_refused(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        mesh_box(tmp_path / name)


def shape(kind, half, rotation):
    return Shape("l", "visual", kind, np.array(half), np.array([1.0, 2.0, 3.0]), rotation)


@given(ANGLE, ANGLE, ANGLE)
def test_the_corners_hold_the_shape_and_touch_it(roll, pitch, yaw):
    rotation = rotation_from_rpy(roll, pitch, yaw)
    half = np.array([0.3, 0.3, 0.5])
    turn = np.linspace(0, 2 * math.pi, 721)
    rim = np.stack([0.3 * np.cos(turn), 0.3 * np.sin(turn), np.full_like(turn, 0.5)])
    for kind, points in (
        ("cylinder", np.hstack([rim, -rim])),
        (
            "box",
            np.array([[a, b, c] for a in (-0.3, 0.3) for b in (-0.3, 0.3) for c in (-0.5, 0.5)]).T,
        ),
    ):
        result = shape(kind, half, rotation)
        placed = rotation @ points + result.center[:, None]
        low, high = result.corners
        assert np.allclose(placed.min(axis=1), low, atol=2e-5)
        assert np.allclose(placed.max(axis=1), high, atol=2e-5)


def test_what_is_round_about_an_axis():
    upright, lying = np.eye(3), rotation_from_rpy(math.pi / 2, 0, 0)
    y = np.array([0.0, 1.0, 0.0])
    assert shape("cylinder", (0.1, 0.1, 0.02), lying).radius_about(y) == 0.1
    assert shape("cylinder", (0.1, 0.1, 0.02), lying).width_along(y) == pytest.approx(0.04)
    assert shape("cylinder", (0.1, 0.1, 0.02), upright).radius_about(y) is None
    assert shape("sphere", (0.1, 0.1, 0.1), upright).radius_about(y) == 0.1
    assert shape("box", (0.1, 0.02, 0.1), upright).radius_about(y) is None
    assert shape("mesh", (0.1, 0.02, 0.099), upright).radius_about(y) == 0.1
    assert shape("mesh", (0.1, 0.02, 0.09), upright).radius_about(y) is None
