#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the code that keeps torques within limits: do the tests detect each mutant?

Creates all mutants of the limiter, the state machine and the watchdog, one at a time: replaces
operators, comparisons, numbers and conditions, and removes statements, `not` and parts of `and` and
`or`; messages stay unchanged. Runs the file's own tests on each. A mutant is killed when a test
fails. Survivors are listed with the reason why they are equivalent, from mutation_survivors.py; a
survivor without a reason gives status 1.

The checkout is not modified: a copy of the package is mutated, in separate processes forked from
one with all libraries loaded. No mutation library is used: existing ones expect a project of one
package, and five small files do not justify another dependency.

    ./diffbot python benchmarks/mutation.py [FILE ...] [--jobs 2]
"""

from __future__ import annotations

import ast
import copy
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import hypothesis
import pytest
from benchmark_tables import options
from mutation_survivors import SURVIVORS

import diffbot_node

SOURCE = Path(diffbot_node.__file__).resolve().parent
TESTS = SOURCE.parent / "test"
FILES = {
    "command_guard.py": (
        "test_command_guard.py",
        "test_torque_limiter.py",
        "test_stop_states.py",
        "test_guard_sequences.py",
    ),
    "stop_states.py": ("test_stop_states.py",),
    "state_age.py": ("test_state_age.py",),
    "presence.py": ("test_presence.py",),
    "effort_watchdog.py": ("test_effort_watchdog.py",),
}
TIME_LIMIT = 300  # s; a mutant that hangs is noticed

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
FUNCTIONS = {"min": "max", "max": "min", "all": "any", "any": "all", "abs": "float"}


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield replacements of a node."""
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield _with(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        yield _with(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        for value in node.values:
            rest = [other for other in node.values if other is not value]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in FUNCTIONS:
        yield _with(node, func=ast.Name(FUNCTIONS[node.func.id], ast.Load()))
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Constant) and node.value == "":
        yield ast.Constant("mutant")
    if isinstance(node, ast.If):
        yield _with(node, test=ast.Constant(True))
        yield _with(node, test=ast.Constant(False))
    removable = (ast.Assign, ast.AugAssign, ast.Return, ast.Raise)
    if isinstance(node, removable) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def mutants(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield all mutants of a source text: line, description of the change, and changed text.

    Args:
        text: Source text of a module.
    """
    tree = ast.parse(text)
    quoted = {id(part) for node in ast.walk(tree) for part in _sentence(node)}
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns"):
                continue
            for k, node in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(node, ast.AST) or id(node) in quoted:
                    continue
                for other in variants(node):
                    changed = [*value[:k], other, *value[k + 1 :]] if value is not node else other
                    setattr(parent, name, changed)
                    yield node.lineno, f"{_short(node)} -> {_short(other)}", ast.unparse(tree)
                    setattr(parent, name, value)


def _sentence(node: ast.AST) -> list[ast.AST]:
    """Return the nodes of a message with values in it."""
    return list(ast.walk(node)) if isinstance(node, ast.JoinedStr) else []


def _short(node: ast.AST) -> str:
    """Return a node in one line; for a condition, the line with the condition."""
    return ast.unparse(node).splitlines()[0]


def _give_up(*_: object) -> None:
    raise TimeoutError


def survives(job: tuple[str, str], folder: Path) -> bool:
    """Whether a file's tests pass with this text in its place; runs in a forked process."""
    name, text = job
    work = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(SOURCE, work / SOURCE.name, ignore=shutil.ignore_patterns("__pycache__"))
    for test in FILES[name]:
        shutil.copy(TESTS / test, work)
    (work / SOURCE.name / name).write_text(text, encoding="utf-8")
    for module in [module for module in sys.modules if module.split(".")[0] == SOURCE.name]:
        del sys.modules[module]
    sys.path.insert(0, str(work))
    os.chdir(work)
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(TIME_LIMIT)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", "."]
        status = pytest.main([*arguments, "-c", os.devnull, *FILES[name]])
    shutil.rmtree(work)
    return status == 0


def main() -> int:
    """Print the survivors; return the exit status."""
    parser = options(__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", help=", ".join(FILES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel processes")
    arguments = parser.parse_args()
    for name in arguments.files:
        if name not in FILES:
            parser.error(f"{name}: must be one of {', '.join(FILES)}")
    # Use the same examples for each mutant, and do not shrink them.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutation", max_examples=40, derandomize=True, database=None, deadline=None, phases=phases
    )
    hypothesis.settings.load_profile("mutation")
    begin, unexplained = time.monotonic(), 0
    context = multiprocessing.get_context("fork")
    with (
        tempfile.TemporaryDirectory() as folder,
        context.Pool(arguments.jobs, maxtasksperchild=1) as pool,
    ):
        for name in arguments.files or FILES:
            unexplained += judge(name, pool, Path(folder))
    print(f"{time.monotonic() - begin:.0f} s; survivors without a reason: {unexplained}")
    return 1 if unexplained else 0


def judge(name: str, pool: multiprocessing.pool.Pool, folder: Path) -> int:
    """Print the survivors of a file; return the number without a reason."""
    text = (SOURCE / name).read_text(encoding="utf-8")
    lines, result = text.splitlines(), list(mutants(text))
    run = partial(survives, folder=folder)
    if not pool.apply(run, ((name, text),)):
        raise SystemExit(f"{' or '.join(FILES[name])} fails on {name} as it is: repair that first")
    survived = pool.imap(run, [(name, changed) for _, _, changed in result], chunksize=1)
    survivors = [mutant for mutant, alive in zip(result, survived, strict=True) if alive]
    print(f"{name}: {len(result)} mutants, {len(survivors)} survive", flush=True)
    unexplained = 0
    for number, change, _ in survivors:
        line = lines[number - 1].strip()
        reason = SURVIVORS.get((name, line, change))
        unexplained += reason is None
        print(f"  line {number}: {line}\n    {change}\n    {reason or 'NO REASON GIVEN'}")
    return unexplained


if __name__ == "__main__":
    sys.exit(main())
