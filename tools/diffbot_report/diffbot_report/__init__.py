# SPDX-License-Identifier: Apache-2.0
"""Presentation of a run: live table, pictures, animation and summary.json.

topics -> messages -> a recording (IdentRecording, DriveRecording: buffers of samples)
       -> results (tables, keys of summary.json) and figures -> ReportWriter
"""
