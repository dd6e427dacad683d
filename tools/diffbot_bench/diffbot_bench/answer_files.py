# SPDX-License-Identifier: Apache-2.0
"""Answers as files, for estimators in other programs: JSON.

    {"estimator": NAME,
     "answers": {TASK: {"seconds": S, "values": {NAME: VALUE | [VALUE, LOW, HIGH]}}}}

`seconds` is the processor time, and may be missing; a task or value that is missing is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from diffbot_bench.scoring import Interval, TaskAnswer, answer_of
from diffbot_description.files import parse_json, read_regular, write_json


def write_answers(path: Path, estimator: str, answers: Mapping[str, TaskAnswer]) -> Path:
    """Write the answers of an estimator; return the path."""
    entries = {
        task: {
            "seconds": answer.seconds,
            "reason": answer.reason,
            "values": {name: _entry(each) for name, each in answer.values.items()},
        }
        for task, answer in answers.items()
    }
    return write_json(path, {"estimator": estimator, "answers": entries})


def _entry(interval: Interval) -> float | list[float]:
    if interval.low is None or interval.high is None:
        return interval.value
    return [interval.value, interval.low, interval.high]


def read_answers(path: Path) -> tuple[str, dict[str, TaskAnswer]]:
    """Return an estimator's name and its answers by task; ValueError names file and entry."""
    try:
        content = parse_json(read_regular(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    answers = content.get("answers") if isinstance(content, dict) else None
    name = content.get("estimator") if isinstance(content, dict) else None
    if not isinstance(answers, dict) or not isinstance(name, str) or not name:
        raise ValueError(f"{path}: must hold 'estimator', a name, and 'answers', by task")
    result = {}
    for task, entry in answers.items():
        if not isinstance(entry, dict):
            raise ValueError(f"{path}: answers.{task} = {entry!r:.60}: must hold 'values'")
        seconds = entry.get("seconds")
        spent = float(seconds) if isinstance(seconds, (int, float)) else float("nan")
        try:
            result[str(task)] = answer_of(entry.get("values"), spent)
        except ValueError as error:
            raise ValueError(f"{path}: answers.{task}: {error}") from None
    return name, result
