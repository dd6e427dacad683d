"""Faults put on messages, from one stretch of time to another, scripted and repeatable."""

from diffbot_sim.faults.fault import Fault
from diffbot_sim.faults.injector import FaultInjector
from diffbot_sim.faults.script import Relay, Script, load_script

__all__ = ["Fault", "FaultInjector", "Relay", "Script", "load_script"]
