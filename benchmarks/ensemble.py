# SPDX-License-Identifier: Apache-2.0
"""Seeds of robots as tasks of a cluster, of this machine or of several."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from diffbot_study.task_cluster import Cluster


class Ensemble(NamedTuple):
    """Seeds of robots, and the cluster on which they are tasks."""

    seeds: range
    cluster: Cluster

    def map(self, work: Callable[..., Any], *given: Any, **named: Any) -> list[Any]:
        """Return work(*given, seed, **named) for each seed."""
        return self.cluster.map(partial(work, *given, **named), self.seeds)


@contextmanager
def ensemble(arguments: argparse.Namespace) -> Iterator[Ensemble]:
    """Start the cluster of the options --robots, --seed, --scheduler and --workers."""
    with Cluster(arguments.scheduler, arguments.workers) as cluster:
        yield Ensemble(range(arguments.seed, arguments.seed + arguments.robots), cluster)
