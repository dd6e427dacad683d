# SPDX-License-Identifier: Apache-2.0
"""Layouts of RViz, Foxglove and PlotJuggler: each topic is one that a node publishes, each field
is one that its messages have."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

pytest.importorskip("rclpy")
pytest.importorskip("rosbags")

from diffbot_recordings.recorder_node import KNOWN, KNOWN_IN_FULL

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config"


def published():
    """Topics that nodes publish: what the policy allows them, which other tests hold to be so."""
    none = set()
    for profile in ElementTree.parse(CONFIG / "sros2_policy.xml").getroot().iter("profile"):
        for group in profile.iter("topics"):
            if group.get("publish"):
                for entry in group:
                    name = entry.text.replace("~", f"/{profile.get('node')}")
                    none.add(name if name.startswith("/") else f"/{name}")
    return none


def types():
    """Type of each topic that a launch file records."""
    results = {f"/{name}": kind for name, kind in KNOWN_IN_FULL.items()}
    for path in CONFIG.glob("*.yaml"):
        for topics in re.findall(r"^    topics: '(.*)'$", path.read_text(), re.MULTILINE):
            for word in topics.split():
                name, _, kind = word.partition(":")
                kind = kind or KNOWN.get(name.rpartition("/")[2])
                if kind and "$" not in name:
                    results.setdefault(f"/{name.lstrip('/')}", kind)
    return results


def foxglove():
    """Topic and field of what is plotted."""
    content = json.loads((CONFIG / "foxglove.json").read_text(encoding="utf-8"))["configById"]
    paths = [path["value"] for panel in content.values() for path in panel.get("paths", ())]
    return [tuple(path.split(".", 1)) for path in paths]


def plotjuggler():
    """The same; there a field follows a slash, as parts of a topic do."""
    root = ElementTree.parse(CONFIG / "plotjuggler.xml").getroot()
    names = [curve.get("name") for curve in root.iter("curve")]
    topics = sorted(types(), key=len, reverse=True)
    results = []
    for name in names:
        topic = next((t for t in topics if name.startswith(f"{t}/")), name)
        results.append((topic, name[len(topic) + 1 :].replace("/", ".")))
    return results


def check_field(kind, path):
    """A field is there, and an index inside its array; the rest belongs to what it holds."""
    package, _, name = kind.split("/")
    message = getattr(import_module(f"{package}.msg"), name)
    part, _, rest = path.partition(".")
    field, index = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", part).groups()
    inner = message.get_fields_and_field_types()[field]
    if index is not None:
        length = re.fullmatch(r"\w+\[(\d+)\]", inner)
        assert length and int(index) < int(length[1]), (kind, path, inner)
    if rest:
        check_field(inner.replace("/", "/msg/"), rest)


@pytest.mark.parametrize("layout", [foxglove, plotjuggler])
def test_what_is_plotted_is_published_and_has_these_fields(layout):
    curves = layout()
    assert len(curves) > 20
    kinds = types()
    for topic, field in curves:
        assert topic in published(), topic
        check_field(kinds[topic], field)


def test_foxgloves_other_panels_show_what_is_published():
    content = json.loads((CONFIG / "foxglove.json").read_text(encoding="utf-8"))["configById"]
    scene = content["3D!1"]["topics"]
    shown = {*scene, content["DiagnosticSummary!9"]["topicToRender"]}
    assert shown <= published()
    # Every panel is in a tab, and every tab's panels are there.
    inside = set(re.findall(r'"([A-Za-z0-9]+![0-9a-z]+)"', json.dumps(content["Tab!all"])))
    assert inside == content.keys() - {"Tab!all"}


def test_rviz_shows_what_is_published():
    content = yaml.safe_load((CONFIG / "diffbot.rviz").read_text(encoding="utf-8"))
    displays = content["Visualization Manager"]["Displays"]
    topics = {display["Topic"]["Value"] for display in displays if "Topic" in display}
    assert len(topics) >= 5 and topics <= published()


def test_every_launch_file_of_a_run_records_and_reports_on_request():
    files = (ROOT / "launch").glob("*.launch.xml")
    runs = [path for path in files if re.search(r'exec="\w+_report"', path.read_text())]
    assert len(runs) == 6
    for path in runs:
        choices = {
            arg.get("name"): [choice.get("value") for choice in arg]
            for arg in ElementTree.parse(path).iter("arg")
        }
        assert choices["record"] == ["none", "mcap", "sqlite3"], path
        assert choices["report"] == ["all", "html", "png"], path
