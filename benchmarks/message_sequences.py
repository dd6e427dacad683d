#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A million random messages through the cores of the nodes: check that no torque is unsafe.

The checks are those of the tests named below; their plans come from a random generator instead of
Hypothesis. A broken promise ends the run with a traceback that contains plan and seed.

    ./diffbot python benchmarks/message_sequences.py [--messages 1000000] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


class Core(NamedTuple):
    """A node core that processes the messages.

    Attributes:
        name: Name of the core.
        path: Path of the test with its plans and checks.
        fraction: Share of the messages; some cores need more CPU time than others.
        promise: What holds for all messages if the test passes.
    """

    name: str
    path: str
    fraction: float
    promise: str


CORES = (
    Core(
        "guard, limiter and age of states",
        "diffbot_node/test/test_guard_sequences.py",
        1.0,
        "all inside limit and rate",
    ),
    Core(
        "laws, feedback and guard",
        "diffbot_controllers/test/test_law_sequences.py",
        0.1,
        "all inside limit and rate",
    ),
    Core(
        "course of an identification",
        "diffbot_ident/test/test_identification_sequences.py",
        0.1,
        "all inside the limit, and every course ended",
    ),
)


def module_of(path: str) -> ModuleType:
    """Import a test module by its file; tests import from their folder."""
    file = ROOT / path
    sys.path.insert(0, str(file.parent))
    return import_module(file.stem)


def send(module: ModuleType, number: int, seed: int) -> Counter:
    """Send at least `number` messages; return the counts of their results."""
    random, count = np.random.default_rng(seed), Counter()
    while sum(count.values()) < number:
        plan = module.random_plan(random)
        drawn = int(random.integers(2**32))
        try:
            count.update(module.run(plan, drawn))
        except AssertionError as error:
            raise AssertionError(f"plan {plan}, seed {drawn}: {error}") from error
    return count


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for core in CORES:
        before = time.process_time()
        count = send(module_of(core.path), round(core.fraction * options.messages), options.seed)
        print(
            f"{core.name}: {sum(count.values())} messages, {count['driven']} answered by a torque "
            f"that is not zero, {core.promise}; CPU {time.process_time() - before:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
