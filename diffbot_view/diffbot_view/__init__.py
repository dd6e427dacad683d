# SPDX-License-Identifier: Apache-2.0
"""A live view of a running robot, or of a recording, in the browser.

- store.py: what a view shows, and what is new of it for each browser; knows no ROS.
- readings.py: from messages, live or recorded, to the store; knows no ROS.
- server.py: the page and its WebSocket, and who may open it; knows no ROS.
- live_view_node.py: the node: it only listens, and its buttons stop and enable.
- playback.py: `diffbot view recording.mcap`.
"""
