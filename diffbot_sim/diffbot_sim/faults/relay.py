"""One topic that the fault injector hands on."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Where messages go without another name: the topic's own below this.
FAULTY = "faulty"
_TYPE = re.compile(r"[a-z]\w*/(msg/)?[A-Z]\w*")


@dataclass(frozen=True)
class Relay:
    """From where to where the messages of a topic go.

    Attributes:
        topic: name by which the faults call it.
        type: of its messages, such as sensor_msgs/msg/JointState.
        input: ROS name where they come from; empty: the topic.
        output: ROS name where they go to; empty: faulty/<topic>.
        latched: whether late subscribers get the last message (durability transient local), as of
            publishers of maps and parameters. Then the publisher has to be latched, too.

    Raises:
        ValueError: a field is wrong; names it, its value and what is allowed.
    """

    topic: str
    type: str
    input: str = ""
    output: str = ""
    latched: bool = False

    def __post_init__(self) -> None:
        for name in ("topic", "type", "input", "output"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be text")
        if not self.topic:
            raise ValueError("topic = '': must be the name of a topic")
        if not _TYPE.fullmatch(self.type):
            raise ValueError(
                f"type = {self.type!r}: must be package/msg/Type such as sensor_msgs/msg/JointState"
            )
        if not isinstance(self.latched, bool):
            raise ValueError(f"latched = {self.latched!r}: must be true or false")
        root = "/" if self.topic.startswith("/") else ""
        default = f"{root}{FAULTY}/{self.topic.removeprefix('/')}"
        object.__setattr__(self, "input", self.input or self.topic)
        object.__setattr__(self, "output", self.output or default)
        if self.input == self.output:
            raise ValueError(f"output = {self.output!r}: must differ from input")
