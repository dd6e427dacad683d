"""Parameters that only some simulators offer, and how the others refuse them."""

from __future__ import annotations

from types import SimpleNamespace

from diffbot_node import Parameter

NOT_OFFERED = (
    Parameter("paused", False, "must be false: time goes on as soon as all is ready"),
    Parameter("camera", False, "must be false: there is none"),
)


def refuse_not_offered(values: SimpleNamespace) -> None:
    """Raise ValueError when one of them is wanted."""
    for parameter in NOT_OFFERED:
        if getattr(values, parameter.name):
            raise ValueError(
                f"parameter '{parameter.name}' = true: this simulator does not offer it; leave it "
                "out, or use sim:=gazebo"
            )
