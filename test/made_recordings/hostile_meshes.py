# SPDX-License-Identifier: Apache-2.0
"""Meshes that are too large, or that refer to themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_DAE = (
    "<COLLADA><library_geometries><geometry id='g'><mesh><source id='s'><float_array>{numbers}"
    "</float_array></source><vertices><input semantic='POSITION' source='#s'/></vertices></mesh>"
    "</geometry></library_geometries><library_nodes>{nodes}</library_nodes>"
    "<library_visual_scenes><visual_scene><node id='top'><instance_node url='#n0'/></node>"
    "</visual_scene></library_visual_scenes></COLLADA>"
)


def write_mesh(folder: Path, rng: np.random.Generator) -> str:
    """Write a mesh, drawn at random; return the name of its file."""
    levels = int(rng.integers(20, 49))
    twice = "".join(
        f"<node id='n{i}'>" + f"<instance_node url='#n{i + 1}'/>" * 3 + "</node>"
        for i in range(levels)
    )
    end = f"<node id='n{levels}'><instance_geometry url='#g'/></node>"
    name, content = (
        ("m.dae", _DAE.format(numbers="1 " * 9, nodes=twice + end)),
        ("m.dae", _DAE.format(numbers="1 " * 300_000, nodes=twice + end)),
        ("m.dae", "<COLLADA>" + "<node>" * 5000 + "</node>" * 5000 + "</COLLADA>"),
        ("m.dae", "<COLLADA>" + "<a/>" * 2_000_000 + "</COLLADA>"),
        ("m.obj", "v 1 2 3\n" * 6_000_000),
        ("m.obj", "v " + "1 " * 20_000_000),
        ("m.stl", "solid\n" + "vertex 1 2 3\n" * 3_000_000),
        ("m.stl", "x" * 60_000_000),
    )[int(rng.integers(8))]
    (folder / name).write_text(content)
    return name
