# SPDX-License-Identifier: Apache-2.0
"""Kernel families: which linear algebra and SIMD code a run computes with.

OpenBLAS, NumPy and the C library have code for each family of processors, with other last digits.
`python -m diffbot_bringup.processor_kernels` prints, as JSON, what it computes with itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

CORE = "OPENBLAS_CORETYPE"
WITHOUT = "NPY_DISABLE_CPU_FEATURES"
LIBC = "GLIBC_TUNABLES"

# Features, in NumPy's names, without which OpenBLAS's kernels of a family end with SIGILL.
NEEDS = {
    "SkylakeX": ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL"),
    "Haswell": ("AVX2", "FMA3"),
    "Zen": ("AVX2", "FMA3"),
    "Sandybridge": ("AVX",),
    "Nehalem": ("SSE42",),
    "Prescott": ("SSE3",),
}
# Disables the FMA and AVX2 variants of the C library's mathematics.
PLAIN_LIBC = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX"
PLAIN = "SIMD off"
UNKNOWN = "not OpenBLAS"
PROBE_LIMIT = 120.0  # time limit of a probe, s
NAMES = tuple(
    prefix + "openblas_get_corename" + suffix
    for prefix in ("scipy_", "")
    for suffix in ("64_", "", "_64")
)


@dataclass(frozen=True)
class Kernels:
    """The code paths that a process computes with.

    Attributes:
        cores: Family of the OpenBLAS of each package ("numpy" or "scipy", else the library's file).
        features: Features of the processor in NumPy's names, without those switched off.
        switchable: Features that NumPy has code paths for and can do without.
    """

    cores: dict[str, str]
    features: tuple[str, ...]
    switchable: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(f"{name}: {core}" for name, core in self.cores.items()) or UNKNOWN


@dataclass(frozen=True)
class Family:
    """Code paths that tests can be run with: OpenBLAS's family or PLAIN, and what selects them."""

    name: str
    variables: Mapping[str, str]
    kernels: Kernels

    def environment(self) -> dict[str, str]:
        """Return this process's environment with the variables that select the family."""
        return {**os.environ, **self.variables}


def families(others: bool = False) -> tuple[list[Family], list[str]]:
    """Return the families that this machine can run, each once, and a line per omitted one.

    `others`: whether to omit the family that this machine uses by default, too.
    """
    own = probe({})
    plain = _plain(own)
    if own is None or not own.cores:
        return plain, ["NumPy and SciPy here do not use OpenBLAS: its families are skipped"]
    results: list[Family] = []
    left_out: list[str] = []
    able = [name for name, needs in NEEDS.items() if set(needs) <= set(own.features)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        seen = dict(zip(able, pool.map(lambda name: probe({CORE: name}), able), strict=True))
    for name, needs in NEEDS.items():
        missing = [feature for feature in needs if feature not in own.features]
        kernels = seen.get(name)
        same = [
            family.name for family in results if kernels and family.kernels.cores == kernels.cores
        ]
        if missing:
            left_out.append(f"{name}: skipped, this processor has no {', '.join(missing)}")
        elif kernels is None:
            left_out.append(f"{name}: skipped, a process that uses it crashes at once")
        elif others and kernels.cores == own.cores:
            left_out.append(f"{name}: skipped, all tests ran with it")
        elif same:
            left_out.append(f"{name}: skipped, this OpenBLAS uses {same[0]}'s kernels for it")
        else:
            results.append(Family(name, {CORE: name}, kernels))
    return results + plain, left_out


def probe(variables: Mapping[str, str]) -> Kernels | None:
    """Return what a new process with these variables computes with, or None if it crashes."""
    try:
        process = subprocess.run(
            [sys.executable, "-m", "diffbot_bringup.processor_kernels"],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=PROBE_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None
    if process.returncode:
        return None
    said = json.loads(process.stdout)
    return Kernels(said["cores"], tuple(said["features"]), tuple(said["switchable"]))


def _plain(own: Kernels | None) -> list[Family]:
    if own is None:
        return []
    variables = {LIBC: PLAIN_LIBC}
    if own.switchable:
        variables[WITHOUT] = " ".join(own.switchable)
    seen = probe(variables)
    if seen is None or set(seen.features) & set(own.switchable):
        return []
    return [Family(PLAIN, variables, seen)]


def own_kernels() -> Kernels:
    """Return what this process computes with, after trying linear algebra of several sizes."""
    import numpy as np
    import scipy.linalg

    for size in (2, 5, 20, 100):
        matrix = np.random.default_rng(0).normal(size=(size, size))
        for solve in (np.linalg.solve, scipy.linalg.solve):
            solve(matrix @ matrix.T + np.eye(size), matrix[0])
    features, dispatch = _numpy_features()
    on = tuple(name for name, is_on in features.items() if is_on)
    return Kernels(_cores(), on, tuple(name for name in dispatch if features.get(name)))


def _numpy_features() -> tuple[dict[str, bool], tuple[str, ...]]:
    """Return the processor's features, and those for which NumPy selects code paths on import."""
    try:
        from numpy._core import _multiarray_umath as module  # type: ignore[attr-defined]  # NumPy 2; private
    except ImportError:
        from numpy.core import _multiarray_umath as module  # NumPy 1
    return dict(module.__cpu_features__), tuple(module.__cpu_dispatch__)


def _cores() -> dict[str, str]:
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    paths = {line.split(maxsplit=5)[-1] for line in maps.splitlines() if "openblas" in line}
    cores = {}
    for path in sorted(path for path in paths if os.path.exists(path)):
        library = ctypes.CDLL(path)
        for name in NAMES:
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                package = Path(path).parent.name.removesuffix(".libs")
                who = package if package in ("numpy", "scipy") else Path(path).name
                cores[who] = function().decode()
                break
    return cores


if __name__ == "__main__":
    print(json.dumps(asdict(own_kernels())))
