# SPDX-License-Identifier: Apache-2.0
"""Tasks on a Dask cluster, each with a time limit, that survive the loss of a worker.

Each worker has one thread and runs one task at a time. A task whose worker is killed runs again on
another one; one that kills several workers, raises, or exceeds its time limit fails alone.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any

# Periods of polling the tasks, and of checking running tasks and workers, s.
POLL, LOOK = 0.02, 2.0
# Number of times that a task is given to another worker after its worker was killed.
RETRIES = 2


class ClusterLostError(RuntimeError):
    """The scheduler is gone; finished work is kept."""


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended: its result, or why it failed."""

    task: int
    result: Any
    failure: str | None


@dataclass(frozen=True)
class _Begun:
    worker: str
    time: float


class Cluster:
    """A Dask client, and a local cluster unless a scheduler is given.

        with Cluster(workers=2) as cluster:
            results = cluster.map(function, tasks)

    Args:
        scheduler: Address of a cluster's scheduler, tcp://host:port; None: workers on this machine,
            which end with this object.
        workers: Number of processes on this machine; None: one per processor.
        say: Called with messages about workers.

    Raises:
        ModuleNotFoundError: Dask distributed is not installed.
        OSError: The scheduler does not answer.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        workers: int | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        import dask
        from distributed import Client, LocalCluster

        self._say = say
        self._local: Any = None
        for name in ("distributed", "distributed.nanny", "distributed.worker", "bokeh"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        # Workers run side by side, so each gets one thread of linear algebra.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": RETRIES,
                "distributed.nanny.pre-spawn-environ": threads,
                "distributed.comm.timeouts.connect": "10s",
                "distributed.admin.log-format": "%(message)s",
            }
        )
        if scheduler is None:
            # Ctrl-C must not reach workers, which inherit the mask; the tracker, started before,
            # unblocks it.
            resource_tracker.ensure_running()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._local = LocalCluster(
                    n_workers=workers or os.cpu_count() or 1,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._client = Client(
            self._local if scheduler is None else scheduler, set_as_default=False, timeout="20s"
        )
        self._known = set(self._workers())

    @property
    def dashboard(self) -> str:
        """Address of the cluster's dashboard; the page itself reports missing packages."""
        return str(self._client.dashboard_link)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._client.close(timeout=5)
        if self._local is not None:
            self._local.close(timeout=5)

    def run(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], seconds: float
    ) -> Iterator[TaskEnd]:
        """Run all tasks; yield each as it ends, in any order. Raises ClusterLostError.

        Args:
            function: Function of one task; importable by the workers.
            seconds: Time limit of a task, > 0.
        """
        waiting = list(range(len(tasks)))[::-1]
        running: dict[Any, int] = {}
        begun: dict[str, _Begun] = {}
        looked = -LOOK
        try:
            while waiting or running:
                if time.monotonic() - looked > LOOK:
                    looked = time.monotonic()
                    self._watch()
                    begun = self._times(begun)
                while waiting and len(running) < max(len(self._known), 1):
                    number = waiting.pop()
                    future = self._client.submit(function, tasks[number], pure=False)
                    running[future] = number
                time.sleep(POLL)
                for future in [each for each in running if each.status != "pending"]:
                    yield self._end(future, running.pop(future))
                late = [
                    future
                    for future in running
                    if future.key in begun and looked - begun[future.key].time > seconds
                ]
                for future in late:
                    number = running.pop(future)
                    self._stop(future)
                    yield TaskEnd(number, None, f"took longer than {seconds:g} s")
        finally:
            for future in running:
                future.cancel(force=True)

    def map(
        self, function: Callable[[Any], Any], tasks: Iterable[Any], seconds: float = 3600.0
    ) -> list[Any]:
        """Return the results of all tasks, in order; RuntimeError if one fails, or the scheduler.

        Arguments as run; the function may also be defined in the program itself.
        """
        arguments = list(tasks)
        results: list[Any] = [None] * len(arguments)
        for end in self.run(function, arguments, seconds):
            if end.failure is not None:
                raise RuntimeError(f"task {end.task}, {arguments[end.task]!r}: {end.failure}")
            results[end.task] = end.result
        return results

    def _times(self, begun: dict[str, _Begun]) -> dict[str, _Begun]:
        now = time.monotonic()
        kept = self._client.processing()
        times = {}
        for worker, keys in kept.items():
            for key in keys:
                before = begun.get(key)
                same = before is not None and before.worker == worker
                times[key] = before if same and before else _Begun(worker, now)
        return times

    def _end(self, future: Any, number: int) -> TaskEnd:
        if future.status == "finished":
            end = TaskEnd(number, future.result(), None)
        elif future.status in ("cancelled", "lost"):
            self._watch()
            end = TaskEnd(number, None, "lost together with the cluster")
        else:
            error = future.exception()
            text = str(error).partition("\n")[0]
            if type(error).__name__ == "KilledWorker":
                text = f"{RETRIES + 1} workers were killed while they ran it; did memory run out?"
            end = TaskEnd(number, None, f"{type(error).__name__}: {text}")
        future.release()
        return end

    def _stop(self, future: Any) -> None:
        """Cancel a task, and restart the worker that runs it: a thread cannot be ended."""
        at = [worker for worker, keys in self._client.processing().items() if future.key in keys]
        future.cancel(force=True)
        try:
            if at:
                self._client.restart_workers(at, timeout=60)
                self._say(f"a task took too long: {', '.join(at)} was restarted")
        except Exception as error:  # a worker without a nanny, or one that just ends
            self._say(f"a task took too long, and {', '.join(at)} still runs it: {error}")
        self._known = set(self._workers())

    def _workers(self) -> list[str]:
        # `scheduler_info` may have lost the workers to the client's own update.
        return list(self._client.nthreads())

    def _watch(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise ClusterLostError(
                "the scheduler no longer responds; finished tasks are kept: start a scheduler and "
                "run the same command again"
            )
        now = set(self._workers())
        for worker in sorted(self._known - now):
            self._say(f"worker {worker} lost; its task is repeated on another worker")
        for worker in sorted(now - self._known):
            self._say(f"worker {worker} joined")
        self._known = now
