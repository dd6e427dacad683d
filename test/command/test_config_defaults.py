# SPDX-License-Identifier: Apache-2.0
"""Files of settings hold no value that is a node's default anyway."""

from pathlib import Path
from xml.etree import ElementTree

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


LAUNCHES = sorted((ROOT / "launch").glob("*.launch.xml"))


def files_of(element):
    """Names of the suite's files of parameters that a node of a launch file reads."""
    sources = (param.get("from") or "" for param in element.iter("param"))
    return {Path(source).name for source in sources if "/config/" in source}


@pytest.mark.parametrize("path", LAUNCHES, ids=lambda path: path.stem)
def test_a_node_in_a_process_of_its_own_reads_what_it_reads_in_a_common_one(path):
    nodes = list(ElementTree.parse(path).iter("node"))
    common = set().union(*(files_of(node) for node in nodes if node.get("exec") == "composed"))
    for node in nodes:
        name = node.get("name") or node.get("exec")
        own = {file.name for file in BY_NODE if any(_means(name, key) for key in nodes_of(file))}
        # The live view is in none.
        if node.get("exec") not in ("composed", "live_view"):
            assert own & common <= files_of(node), name


def _means(name, key):
    # A name that depends on the arguments is that of one of the simulators or controllers.
    return key == name or ("$(var" in name and "simulator" in name and key.endswith("simulator"))
