# SPDX-License-Identifier: Apache-2.0
"""A live view of a running robot, or of a recording, in the browser.

store.py holds the content of a view, live_values.py fills it from messages, server.py shows it;
they know no ROS. live_view_node.py only listens, but for its buttons; playback.py shows recordings.
"""
