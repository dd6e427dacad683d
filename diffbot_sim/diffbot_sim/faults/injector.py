"""The messages of one topic, with faults put on them. It reads no clock and knows no ROS."""

from __future__ import annotations

import copy
import difflib
import heapq
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from diffbot_description.files import parse_yaml, read_text
from diffbot_sim.faults.content import Stuck, bend, spoil
from diffbot_sim.faults.fault import NANOSECONDS, Chance, Fault

# ---
# What each kind of fault does with one message.


@dataclass(frozen=True)
class Parcel:
    """A message on its way.

    Attributes:
        message: belongs to the injector alone.
        release: time at which it comes out, ns.
        overtakes: whether it may come before one that was sent earlier.
    """

    message: Any
    release: int
    overtakes: bool = False


class Stage:
    """One fault at work.

    Args:
        fault: which.
        hit: makes of a parcel that is hit what comes instead of it.
        pass_by: is told the message of each parcel that is not.
        chance: decides which are hit while the fault is on.
    """

    def __init__(
        self,
        fault: Fault,
        chance: Chance,
        hit: Callable[[int, Parcel], list[Parcel]],
        pass_by: Callable[[Any], None] | None = None,
    ) -> None:
        self._fault, self._chance, self._hit, self._pass_by = fault, chance, hit, pass_by

    def take(self, now: int, parcel: Parcel) -> list[Parcel]:
        """Return what a parcel becomes at a time, ns."""
        if self._fault.covers(now) and self._chance.hit():
            return self._hit(now, parcel)
        if self._pass_by is not None:
            self._pass_by(parcel.message)
        return [parcel]


def make_stage(fault: Fault, random: Random) -> Stage:
    """Return the stage of a fault with its source of chances."""
    chance = Chance(fault.probability, fault.burst, random)
    if fault.kind == "stuck":
        stuck = Stuck(fault)
        return Stage(
            fault,
            chance,
            lambda _, parcel: [_with(parcel, stuck.change(parcel.message))],
            stuck.pass_by,
        )
    return Stage(fault, chance, _HITS[fault.kind](fault, random))


def _with(parcel: Parcel, message: Any) -> Parcel:
    return Parcel(message, parcel.release, parcel.overtakes)


def _off(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    return lambda now, parcel: []


def _garbage(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        spoil(parcel.message, fault, random)
        return [parcel]

    return hit


def _wrong(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        bend(parcel.message, fault)
        return [parcel]

    return hit


def _slow(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    period = NANOSECONDS / fault.rate
    following = 0.0

    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        nonlocal following
        # Half a ns: times are rounded to whole ones.
        if now + 0.5 < following:
            return []
        # On a grid, so that the mean rate is right where it does not divide that of the messages.
        following += period
        if following <= now:
            following = now + period
        return [parcel]

    return hit


def _delayed(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        delay = fault.delay + (random.uniform(0.0, fault.jitter) if fault.jitter else 0.0)
        release = parcel.release + round(delay * NANOSECONDS)
        return [Parcel(parcel.message, release, parcel.overtakes or fault.overtake)]

    return hit


def _intermittent(fault: Fault, random: Random) -> Callable[[int, Parcel], list[Parcel]]:
    def hit(now: int, parcel: Parcel) -> list[Parcel]:
        return [_with(parcel, copy.deepcopy(parcel.message)) for _ in range(fault.copies)]

    return hit


_HITS = {
    "off": _off,
    "garbage": _garbage,
    "wrong": _wrong,
    "slow": _slow,
    "delayed": _delayed,
    "intermittent": _intermittent,
}


# Messages that wait at most; more are lost, as in any queue, so that memory stays bounded.
CAPACITY = 10_000


class FaultInjector:
    """Takes messages, and gives them back as the faults make them, when their time has come.

    A message passes the faults in the order of the list. Which faults hit it is decided by the time
    at which it is pushed. Chances are drawn for messages during a fault only, and from a source of
    each fault's own: equal messages at equal times with equal seeds give equal results. Without an
    active fault each message comes out as it came, at once.

    Messages come out in the order of their release. Unless a fault lets them overtake, that is the
    order in which they were pushed, also when a delay has ended.

    When time goes back, as after a reset of a simulator, all begins anew and what waited is lost.

    Args:
        faults: of one topic.
        seed: of all chances.

    Attributes:
        active: faults that are on at the newest time told.
        lost: messages that found no room to wait.

    Raises:
        ValueError: the faults are of several topics.
    """

    def __init__(self, faults: Sequence[Fault], seed: int = 0) -> None:
        topics = sorted({fault.topic for fault in faults})
        if len(topics) > 1:
            raise ValueError(f"topic = {', '.join(topics)}: one injector is for one topic")
        self.faults = tuple(faults)
        self.seed = seed
        self.lost = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew: no message waits, chances are as at the first time."""
        self._stages: list[Stage] = [
            make_stage(fault, Random(f"{self.seed}/{fault.topic}/{fault.seed}/{place}"))
            for place, fault in enumerate(self.faults)
        ]
        self._waiting: list[tuple[int, int, Any]] = []
        self._numbers = count()
        self._now: int | None = None
        self._floor = 0  # release of the last message in order, ns
        self.active: tuple[Fault, ...] = ()

    def push(self, now: float, message: Any) -> None:
        """Take a message.

        Args:
            now: time, s.
            message: is copied.

        Raises:
            ValueError: a fault names a field that the message has not.
        """
        time = self._advance(now)
        parcels = [Parcel(copy.deepcopy(message), time)]
        for stage in self._stages:
            parcels = [result for parcel in parcels for result in stage.take(time, parcel)]
        for parcel in parcels:
            self._queue(parcel)

    def due(self, now: float) -> list[Any]:
        """Return the messages whose time has come, in its order.

        Args:
            now: time, s.
        """
        time = self._advance(now)
        ready = []
        while self._waiting and self._waiting[0][0] <= time:
            ready.append(heapq.heappop(self._waiting)[2])
        return ready

    @property
    def next_release(self) -> float | None:
        """Time at which the next message comes out, s; None when none waits."""
        return self._waiting[0][0] / NANOSECONDS if self._waiting else None

    def _advance(self, now: float) -> int:
        # Whole ns: the sum of a time and a delay is the same however it is written.
        time = round(now * NANOSECONDS)
        if self._now is not None and time < self._now:
            self.reset()
        self._now = time
        self.active = tuple(fault for fault in self.faults if fault.covers(time))
        return time

    def _queue(self, parcel: Parcel) -> None:
        if len(self._waiting) >= CAPACITY:
            self.lost += 1
            return
        release = parcel.release
        if not parcel.overtakes:
            release = self._floor = max(release, self._floor)
        heapq.heappush(self._waiting, (release, next(self._numbers), parcel.message))


# ---
# One topic that the fault injector hands on.

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


# ---
# Scripts of faults in YAML; config/faults.yaml of the suite shows all that they can hold.

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


def read_script(source: Path | str) -> tuple[Fault, ...]:
    """Return the faults of a script; see load_script."""
    return load_script(source).faults


def load_script(source: Path | str) -> Script:
    """Return what a script says.

    Args:
        source: path of a YAML file; or its text, which has more than one line.

    Raises:
        ValueError: names the file, the entry, the field, its value and what is allowed.
    """
    is_text = isinstance(source, str) and "\n" in source
    where = "the script" if is_text else Path(source).expanduser()
    text = source if is_text else read_text(where)
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
