# SPDX-License-Identifier: Apache-2.0
"""Only classes of messages are found by a type's name, whatever a stranger in the graph names."""

import sys

import pytest
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from diffbot_node.message_types import message_class


@pytest.mark.parametrize(
    ("name", "kind"),
    [("std_msgs/msg/Bool", Bool), ("std_msgs/Bool", Bool), ("std_srvs/srv/SetBool", SetBool)],
)
def test_a_class_is_found_by_its_name(name, kind):
    assert message_class(name) is kind


@pytest.mark.parametrize(
    "name",
    [
        "hostile/msg/Bool",
        "hostile/Bool",
        "hostile.msg/msg/Bool",
        "std_msgs/msg/NoSuch",
        "std_msgs/../Bool",
        "std_msgs/msg/__class__",
        "/msg/Bool",
        "",
    ],
)
def test_no_other_module_is_imported(name, tmp_path, monkeypatch):
    """A module that runs code when it is imported, such as `idlelib.idle`, is not touched."""
    package = tmp_path / "hostile" / "msg"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("Bool = int")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="message type"):
        message_class(name)
    assert "hostile" not in sys.modules
