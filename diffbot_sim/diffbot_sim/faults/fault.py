"""One fault of one topic, in the words of PX4's failure injection.

| kind         | what becomes of the messages                                                    |
|--------------|---------------------------------------------------------------------------------|
| off          | none comes                                                                      |
| stuck        | they say what the last one before the fault said, under fresh or old stamps     |
| garbage      | noise, a number, NaN or inf in their fields                                     |
| wrong        | scaled, offset, wrapped, swapped, or with arrays that do not fit                |
| slow         | not more than `rate` a second come                                              |
| delayed      | they come later by `delay`, and by up to `jitter` more                          |
| intermittent | some are lost, or come several times                                            |
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any

import numpy as np

from diffbot_description.robot import Quantity

# ---
# Which settings each kind of fault has, and their limits.

NUMBERS = (int, float)
LISTS = (list, tuple)
STAMPS = ("fresh", "old")
VALUES = ("random", "nan", "inf", "-inf")
METADATA_KEY = "quantity"  # of a dataclass field that holds a Quantity
ARRAYS = ("", "reversed", "missing", "extra", "duplicated", "short", "empty")


@dataclass(frozen=True)
class Kind:
    """What a kind of fault can be told.

    Attributes:
        settings: names of its settings.
        needed: of these at least one has to differ from its default, or it would do nothing.
    """

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


def setting(unit: str, meaning: str, default: float | int, **limits: float) -> Any:
    """Return a dataclass field of a number with its default, unit, meaning and limits."""
    return field(default=default, metadata={METADATA_KEY: Quantity(unit, meaning, **limits)})


# ---
# Fields of messages by their paths: `header.stamp`, `position[1]`, `position[left_wheel_joint]`.
#
# Messages are ROS messages, or plain objects with attributes. A stamp (an object with `sec` and
# `nanosec`) counts as one number.

# `name`, or `name[entry]`; an entry is an index or the name of a joint.
_PART = re.compile(r"([A-Za-z_]\w*)(?:\[([^\[\]]+)\])?")
HEADER = "header"
# Holds the names of the entries of its neighbours, as in sensor_msgs/JointState.
NAMES = "name"


@dataclass(frozen=True)
class Slot:
    """One place in a message that holds a number, a text, a boolean or a stamp.

    Attributes:
        owner: the (sub)message or the array.
        key: name of the field, or index in the array.
        type: ROS type of the field, such as "double" or "sequence<int32>"; "" where unknown.
    """

    owner: Any
    key: str | int
    type: str = ""

    @property
    def value(self) -> Any:
        """What it holds."""
        return getattr(self.owner, self.key) if isinstance(self.key, str) else self.owner[self.key]

    def put(self, value: Any) -> None:
        """Let it hold something else.

        Raises:
            ValueError: it is part of a tuple or of a frozen object.
        """
        try:
            if isinstance(self.key, str):
                setattr(self.owner, self.key, value)
            else:
                self.owner[self.key] = value
        except (AttributeError, TypeError):
            owner = type(self.owner).__name__
            raise ValueError(f"fields: {self.key!r} of a {owner} cannot be changed") from None


def parse_path(path: str) -> tuple[tuple[str, str | None], ...]:
    """Return the parts of a path, each with its entry or None.

    Raises:
        ValueError: it is no path.
    """
    matches = [_PART.fullmatch(part) for part in path.split(".")]
    if not all(matches):
        raise ValueError(
            f"fields: {path!r} is no path of a field; write such as header.stamp, position[1] or "
            "position[left_wheel_joint]"
        )
    return tuple((match[1], match[2]) for match in matches)


def field_types(message: Any) -> dict[str, str]:
    """Return the names of a message's fields and their ROS types, "" in plain objects."""
    if hasattr(message, "get_fields_and_field_types"):
        return message.get_fields_and_field_types()
    names = getattr(message, "__dict__", None) or getattr(message, "__slots__", ())
    return dict.fromkeys(names, "")


def is_stamp(value: Any) -> bool:
    """Whether it is a time or duration such as builtin_interfaces/Time."""
    return hasattr(value, "sec") and hasattr(value, "nanosec")


def is_array(value: Any) -> bool:
    """Whether it is an array field: list, array.array or NumPy array."""
    return isinstance(value, (Sequence, MutableSequence, np.ndarray)) and not isinstance(
        value, (str, bytes)
    )


def places(message: Any, path: str) -> list[Slot]:
    """Return what a path leads to; nothing where an array is too short or lacks the name.

    Raises:
        ValueError: the message has no such field; says which it has.
    """
    owners = [message]
    found: list[Slot] = []
    for name, entry in parse_path(path):
        found = [
            slot
            for owner in owners
            for slot in _entry(owner, _field(owner, name, path), entry, path)
        ]
        values = [slot.value for slot in found]
        owners = [owner for value in values for owner in (value if is_array(value) else [value])]
    return found


