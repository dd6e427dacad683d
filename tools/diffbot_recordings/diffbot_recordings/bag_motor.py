# SPDX-License-Identifier: Apache-2.0
"""Voltage, current and speed of motors in topics of a bag: docs/effort_units.md#motors-in-bags.

A field is TOPIC.FIELD, with an index or a name in brackets for an entry of a list, as in
"/joint_states.velocity[left_wheel_joint]".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from diffbot_node.topic_types import ARRAY, JOINT_STATE
from diffbot_recordings.bag_topics import (
    ROLES,
    Feed,
    Values,
    candidates,
    find_wheels,
    listed,
)
from diffbot_recordings.options import Options, robot_of
from diffbot_recordings.samples import MOTOR_CHANNELS, SIDES, RecordingError
from diffbot_recordings.table_columns import Column, parse_columns

if TYPE_CHECKING:
    from diffbot_recordings.bag import Bag, BagTopic

ARRAYS = (ARRAY, "std_msgs/msg/Float32MultiArray")
NUMBERS = ("std_msgs/msg/Float64", "std_msgs/msg/Float32")
INTERFACES = "control_msgs/msg/DynamicJointState"
WORDS = {
    "voltage": ("voltage", "volt"),
    "current": ("current", "amp"),
    "velocity": ("velocity", "velocities", "speed"),
}
SEARCHED = 200
_STEP = re.compile(r"([A-Za-z]\w*)(?:\[([^\[\]]+)\])?")

Pair = tuple[str, str]
"""Fields of the left and the right motor."""


def motor_columns(bag: Bag, options: Options) -> dict[str, Column] | None:
    """Return the fields of all channels, chosen or found by name; None if any has none.

    Raises RecordingError for a wrong choice, or more than one topic that fits.
    """
    if options.columns:
        chosen = parse_columns(options.columns, MOTOR_CHANNELS)
        if missing := [name for name in MOTOR_CHANNELS if name not in chosen]:
            raise RecordingError(
                f"--columns: {', '.join(missing)} not named; a motor needs all of "
                f"{', '.join(MOTOR_CHANNELS)}, such as left_voltage=/motor_voltages.data[0]"
            )
        return _forward(chosen, options)
    results: dict[str, Column] = {}
    for quantity in WORDS:
        pair = _motors(bag, quantity, options)
        if pair is None:
            return None
        for side, field in zip(SIDES, pair, strict=True):
            results[f"{side}_{quantity}"] = Column(field)
    return _forward(results, options)


def _forward(columns: Mapping[str, Column], options: Options) -> dict[str, Column]:
    robot = robot_of(options)
    if robot is None:
        return dict(columns)
    return {
        channel: replace(column, factor=-column.scale)
        if robot.joints.sign_of(channel) < 0
        else column
        for channel, column in columns.items()
    }


def voltage_and_current(bag: Bag, options: Options) -> bool:
    """Whether topics and interfaces have both in their names; reads only messages of interfaces."""
    known = {quantity: False for quantity in ("voltage", "current")}
    known["current"] = options.effort_unit == "ampere"
    for topic in bag.topics.values():
        if topic.type == INTERFACES:
            message = _first(bag, topic)
            parts = [] if message is None else message.interface_values
            names = [name for part in parts for name in part.interface_names]
        else:
            names = [topic.name.lower()] if topic.type in (*ARRAYS, *NUMBERS, JOINT_STATE) else []
        for quantity in known:
            known[quantity] |= any(w in name for w in WORDS[quantity] for name in names)
    return all(known.values())


def motor_topics(bag: Bag, columns: Mapping[str, Column]) -> list[Feed]:
    """Return the topics to read, those with stamps first; RecordingError if anything is missing."""
    by_topic: dict[str, list[str]] = {}
    for channel in MOTOR_CHANNELS:
        by_topic.setdefault(_topic_of(bag, channel, columns[channel]).name, []).append(channel)
    results = []
    for name, channels in by_topic.items():
        getters = []
        for channel in channels:
            column = columns[channel]
            getter = _getter(channel, column, name)
            _check(bag, bag.topics[name], getter, channel, column)
            getters.append(getter)
        results.append(Feed(bag.topics[name], tuple(channels), partial(_values, getters)))
    # The stamps of the first topic define the robot's time.
    return sorted(results, key=lambda each: each.topic.type in (*ARRAYS, *NUMBERS))


def _motors(bag: Bag, quantity: str, options: Options) -> Pair | None:
    pairs = [*_interfaces(bag, quantity, options), *_named(bag, quantity, options)]
    if not pairs:
        pairs = _joint_states(bag, quantity, options)
    if len(pairs) > 1:
        listed = "; ".join(", ".join(pair) for pair in pairs)
        raise RecordingError(
            f"which fields are the motors' {quantity}? Name all channels by --columns "
            f"CHANNEL=TOPIC.FIELD,…; found: {listed}"
        )
    return pairs[0] if pairs else None


def _interfaces(bag: Bag, quantity: str, options: Options) -> Iterable[Pair]:
    for topic in bag.topics.values():
        message = _first(bag, topic) if topic.type == INTERFACES else None
        if message is None:
            continue
        left, right = _wheels(message.joint_names, options)
        has = {
            joint: list(each.interface_names)
            for joint, each in zip(message.joint_names, message.interface_values, strict=True)
        }
        for word in WORDS[quantity]:
            if word in has[left] and word in has[right]:
                start, end = f"{topic.name}.interface_values", f"values[{word}]"
                yield f"{start}[{left}].{end}", f"{start}[{right}].{end}"
                break


def _named(bag: Bag, quantity: str, options: Options) -> Iterable[Pair]:
    named = {
        name: topic
        for name, topic in bag.topics.items()
        if any(word in name.lower() for word in WORDS[quantity])
    }
    for name, topic in named.items():
        if topic.type in ARRAYS:
            message = _first(bag, topic)
            if message is not None and len(message.data) == 2:
                yield f"{name}.data[0]", f"{name}.data[1]"
        elif topic.type == JOINT_STATE and quantity != "velocity":
            yield from _of_joints(bag, topic, ("effort", "position", "velocity"), options)
    numbers = [name for name, topic in named.items() if topic.type in NUMBERS]
    if len(numbers) > 1:
        (left,), (right,) = find_wheels(numbers)
        yield f"{left}.data", f"{right}.data"


def _joint_states(bag: Bag, quantity: str, options: Options) -> list[Pair]:
    in_ampere = quantity == "current" and options.effort_unit == "ampere"
    if not in_ampere and quantity != "velocity":
        return []
    fields = ("effort",) if in_ampere else ("velocity",)
    chosen = options.topics["joint_states"]
    words = (*WORDS["voltage"], *WORDS["current"])
    return [
        pair
        for topic in candidates(bag.topics, ROLES["joint_states"])
        if topic.name == chosen
        or (chosen is None and not any(word in topic.name.lower() for word in words))
        for pair in _of_joints(bag, topic, fields, options)
    ]


def _of_joints(
    bag: Bag, topic: BagTopic, fields: tuple[str, ...], options: Options
) -> Iterable[Pair]:
    message = _first(bag, topic)
    if message is None:
        return
    for field in fields:
        if len(getattr(message, field)) == len(message.name) > 0:
            left, right = _wheels(message.name, options)
            yield f"{topic.name}.{field}[{left}]", f"{topic.name}.{field}[{right}]"
            return


def _wheels(names: list[str], options: Options) -> Pair:
    joints = options.left_joint, options.right_joint
    left, right = find_wheels(names, *joints, robot_of(options))
    return left[0], right[0]


def _first(bag: Bag, topic: BagTopic) -> Any | None:
    with closing(bag.peek(topic)) as messages:
        return next(messages, None)


def _topic_of(bag: Bag, channel: str, column: Column) -> BagTopic:
    name = column.name.partition(".")[0]
    topic = bag.topics.get(name) or bag.topics.get(f"/{name}")
    if topic is None:
        raise RecordingError(
            f"--columns {channel}={column.name}: {bag.path.name} has no topic {name}; it has: "
            f"{listed(bag.topics.values())}"
        )
    return topic


Getter = Callable[[Any], float]


def _getter(channel: str, column: Column, topic: str) -> Getter:
    path = column.name.partition(".")[2]
    steps = [_STEP.fullmatch(part) for part in path.split(".")]
    if not path or None in steps:
        raise RecordingError(
            f"--columns {channel}={column.name}: must be TOPIC.FIELD, with an index or a name in "
            f"brackets where it is one of many, such as {topic}.data[0]"
        )
    parts = [(step[1], step[2]) for step in steps if step is not None]
    scale = column.scale

    def get(message: Any) -> float:
        result = message
        for name, index in parts:
            parent, result = result, getattr(result, name)
            if index is not None:
                place = int(index) if index.isdigit() else _names(parent, name).index(index)
                result = result[place]
        return scale * float(result)

    return get


def _names(parent: Any, field: str) -> list[str]:
    for names in ("name", "joint_names", "interface_names", f"{field}_names", "names"):
        if hasattr(parent, names):
            return list(getattr(parent, names))
    return []


NO_VALUE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def _values(getters: list[Getter], message: Any) -> Values:
    return tuple(_or_nan(get, message) for get in getters)


def _or_nan(get: Getter, message: Any) -> float:
    try:
        return get(message)
    except NO_VALUE:
        return math.nan


def _check(bag: Bag, topic: BagTopic, get: Getter, channel: str, column: Column) -> None:
    with closing(bag.peek(topic)) as messages:
        first = list(islice(messages, SEARCHED))
    if any(math.isfinite(_or_nan(get, message)) for message in first):
        return
    if not first and bag.warnings:
        raise RecordingError(f"{channel}={column.name}: {bag.warnings[-1]}")
    fields = ", ".join(vars(first[0])) if first and hasattr(first[0], "__dict__") else "no message"
    raise RecordingError(
        f"{channel}={column.name}: no number there in the first {len(first)} messages of "
        f"{topic.name} ({topic.type}), which have: {fields.replace('__msgtype__', '').strip(', ')}"
    )
