# SPDX-License-Identifier: Apache-2.0
"""The process in which xacro runs: expressions are checked, and time, memory and files limited.

xacro itself checks only the outermost code of an expression; here the whole syntax tree is. Still a
xacro file may read any YAML or XML file. It imports nothing of the suite, to start quickly.

Requests and answers are JSON, one a line: `{"path": ..., "arguments": {...}}`; `{"text": ...}`, or
`{"fault": ...}` with messages.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

# Syntax of expressions; lambda and generators have frames, which lead everywhere.
_ALLOWED = (
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call,
    ast.keyword, ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.List,
    ast.Tuple, ast.Dict, ast.Set, ast.Starred, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.comprehension, ast.JoinedStr, ast.FormattedValue,
    ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip
# Names that reach attributes by a text.
_BY_TEXT = ("format", "format_map", "mro")
# Beginnings of the attributes of frames, code, generators, coroutines and tracebacks.
_FRAMES = ("f_", "co_", "gi_", "cr_", "ag_", "tb_")
_FRAME_NAMES = ("back", "builtins", "code", "globals", "locals", "frame", "next", "yieldfrom")


def check_expression(text: str, longest: int) -> None:
    """Raise ValueError for an expression that does more than compute, or is too long."""
    if len(text) > longest:
        raise ValueError(
            f"the length of an expression is {len(text)}, more than the limit of {longest} "
            "characters; shorten it"
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (RecursionError, MemoryError):
        raise ValueError("an expression is nested too deeply") from None
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise ValueError(
                f"{type(node).__name__} is not allowed in an expression, because it could run "
                "any code; write it without"
            )
        name = getattr(node, "attr", getattr(node, "id", getattr(node, "arg", None)))
        if isinstance(name, str):
            _check_name(name)


def _check_name(name: str) -> None:
    frame = any(name == begin + end for begin in _FRAMES for end in _FRAME_NAMES)
    if "__" in name or frame or name in _BY_TEXT:
        raise ValueError(f"the name {name} is not allowed in an expression; choose another one")


def _kind(value: object) -> type:
    """Return the type of a value; stands for `type`, which could make new types."""
    if isinstance(value, type):
        raise ValueError("the type of a type is not allowed in an expression")
    return type(value)


def _open_regular(path: str) -> IO[str]:
    """Stands for `open`: what has no end or no writer is not opened."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ValueError(f"{path} is a device or a pipe, and is not opened")
    return open(path)


def _prepare(longest: int) -> Any:
    import xacro
    from xacro import substitution_args

    def checked_eval(
        text: str, globals: dict[str, Any], locals: Mapping[str, Any] | None = None
    ) -> Any:
        check_expression(text, longest)
        globals["__builtins__"] = {}
        return eval(compile(text.strip(), "<expression>", "eval"), globals, locals)

    for module in (xacro, substitution_args):
        module.eval = checked_eval
    xacro.open = _open_regular
    if hasattr(xacro, "safe_eval"):
        xacro.safe_eval = checked_eval
    python = getattr(xacro, "_global_symbols", {}).get("python", {})
    for table in (getattr(xacro, "_global_symbols", {}), python):
        table.pop("vars", None)
        if "type" in table:
            table["type"] = _kind
    return xacro


def _answer(error: BaseException) -> dict[str, str]:
    parts: list[str] = []
    link: BaseException | None = error
    for _ in range(100):
        if link is None:
            break
        if isinstance(link, MemoryError):
            return {"exceeded": "memory"}
        if isinstance(link, RecursionError):
            return {"fault": "it is nested too deeply, or includes itself"}
        text = " ".join(str(link).split())
        if text and len(parts) < 4 and text not in " ".join(parts):
            parts.append(text)
        link = link.__cause__ or link.__context__
    return {"fault": " ".join(parts)[:4000] or type(error).__name__}


def _limit(seconds: int, memory: int) -> None:
    """Limit this process, except on Windows; what it has opened already can still be used."""
    try:
        import resource
    except ModuleNotFoundError:
        return
    for kind, value in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def main(longest: int, seconds: int, memory: int) -> None:
    """Answer requests until there are no more."""
    sys.dont_write_bytecode = True
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "w") as null:  # xacro's own messages
        os.dup2(null.fileno(), 1)
    xacro = _prepare(longest)
    import yaml  # noqa: F401  # xacro's load_yaml imports it

    _limit(seconds, memory)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            document = xacro.process_file(request["path"], mappings=request["arguments"])
            answer = {"text": document.toprettyxml(indent=request["indent"])}
        except (Exception, SystemExit) as error:  # expressions can raise anything
            answer = _answer(error)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
