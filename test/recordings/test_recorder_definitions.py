# SPDX-License-Identifier: Apache-2.0
"""Recordings say what their types are: they are read by whoever has no package of ours."""

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("rosbags")

from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from diffbot_msgs.msg import BackstepStatus
from diffbot_recordings.recorder_node import KNOWN, KNOWN_IN_FULL
from diffbot_recordings.recording_writer import STORAGES, VERSION, definitions

STATUS = "diffbot_msgs/msg/BackstepStatus"


@pytest.mark.parametrize("storage", STORAGES)
def test_a_recording_is_read_without_a_type_store(storage, tmp_path):
    message = BackstepStatus(lambdas=[1.0, 2.5], mode="near")
    message.error.theta = 0.125
    store = definitions([STATUS])
    with Writer(tmp_path / "bag", version=VERSION, storage_plugin=STORAGES[storage]) as writer:
        topic = writer.add_connection("/status", STATUS, typestore=store)
        writer.write(topic, 1, serialize_message(message))
    with Reader(tmp_path / "bag") as reader:
        ((topic, _, data),) = reader.messages()
        # Nothing but what the recording says.
        known = get_typestore(Stores.EMPTY)
        known.register(get_types_from_msg(topic.msgdef.data, topic.msgtype))
        read = known.deserialize_cdr(data, topic.msgtype)
    assert (read.error.theta, read.mode, list(read.lambdas)) == (0.125, "near", [1.0, 2.5])


def test_all_types_that_are_recorded_by_name_havedefinitions():
    kinds = {*KNOWN.values(), *KNOWN_IN_FULL.values()}
    assert kinds <= definitions(sorted(kinds)).fielddefs.keys()


def test_a_type_that_is_not_installed_is_named():
    with pytest.raises(ValueError, match="no definition of 'diffbot_msgs/msg/Nothing'"):
        definitions(["diffbot_msgs/msg/Nothing"])
