"""Lock-step under random schedules: processes that start late, messages late or lost, kills.

    ./diffbot python benchmarks/schedules.py --schedules 500

Runs the nodes of six graphs in virtual time by schedules that are drawn at random (see
diffbot_bringup/faults/schedules.py) and prints how many were not as they should be; the exit status
is 1 when one was not.
"""

from __future__ import annotations

import argparse
import sys
import time

from diffbot_bringup.faults.schedules import GRAPHS, disturbed, problem, undisturbed


def main() -> int:
    """Print the table; 1 when a schedule broke a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedules", type=int, default=500, help="in all, over the graphs")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--graph", choices=tuple(GRAPHS), action="append", help="only these")
    options = parser.parse_args()
    graphs = options.graph or list(GRAPHS)
    each = -(-options.schedules // len(graphs))
    broken = 0
    print(
        f"{'graph':14}{'schedules':>10}{'killed':>8}{'broken':>8}{'longest, s':>12}{'wall, s':>9}"
    )
    for graph in graphs:
        begin, wanted = time.perf_counter(), undisturbed(graph)
        problems: list[str] = []
        kills, longest = 0, 0.0
        for seed in range(options.first, options.first + each):
            found = disturbed(graph, seed)
            kills += found.killed is not None
            longest = max(longest, found.took)
            if what := problem(wanted, found):
                problems.append(f"  seed {seed}: {what}")
        wall = time.perf_counter() - begin
        print(f"{graph:14}{each:10}{kills:8}{len(problems):8}{longest:12.1f}{wall:9.1f}")
        print("\n".join(problems[:5]), end="\n" if problems else "", flush=True)
        broken += len(problems)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
