# SPDX-License-Identifier: Apache-2.0
"""What a recording holds, as if a running graph had been looked at."""

from __future__ import annotations

import math
from pathlib import Path

from diffbot_check.message_values import append
from diffbot_check.observation import TYPES, Observation, TopicNames, TopicStream
from diffbot_node.topic_types import TRANSFORMS
from diffbot_recordings.bag_topics import without_rosbags
from diffbot_recordings.samples import RecordingError


def observe(path: Path, topics: TopicNames, seconds: float) -> tuple[Observation, TopicNames]:
    """Return what the first seconds of a recording hold, and the names of its topics.

    Where it has none of a name, the only topic of the type takes its place.

    Raises:
        RecordingError: Nothing can be read.
    """
    try:
        from diffbot_recordings.bag import Bag
    except ModuleNotFoundError as error:
        raise without_rosbags(error) from None
    bag = Bag(path)
    names = {}
    for use, types in TYPES.items():
        name = getattr(topics, use)
        of_type = [topic for topic, each in bag.topics.items() if each.type in types]
        names[use] = of_type[0] if name not in bag.topics and len(of_type) == 1 else name
    wanted = {name: bag.topics[name] for name in names.values() if name in bag.topics}
    wanted |= {name: each for name, each in bag.topics.items() if each.type == TRANSFORMS}
    if not wanted:
        raise RecordingError(
            f"{path}: no topic of a robot; it has: {', '.join(sorted(bag.topics)) or 'nothing'}"
        )
    decoders = {name: bag.decoder(each) for name, each in wanted.items()}
    streams = {name: TopicStream(name, each.type) for name, each in wanted.items()}
    if "/clock" in bag.topics:
        streams["/clock"] = TopicStream("/clock", bag.topics["/clock"].type)
    transforms: set[tuple[str, str]] = set()
    first, last = math.nan, math.nan
    for name, logged, data in bag.messages([*wanted]):
        last = 1e-9 * logged
        first = last if math.isnan(first) else first
        if last - first > seconds:
            break
        message = decoders[name](data)
        if message is None:
            continue
        if wanted[name].type == TRANSFORMS:
            transforms |= {
                (each.header.frame_id.strip("/"), each.child_frame_id.strip("/"))
                for each in message.transforms
            }
            continue
        append(message, wanted[name].type, streams[name], last)
    if math.isnan(first):
        raise RecordingError(f"{path}: no message of a robot in it")
    seen = Observation(
        max(last - first, 0.0),
        streams=streams,
        transforms=frozenset(transforms),
        recording=str(path),
    )
    return seen, TopicNames(**names)
