# SPDX-License-Identifier: Apache-2.0
"""Faults injected into messages during given time intervals, scripted and repeatable."""

from diffbot_sim.faults.fault import Fault, Relay, Script, load_script
from diffbot_sim.faults.injector import FaultInjector

__all__ = ["Fault", "FaultInjector", "Relay", "Script", "load_script"]