def slots(message: Any, path: str) -> list[Slot]:
    """Return all that holds a value below a path; see places."""
    return [leaf for slot in places(message, path) for leaf in _leaves(slot)]


def all_slots(message: Any) -> list[Slot]:
    """Return all places outside the header."""
    return [
        leaf
        for name, kind in field_types(message).items()
        if name != HEADER
        for leaf in _leaves(Slot(message, name, kind))
    ]


def _field(owner: Any, name: str, path: str) -> Slot:
    types = field_types(owner)
    if name not in types:
        raise ValueError(
            f"fields: {path!r}: {type(owner).__name__} has no field {name!r}; it has "
            f"{', '.join(types)}"
        )
    return Slot(owner, name, types[name])


def _entry(owner: Any, slot: Slot, entry: str | None, path: str) -> list[Slot]:
    """The field itself, or its entry."""
    if entry is None:
        return [slot]
    array = slot.value
    if not is_array(array):
        raise ValueError(f"fields: {path!r}: {slot.key!r} of {type(owner).__name__} is no array")
    if entry.isdecimal():
        index = int(entry)
    else:
        names = list(getattr(owner, NAMES, ()))
        index = names.index(entry) if entry in names else len(array)
    return [Slot(array, index, slot.type)] if index < len(array) else []


def _leaves(slot: Slot) -> Iterator[Slot]:
    value = slot.value
    if is_array(value):
        for index in range(len(value)):
            yield from _leaves(Slot(value, index, slot.type))
    elif isinstance(value, (bool, int, float, str, np.generic)) or is_stamp(value):
        yield slot
    else:
        for name, kind in field_types(value).items():
            yield from _leaves(Slot(value, name, kind))


NANOSECONDS = 1_000_000_000
FOR_EVER = 1e10  # s


