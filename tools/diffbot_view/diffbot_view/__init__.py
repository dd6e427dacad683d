# SPDX-License-Identifier: Apache-2.0
"""A live view of a running robot, or of a recording, in the browser.

- store.py: the content of a view, and the updates for each browser; knows no ROS.
- live_values.py: fills the store from messages, live or recorded; knows no ROS.
- server.py: the page, its WebSocket and the access control; knows no ROS.
- live_view_node.py: the node: it only listens, except for its buttons to stop and enable.
- playback.py: `diffbot view recording.mcap`.
"""
