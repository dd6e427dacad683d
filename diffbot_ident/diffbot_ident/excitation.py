"""Old names of guarded_prbs.py, for who still imports them."""

from diffbot_ident.guarded_prbs import GuardedPrbs as Excitation
from diffbot_ident.guarded_prbs import SpeedGuard, wheel_speed_limit

__all__ = ["Excitation", "SpeedGuard", "wheel_speed_limit"]
