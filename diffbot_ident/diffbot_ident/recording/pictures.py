"""Pictures of what was found in a recording: velocity axes, and SysId logs."""

from diffbot_ident.recording.sysid_pictures import draw_sysid
from diffbot_ident.recording.velocity_pictures import draw_axes

__all__ = ["draw_axes", "draw_sysid"]
