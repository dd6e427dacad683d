"""Scripts of faults in YAML; config/faults.yaml of the suite shows all that they can hold."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from diffbot_description.files import parse_yaml, read_text
from diffbot_sim.faults.fault import Fault

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


KEYS = ("seed", "relays", "faults")
Entry = TypeVar("Entry", Fault, Relay)


@dataclass(frozen=True)
class Script:
    """What a script says.

    Attributes:
        faults: in the order in which messages pass them.
        relays: topics between a publisher and a subscriber; empty where only the faults are told.
        seed: of all chances.
    """

    faults: tuple[Fault, ...]
    relays: tuple[Relay, ...] = ()
    seed: int = 0

    def of(self, topic: str) -> tuple[Fault, ...]:
        """The faults of one topic."""
        return tuple(fault for fault in self.faults if fault.topic == topic)


def load_script(source: Path | str) -> Script:
    """Return what a script says.

    Args:
        source: path of a YAML file; or its text, which has more than one line.

    Raises:
        ValueError: names the file, the entry, the field, its value and what is allowed.
    """
    if isinstance(source, str) and "\n" in source:
        where, text = "the script", source
    else:
        path = Path(source).expanduser()
        where, text = str(path), read_text(path)
    try:
        return _script(parse_yaml(text))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _script(data: Any) -> Script:
    if not isinstance(data, dict):
        raise ValueError(f"must hold {', '.join(KEYS)}, not {data!r}")
    _check_keys(data, KEYS)
    seed = data.get("seed", 0)
    if type(seed) is not int or seed < 0:
        raise ValueError(f"seed = {seed!r}: must be a whole number, at least 0")
    script = Script(_entries(data, "faults", Fault), _entries(data, "relays", Relay), seed)
    topics = [relay.topic for relay in script.relays]
    for place, topic in enumerate(topics):
        if topic in topics[:place]:
            raise ValueError(f"relays[{place}]: topic = {topic!r}: is there twice; remove one")
    for place, fault in enumerate(script.faults):
        if topics and fault.topic not in topics:
            raise ValueError(
                f"faults[{place}]: topic = {fault.topic!r}: must be one of those in relays, "
                f"{', '.join(topics)}"
            )
    return script


def _entries(data: dict[str, Any], section: str, kind: type[Entry]) -> tuple[Entry, ...]:
    entries = data.get(section)
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise ValueError(f"{section} = {entries!r}: must be a list, each entry after a '-'")
    return tuple(_entry(entry, f"{section}[{k}]", kind) for k, entry in enumerate(entries))


def _entry(data: Any, where: str, kind: type[Entry]) -> Entry:
    if not isinstance(data, dict):
        raise ValueError(
            f"{where} = {data!r}: must hold named values such as 'topic: joint_states'"
        )
    # YAML takes a plain off for false.
    data = {
        key: "off" if key == "kind" and value is False else value for key, value in data.items()
    }
    needed = [entry.name for entry in fields(kind) if entry.default is MISSING]
    try:
        _check_keys(data, [entry.name for entry in fields(kind)])
        missing = [name for name in needed if name not in data]
        if missing:
            raise ValueError(f"{', '.join(missing)} missing: needs {', '.join(needed)}")
        return kind(**data)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _check_keys(data: dict[Any, Any], known: Sequence[str]) -> None:
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            advice = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"{key!r}: is not known; {advice}known are {', '.join(known)}")
