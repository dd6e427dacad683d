# SPDX-License-Identifier: Apache-2.0
"""Nodes of the fault table that are composed with others in one process."""

from diffbot_node.executables import Executable

failing_controller = Executable("faults.process_failing_law", "FailingController")
failing_onlooker = Executable("faults.process_failing_law", "FailingOnlooker")
