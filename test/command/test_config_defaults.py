# SPDX-License-Identifier: Apache-2.0
"""Files of settings hold no value that is a node's default anyway."""

from pathlib import Path

import pytest
import yaml

pytest.importorskip("rclpy")

from diffbot_bringup.node_parameters import PARAMETERS, parameters_of

ROOT = Path(__file__).resolve().parents[2]


def settings_of(path):
    """What a file gives to all nodes that know it."""
    content = yaml.safe_load(path.read_text().replace("$(var", "(var"))
    return content.get("/**", {}).get("ros__parameters") if isinstance(content, dict) else None


FILES = [path for path in sorted((ROOT / "config").glob("*.yaml")) if settings_of(path)]


def test_the_files_are_those_that_launch_files_read():
    texts = "".join(path.read_text() for path in (ROOT / "launch").glob("*.launch.xml"))
    assert FILES and all(f"config/{path.name}" in texts for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_value_is_the_default_of_all_nodes_that_know_it(path):
    for name, value in settings_of(path).items():
        # That of arc_odometry stands alone, with a table of another form.
        tables = map(parameters_of, PARAMETERS.keys() - {"odometry_publisher"})
        defaults = [table[name].default for table in tables if name in table]
        assert defaults, f"no node has {name}"
        assert any(default != value for default in defaults), f"{name} = {value} is the default"


def nodes_of(path):
    """The nodes that a file has parameters for, and these."""
    content = yaml.safe_load(path.read_text().replace("$(var", "(var"))
    return {
        name.removeprefix("/**/"): values["ros__parameters"]
        for name, values in (content if isinstance(content, dict) else {}).items()
        if name.startswith("/**/")
    }


BY_NODE = [path for path in sorted((ROOT / "config").glob("*.yaml")) if nodes_of(path)]


@pytest.mark.parametrize("path", BY_NODE, ids=lambda path: path.name)
def test_nodes_have_the_parameters_that_are_given_to_them(path):
    for node, values in nodes_of(path).items():
        if node == "nobody":
            continue
        known = set(parameters_of(node))
        assert set(values) - {"use_sim_time"} <= known, node
