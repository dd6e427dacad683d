# SPDX-License-Identifier: Apache-2.0
"""One fault of one topic, in the terms of PX4's failure injection.

| kind         | effect on the messages                                                          |
|--------------|---------------------------------------------------------------------------------|
| off          | none arrives                                                                    |
| stuck        | repeat the last content before the fault, with fresh or old stamps              |
| garbage      | noise, a number, NaN or inf in their fields                                     |
| wrong        | scaled, offset, wrapped, swapped, or with inconsistent arrays                   |
| slow         | at most `rate` per second arrive                                                |
| delayed      | arrive later by `delay`, and by up to `jitter` more                             |
| intermittent | some are lost, or arrive several times                                          |
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from diffbot_description.files import closest, parse_yaml, read_text
from diffbot_description.named_paths import expanded
from diffbot_node.parameter_fields import Parameter, parameter
from diffbot_sim.faults.message_fields import NANOSECONDS, parse_path

FOR_EVER = 1e10  # s
NUMBERS = (int, float)
LISTS = (list, tuple)
VALUES = ("random", "nan", "inf", "-inf")
ARRAYS = ("reversed", "missing", "extra", "duplicated", "short", "empty")


@dataclass(frozen=True)
class Kind:
    """Settings of a kind of fault; of those in `needed` one must differ from its default."""

    settings: tuple[str, ...]
    needed: tuple[str, ...] = ()


_TIME = ("start", "duration")
_CHANCE = (*_TIME, "probability", "burst", "seed")

KINDS = {
    "off": Kind(_TIME),
    "stuck": Kind((*_CHANCE, "fields", "stamps")),
    "garbage": Kind((*_CHANCE, "fields", "value", "magnitude")),
    "wrong": Kind(
        (*_CHANCE, "fields", "scale", "offset", "wrap", "swap", "arrays", "index"),
        ("scale", "offset", "wrap", "swap", "arrays"),
    ),
    "slow": Kind((*_TIME, "rate"), ("rate",)),
    "delayed": Kind((*_CHANCE, "delay", "jitter", "overtake"), ("delay", "jitter")),
    "intermittent": Kind((*_CHANCE, "copies"), ("probability", "copies")),
}


@dataclass(frozen=True)
class Fault:
    """One fault; only settings of its kind may differ from the defaults (config/faults.yaml).

    Attributes:
        start, duration: Messages that arrive at start <= t < start + duration, s, may be hit.
        fields: Paths of the fields to change (message_fields.py); none: all, or all numbers outside
            the header.
        stamps: For stuck. "fresh": the header's stamp advances; "old": it is frozen, too.
        value: For garbage. A number, "nan", "inf", "-inf", or "random" up to magnitude; whole
            numbers stay in the range of their type.
        scale, offset, wrap: For wrong, in this order; wrap: into -wrap/2 <= x < wrap/2.
        swap: For wrong; indices of two entries to swap in arrays of numbers.
        arrays: For wrong: "reversed", "missing" (without entry `index`), "extra" (an unknown entry
            first), "duplicated" (entry `index` again), "short" (names stay), "empty".
        copies: For intermittent; 0 (lost), 2 ... 100.
    """

    topic: str
    kind: str
    start: float = parameter(0.0, "when it begins, s", minimum=0.0, maximum=FOR_EVER)
    duration: float = parameter(FOR_EVER, "how long it lasts, s", above=0.0, maximum=FOR_EVER)
    probability: float = parameter(1.0, "share of the messages hit", above=0.0, maximum=1.0)
    burst: int = parameter(1, "messages hit in a row", minimum=1)
    seed: int = parameter(0, "seed of its chances", minimum=0)
    fields: tuple[str, ...] = ()
    stamps: str = parameter("fresh", "stamps of repeated messages", choices=("fresh", "old"))
    value: float | str = "random"
    magnitude: float = parameter(1000.0, "largest random number", above=0.0, maximum=1e300)
    scale: float = parameter(1.0, "factor")
    offset: float = parameter(0.0, "what is added, in the field's unit")
    wrap: float = parameter(0.0, "range into which numbers are wrapped; 0: not", minimum=0.0)
    swap: tuple[int, ...] = ()
    arrays: str = ""
    index: int = parameter(0, "entry of the arrays", minimum=0)
    rate: float = parameter(0.0, "messages per s that pass at most, Hz", minimum=0.0)
    delay: float = parameter(0.0, "delay, s", minimum=0.0, maximum=60.0)
    jitter: float = parameter(0.0, "largest additional delay, s", minimum=0.0, maximum=60.0)
    overtake: bool = parameter(False, "whether a message may arrive before earlier ones")
    copies: int = parameter(0, "how often a message that is hit is sent", minimum=0, maximum=100)

    def __str__(self) -> str:
        changed = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)[2:]
            if getattr(self, entry.name) != entry.default
        }
        return " ".join([f"{self.topic} {self.kind}", *(f"{k}={v}" for k, v in changed.items())])

    def __post_init__(self) -> None:
        if not isinstance(self.topic, str) or not self.topic.strip():
            raise ValueError(f"topic = {self.topic!r}: must be the name of a topic")
        for name, known in (("kind", tuple(KINDS)), ("arrays", ("", *ARRAYS))):
            if getattr(self, name) not in known:
                allowed = ", ".join(filter(None, known))
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be one of {allowed}")
        entries: Any = fields(self)
        for entry in entries:
            if entry.metadata:
                rule = Parameter(entry.name, entry.default, **entry.metadata)
                object.__setattr__(self, entry.name, rule.check(getattr(self, entry.name)))
        self._check_fields()
        self._check_value()
        self._check_swap()
        self._check_kind()

    def _check_fields(self) -> None:
        given = self.fields
        if not isinstance(given, LISTS) or not all(isinstance(path, str) for path in given):
            raise ValueError(f"fields = {given!r}: must be a list of paths such as position[1]")
        for path in given:
            parse_path(path)
        object.__setattr__(self, "fields", tuple(given))

    def _check_value(self) -> None:
        value = self.value
        if isinstance(value, NUMBERS) and not isinstance(value, bool):
            number = float(value)
            object.__setattr__(self, "value", number if math.isfinite(number) else str(number))
        elif value not in VALUES:
            raise ValueError(f"value = {value!r}: must be a number or one of {', '.join(VALUES)}")

    def _check_swap(self) -> None:
        fit = isinstance(self.swap, LISTS) and all(
            type(index) is int and index >= 0 for index in self.swap
        )
        if not fit or len(self.swap) not in (0, 2) or len(set(self.swap)) != len(self.swap):
            raise ValueError(f"swap = {self.swap!r}: must be two different indices such as [0, 1]")
        object.__setattr__(self, "swap", tuple(self.swap))

    def _check_kind(self) -> None:
        kind = KINDS[self.kind]
        for entry in fields(self)[2:]:
            changed = getattr(self, entry.name) != entry.default
            if changed and entry.name not in kind.settings:
                raise ValueError(
                    f"{entry.name} = {getattr(self, entry.name)!r}: no setting of kind "
                    f"{self.kind}, which has {', '.join(kind.settings)}"
                )
        defaults = {entry.name: entry.default for entry in fields(self)}
        if kind.needed and all(getattr(self, name) == defaults[name] for name in kind.needed):
            needed = " or ".join(f"{name} other than {defaults[name]!r}" for name in kind.needed)
            raise ValueError(f"kind = {self.kind}: needs {needed}")
        if self.kind == "intermittent" and self.copies == 1:
            raise ValueError("copies = 1: does nothing; must be 0 (lost), 2 or more")

    @property
    def bends(self) -> bool:
        """Whether it scales, shifts or wraps numbers."""
        return (self.scale, self.offset, self.wrap) != (1.0, 0.0, 0.0)

    def covers(self, now: int) -> bool:
        """Whether it is active at a time, ns."""
        begin = round(self.start * NANOSECONDS)
        return begin <= now < begin + round(self.duration * NANOSECONDS)


FAULTY = "faulty"
_TYPE = re.compile(r"[a-z]\w*/(msg/)?[A-Z]\w*")


@dataclass(frozen=True)
class Relay:
    """Input and output of a topic that passes the injector.

    Attributes:
        topic: Name that the faults use for it.
        type: Type of its messages, such as sensor_msgs/msg/JointState.
        input, output: ROS names; empty: the topic, and faulty/<topic>.
        latched: Whether late subscribers get the last message, as from a latched publisher.
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
    """Faults, in the order in which messages pass them, relayed topics, and a seed."""

    faults: tuple[Fault, ...]
    relays: tuple[Relay, ...] = ()
    seed: int = 0

    def of(self, topic: str) -> tuple[Fault, ...]:
        """Return the faults of one topic."""
        return tuple(fault for fault in self.faults if fault.topic == topic)


def load_script(source: Path | str) -> Script:
    """Load a script from a YAML file, or from its text, which has more than one line.

    Raises:
        ValueError: The script is wrong; the message has the entry, its value and what is allowed.
    """
    if isinstance(source, str) and "\n" in source:
        where, text = "the script", source
    else:
        path = expanded(source)
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
            raise ValueError(f"relays[{place}]: topic = {topic!r}: appears twice; remove one")
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
    # YAML reads a plain `off` as false.
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
            near = closest(str(key), known)
            advice = f"did you mean {near}? " if near else ""
            raise ValueError(f"{key!r}: unknown key; {advice}known are {', '.join(known)}")
