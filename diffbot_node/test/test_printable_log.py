# SPDX-License-Identifier: Apache-2.0
"""Names from the graph cannot act on the terminal through a node's log."""

import rclpy

from diffbot_node.intra_process import Node


def test_escapes_of_a_name_are_shown_and_filters_work(domain, capfd):
    rclpy.init(domain_id=domain)
    try:
        log = Node("speaker").get_logger()
        log.info("a\x1b[2J\u202eb\nc")
        log.error("other level")
        for number in range(3):
            log.warning(f"{number} once", once=True)
    finally:
        rclpy.try_shutdown()
    said = "".join(capfd.readouterr())
    assert r"a\x1b[2J\u202eb" in said and "\x1b[2J" not in said and "\u202e" not in said
    assert "other level" in said and "0 once" in said and "1 once" not in said
