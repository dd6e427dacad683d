#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A million random messages through the cores of the nodes: check that no torque is unsafe.

The checks are those of the tests named below; their plans come from a random generator instead of
Hypothesis. A broken promise ends the run with a traceback that contains plan and seed.

    ./diffbot python benchmarks/message_sequences.py [--messages 1000000] [--seed 0]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
from benchmark_tables import Table, options

ROOT = Path(__file__).resolve().parent.parent


# By core: the test with its plans and checks, and its fraction of the messages; some need more CPU
# time than others.
CORES = {
    "guard, limiter and age of states": ("diffbot_node/test/test_guard_sequences.py", 1.0),
    "laws, feedback and guard": ("diffbot_controllers/test/test_law_sequences.py", 0.1),
    "identification": ("diffbot_ident/test/test_identification_sequences.py", 0.1),
}


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
    parser = options(__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    table = Table("core, no promise broken", "messages", "answered by a torque", "CPU s", width=34)
    for name, (path, fraction) in CORES.items():
        before = time.process_time()
        count = send(module_of(path), round(fraction * given.messages), given.seed)
        table.row(name, sum(count.values()), count["driven"], time.process_time() - before)


if __name__ == "__main__":
    main()
