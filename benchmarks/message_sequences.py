#!/usr/bin/env python3
"""A million random messages through the cores of the nodes: no torque is unsafe.

The checks are those of the tests named below, whose plans come from a random generator here and
not from Hypothesis. A broken promise ends it with a traceback that tells plan and seed.

    ./diffbot python benchmarks/message_sequences.py [--messages 1000000] [--seed 0]
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CORES = {
    "guard, limiter and age of states": "diffbot_node/test/test_guard_sequences.py",
    "laws, feedback and guard": "diffbot_controllers/test/test_law_sequences.py",
}
# The laws cost more per message: their share of the messages.
SHARES = (1.0, 0.1)


def module_of(path: str) -> ModuleType:
    """A test's module, by its file."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def send(module: ModuleType, number: int, seed: int) -> Counter:
    """Send at least so many messages; returns what became of them."""
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
    for (name, path), share in zip(CORES.items(), SHARES, strict=True):
        before = time.process_time()
        count = send(module_of(path), round(share * options.messages), options.seed)
        print(
            f"{name}: {sum(count.values())} messages, {count['driven']} answered by a torque that "
            f"is not zero, all inside limit and rate; CPU {time.process_time() - before:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
