# SPDX-License-Identifier: Apache-2.0
"""Presentation of a run: live table, pictures, animation and summary.json.

    topics -> messages -> a recording (IdentRecording, DriveRecording: buffers of samples)
           -> results (tables, keys of summary.json) and figures -> ReportWriter

Only `messages`, `inbox`, `watching_node` and the nodes need ROS. Import names from their modules:
this one imports nothing, so that importing executables.py costs nothing.
"""