@dataclass(frozen=True)
class Fault:
    """One fault; its settings are checked, and only those of its kind may differ from the default.

    Attributes:
        topic: name of the topic, as the script has it.
        kind: off, stuck, garbage, wrong, slow, delayed or intermittent.
        start: when it begins, s, >= 0, of the time that the injector is told.
        duration: how long it lasts, s, > 0; inf: for ever. A message is hit when it comes at a time
            t with start <= t < start + duration.
        probability: share of the messages that is hit in the long run, above 0 up to 1; not for
            off and slow. intermittent has to say it.
        burst: how many messages in a row are hit at a time, >= 1; for those with a probability.
        seed: of this fault's chances; faults with equal seeds and different places in the list
            differ all the same.
        fields: paths of the fields that stuck, garbage and wrong change, such as `header.stamp`,
            `pose.position.x`, `position` (all of it), `position[1]` or
            `position[left_wheel_joint]` (by the message's `name`). Without any: stuck freezes all;
            garbage and wrong change each number outside the header.
        stamps: of stuck. "fresh": the header's stamp goes on; "old": it is frozen, too.
        value: of garbage. A number, "nan", "inf", "-inf", or "random" for noise. Whole numbers
            stay in the range of their type, and as they are where NaN or inf is wanted.
        magnitude: random numbers are between -magnitude and +magnitude, > 0.
        scale: of wrong; fields are multiplied with it; -1 flips signs.
        offset: of wrong; is added then, in the field's unit; for stamps s.
        wrap: of wrong; then numbers are wrapped into -wrap/2 <= x < wrap/2, as the angle of an
            encoder; 0: not.
        swap: of wrong; two indices whose entries change places in the arrays of numbers (in those
            of `fields`, where given), while the names stay.
        arrays: of wrong; what happens to the message's arrays (to those of `fields`, where given):
            "reversed", "missing" (entry `index` is left out), "extra" (an entry of unknown name
            comes first), "duplicated" (entry `index` comes again at the end), "short" (arrays of
            other than text lose their last entry), "empty".
        index: for arrays missing and duplicated, >= 0.
        rate: of slow; messages per s that pass at most, Hz, > 0.
        delay: of delayed, s, >= 0.
        jitter: of delayed; up to so much more, evenly spread, s, >= 0.
        overtake: of delayed; whether a message may come before one that was sent earlier.
        copies: of intermittent; how often a message that is hit comes: 0 (lost), 2 ... 100.

    Raises:
        ValueError: a setting is wrong or of another kind; names it, its value and what is allowed.
    """

    topic: str
    kind: str
    start: float = setting("s", "when it begins", 0.0, minimum=0.0, maximum=FOR_EVER)
    duration: float = setting("s", "how long it lasts", math.inf, above=0.0)
    probability: float = setting("", "share of the messages hit", 1.0, above=0.0, maximum=1.0)
    burst: int = setting("", "messages hit in a row", 1, minimum=1)
    seed: int = setting("", "seed of its chances", 0, minimum=0)
    fields: tuple[str, ...] = ()
    stamps: str = "fresh"
    value: float | str = "random"
    magnitude: float = setting("", "largest random number", 1000.0, above=0.0, maximum=1e300)
    scale: float = setting("", "factor", 1.0)
    offset: float = setting("", "what is added, in the field's unit", 0.0)
    wrap: float = setting("", "range into which numbers are wrapped; 0: not", 0.0, minimum=0.0)
    swap: tuple[int, ...] = ()
    arrays: str = ""
    index: int = setting("", "entry of the arrays", 0, minimum=0)
    rate: float = setting("Hz", "messages per s that pass at most", 0.0, minimum=0.0)
    delay: float = setting("s", "delay", 0.0, minimum=0.0, maximum=60.0)
    jitter: float = setting("s", "largest additional delay", 0.0, minimum=0.0, maximum=60.0)
    overtake: bool = False
    copies: int = setting("", "how often a message that is hit comes", 0, minimum=0, maximum=100)

    def __str__(self) -> str:
        """Topic, kind, time and the settings that differ from the defaults."""
        changed = {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)[2:]
            if getattr(self, entry.name) != entry.default
        }
        return " ".join([f"{self.topic} {self.kind}", *(f"{k}={v}" for k, v in changed.items())])

    def __post_init__(self) -> None:
        if not isinstance(self.topic, str) or not self.topic.strip():
            raise ValueError(f"topic = {self.topic!r}: must be the name of a topic")
        self._check_choice("kind", tuple(KINDS))
        for entry in fields(self):
            if METADATA_KEY in entry.metadata:
                self._check_number(entry.name, entry.metadata[METADATA_KEY], type(entry.default))
        self._check_choice("stamps", STAMPS)
        self._check_choice("arrays", ARRAYS)
        if not isinstance(self.overtake, bool):
            raise ValueError(f"overtake = {self.overtake!r}: must be true or false")
        self._check_fields()
        self._check_value()
        self._check_swap()
        self._check_kind()

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if not isinstance(value, str) or value not in choices:
            allowed = ", ".join(choice for choice in choices if choice)
            raise ValueError(f"{name} = {value!r}: must be one of {allowed}")

    def _check_number(self, name: str, rule: Quantity, kind: type) -> None:
        value = getattr(self, name)
        wanted = "a whole number" if kind is int else "a number"
        if isinstance(value, bool) or not isinstance(value, (int,) if kind is int else NUMBERS):
            raise ValueError(f"{name} = {value!r}: must be {wanted} ({rule.meaning})")
        endless = name == "duration" and value == math.inf
        finite = isinstance(value, int) or math.isfinite(value)
        broken = None if endless or finite else "must be finite"
        broken = broken or rule.violation(value)
        if broken:
            raise ValueError(f"{name} = {rule.show(value)}: {broken} ({rule.meaning})")
        try:
            object.__setattr__(self, name, kind(value))
        except OverflowError:
            raise ValueError(
                f"{name}: is beyond all floating-point numbers ({rule.meaning})"
            ) from None

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
            # NaN as text, so that equal faults are equal.
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
        """Only settings of the kind, and enough of them to make a difference."""
        kind = KINDS[self.kind]
        for entry in fields(self)[2:]:
            changed = getattr(self, entry.name) != entry.default
            if changed and entry.name not in kind.settings:
                raise ValueError(
                    f"{entry.name} = {getattr(self, entry.name)!r}: is not for kind {self.kind}, "
                    f"which has {', '.join(kind.settings)}"
                )
        defaults = {entry.name: entry.default for entry in fields(self)}
        if kind.needed and all(getattr(self, name) == defaults[name] for name in kind.needed):
            needed = " or ".join(f"{name} other than {defaults[name]!r}" for name in kind.needed)
            raise ValueError(f"kind = {self.kind}: needs {needed}")
        if self.kind == "intermittent" and self.copies == 1:
            raise ValueError("copies = 1: does nothing; must be 0 (lost), 2 or more")

    def covers(self, now: int) -> bool:
        """Whether it is on at a time, ns."""
        begin = round(self.start * NANOSECONDS)
        return begin <= now < begin + round(min(self.duration, FOR_EVER) * NANOSECONDS)


# ---
# Which messages a fault hits: a share of them, several in a row.


class Chance:
    """Hits messages in bursts.

    A burst begins at a message outside of one with the probability that makes the share of hit
    messages `probability` in the long run: of bursts of b messages between which (1 - q) / q pass
    on the average, the share b / (b + (1 - q) / q) is `probability` with
    q = probability / (probability + b (1 - probability)).

    Args:
        probability: share of messages that is hit, above 0 up to 1.
        burst: messages in a row, >= 1.
        random: source of chances.
    """

    def __init__(self, probability: float, burst: int, random: Random) -> None:
        self._begin = probability / (probability + burst * (1.0 - probability))
        self._burst = burst
        self._random = random
        self._left = 0

    def hit(self) -> bool:
        """Whether the next message is hit."""
        if not self._left and self._random.random() < self._begin:
            self._left = self._burst
        if not self._left:
            return False
        self._left -= 1
        return True
