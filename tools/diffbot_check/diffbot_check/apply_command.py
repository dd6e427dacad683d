# SPDX-License-Identifier: Apache-2.0
"""``diffbot apply``: give the values of a parameter file to running nodes, with a way back."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from diffbot_check.observation import TopicNames
from diffbot_check.standstill import is_long_enough, standstill
from diffbot_description.command_parser import CommandParser
from diffbot_description.files import closest, write_atomically
from diffbot_description.named_paths import expanded
from diffbot_description.spoken_commands import spoken
from diffbot_description.terminal_text import complain, printable
from diffbot_export.parameter_changes import (
    ANY_NODE,
    ChangeKind,
    ParameterChange,
    ParameterFile,
    RunningParameter,
    backup,
    changes,
    holds_when,
    read_parameters,
    scalar_text,
)
from diffbot_export.sourced_value import Value
from diffbot_node.verdicts import Verdict

if TYPE_CHECKING:
    from diffbot_check.parameter_graph import ParameterGraph

APPLIED, LEFT, USAGE, INTERRUPTED = 0, 1, 2, 128 + signal.SIGINT
AGREED, SEPARATOR = "yes", ":="
# Longest wait for readings that show whether the robot stands, s.
PATIENCE = 10.0

_EPILOG = """\
FILE is what `export --to ros2_control` or `launch learn` writes, or a file from before a change.
Nothing is set before you agree, nor while the robot moves. A change of a length by more than 20 %,
or of another value by more than a factor of 2, is asked for by its name.
exit status: 0 all values are set, or were before, 1 some are not, 2 wrong arguments, 130 Ctrl-C"""


def _parser(program: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        program, "Give the values of a parameter file to running nodes, with a way back.", _EPILOG
    )
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="ROS parameter file, e.g. ros2_control.yaml")
    add(
        "--node",
        metavar=f"[SECTION{SEPARATOR}]NAME",
        action="append",
        default=[],
        help="only to this node, which the file may call SECTION",
    )
    add("--yes", action="store_true", help="do not ask; set nothing if a value is refused or large")
    add("--back", action="store_true", help="FILE is from before a change: go back, however far")
    defaults = TopicNames()
    add("--joint-states", metavar="TOPIC", help=f"default: {defaults.joint_states.lstrip('/')}")
    add("--odom", metavar="TOPIC", help=f"default: {defaults.odom.lstrip('/')}")
    return parser


@dataclass(frozen=True)
class NodeChanges:
    """What a file changes of one running node."""

    node: str
    running: Mapping[str, RunningParameter]
    changes: Sequence[ParameterChange]

    @property
    def wanted(self) -> list[ParameterChange]:
        """Those that are to be set."""
        return [each for each in self.changes if each.is_wanted]

    @property
    def is_refused(self) -> bool:
        """Whether a value is refused, or the node knows none of them."""
        kinds = {each.kind for each in self.changes}
        return ChangeKind.REFUSED in kinds or kinds == {ChangeKind.ABSENT}


class RefusedError(Exception):
    """A node has refused, or has other values than it was given."""


def main(argv: Sequence[str], program: str, join: Callable[[], None] = lambda: None) -> int:
    """Apply; return the exit status. `join` chooses the domain; it may refuse with a ValueError."""
    options = _parser(program).parse_args(argv)
    try:
        path = expanded(options.file)
        file = read_parameters(path)
        if options.back and not file.is_backup:
            raise ValueError(f"{path}: --back needs a file that this command wrote before a change")
        join()
        return _apply(options, path, file)
    except KeyboardInterrupt:
        return INTERRUPTED
    except RefusedError as error:
        complain(program, str(error))
        return LEFT
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE


def _apply(options: argparse.Namespace, path: Path, file: ParameterFile) -> int:
    from diffbot_check.parameter_graph import ParameterGraph  # needs ROS

    console = Console(highlight=False, markup=False, soft_wrap=True)
    with ParameterGraph() as graph:
        plan = _plan(graph, file, options.node)
        _show(console, plan, file)
        wanted = [each for of_node in plan for each in of_node.wanted]
        refused = any(of_node.is_refused for of_node in plan)
        if not wanted:
            console.print("Nothing is to be set.")
            return LEFT if refused else APPLIED
        if not _agreed(console, options, wanted, refused):
            console.print("Nothing was set.")
            return LEFT
        if verdict := _watched(options):
            console.print(f"Nothing was set: {verdict.reason}.")
            return LEFT
        _set(console, graph, plan, path)
    return LEFT if refused else APPLIED


# Which node.


def _plan(graph: ParameterGraph, file: ParameterFile, chosen: Sequence[str]) -> list[NodeChanges]:
    """Return what changes, by node. Raises ValueError if a section has no node or several."""
    targets = _targets(file.sections, chosen)
    of_section = {
        section: [each for each in file.proposed if each.section == section] for section in targets
    }

    def fitting(section: str, nodes: Sequence[str]) -> list[str]:
        name = targets[section]
        if name == ANY_NODE:
            names = {each.name for each in of_section[section]}
            return [each for each in nodes if names <= graph.read(each).keys()]
        end = f"/{name.strip('/')}"
        return [e for e in nodes if e == name or e.endswith(end) and name[0] != "/"]

    nodes = graph.nodes(lambda nodes: all(fitting(section, nodes) for section in targets))
    if not nodes:
        raise ValueError("no node whose parameters can be set is there: is the robot started?")
    plan = []
    for section, values in of_section.items():
        matches = fitting(section, nodes)
        if len(matches) != 1:
            raise ValueError(_no_single(section, targets[section], matches, nodes))
        running = graph.read(matches[0])
        plan.append(NodeChanges(matches[0], running, changes(values, running)))
    return plan


def _targets(sections: Sequence[str], chosen: Sequence[str]) -> dict[str, str]:
    """Return the name of the node for each section that is to be applied."""
    targets = {}
    for each in chosen:
        section, separator, name = each.rpartition(SEPARATOR)
        if not separator:
            same = [s for s in sections if s.strip("/").endswith(name.strip("/"))]
            section = sections[0] if len(sections) == 1 else same[0] if same else ""
        if section not in sections or not name:
            raise ValueError(
                f"--node {each}: the file has {', '.join(sections)}; give SECTION{SEPARATOR}NAME"
            )
        targets[section] = name
    return targets or {section: section for section in sections}


def _no_single(section: str, name: str, matches: Sequence[str], nodes: Sequence[str]) -> str:
    if matches:
        return f"{section}: several nodes fit: {', '.join(matches)}; choose with --node"
    near = closest(name, nodes, 0.4)
    hint = f"did you mean --node {section}{SEPARATOR}{near}? " if near else ""
    return f"{section}: no such node is running; {hint}There are {', '.join(nodes)}"


# What the person sees and says.


def _show(console: Console, plan: Sequence[NodeChanges], file: ParameterFile) -> None:
    def say(text: str, style: str | None = None) -> None:
        console.print(printable(text), style=style)

    for of_node in plan:
        say(of_node.node, "bold")
        equal = [each for each in of_node.changes if each.kind is ChangeKind.EQUAL]
        for each in of_node.changes:
            if each in equal:
                continue
            text = f"  {each.name}: {scalar_text(each.old)} -> {scalar_text(each.new)}"
            if each.kind is ChangeKind.SET:
                say(text, "green")
            else:
                say(f"{text}   {each.kind.value}: {each.reason}", "yellow")
            if each.proposed.source:
                say(f"      {each.proposed.source}", "dim")
        if equal:
            say(f"  equal already: {', '.join(each.name for each in equal)}", "dim")
    for assumed in file.assumed:
        say(f"not set, as it is assumed: {assumed}", "dim")


def _agreed(
    console: Console, options: argparse.Namespace, wanted: Sequence[ParameterChange], refused: bool
) -> bool:
    large = [] if options.back else [each for each in wanted if each.kind is ChangeKind.LARGE]
    if options.yes:
        if large or refused:
            console.print("A value is refused or a change is large: without --yes you can decide.")
        return not large and not refused
    others = ", without those that are refused" if refused else ""
    if _answer(console, f"Set {len(wanted)} values{others}? Type {AGREED}: ") != AGREED:
        return False
    return all(
        _answer(
            console,
            f"{each.name}: {scalar_text(each.old)} -> {scalar_text(each.new)} is {each.reason}. "
            "Type its name to set it: ",
        )
        == each.name
        for each in large
    )


def _answer(console: Console, question: str) -> str:
    console.print(printable(question), end="")
    return sys.stdin.readline().strip()


def _watched(options: argparse.Namespace) -> Verdict:
    """Return whether the robot was seen to stand."""
    from diffbot_check.graph_watch import GraphWatch  # needs ROS

    topics = TopicNames.of("", joint_states=options.joint_states, odom=options.odom)
    with GraphWatch(topics) as watch:
        seen = watch.watch(PATIENCE, lambda _: None, lambda seen: is_long_enough(seen, topics))
    return standstill(seen, topics)


# Setting, and the way back.


def _set(console: Console, graph: ParameterGraph, plan: Sequence[NodeChanges], path: Path) -> None:
    """Keep the old values, set the new ones, and compare.

    Raises:
        RefusedError: What was set before is set back.
        ValueError: A value has changed since it was shown.
    """
    plan = [of_node for of_node in plan if of_node.wanted]
    for of_node in plan:
        shown = [each.old for each in of_node.wanted]
        _check(graph, of_node, shown, "it has changed meanwhile; begin again")
    before = _kept(plan, path)
    done: list[NodeChanges] = []
    try:
        for of_node in plan:
            done.append(of_node)
            graph.set(of_node.node, {each.name: each.new for each in of_node.wanted})
            given = [each.new for each in of_node.wanted]
            _check(graph, of_node, given, "but the node has accepted it")
    except (ValueError, KeyboardInterrupt) as error:
        said = _set_back(graph, done)
        raise RefusedError(f"{str(error) or 'interrupted'}; {said}; old values: {before}") from None
    for of_node in plan:
        count = len(of_node.wanted)
        console.print(f"{of_node.node}: {count} set, and read back.")
        if note := holds_when(of_node.node, [e.name for e in of_node.wanted], of_node.running):
            console.print(note)
    back = spoken("apply", "--back", str(before))
    console.print(f"The way back: {printable(back)}")
    console.print(
        "A node that is started again has the values of its own parameter file (controller YAML): "
        "to keep the new ones, write them there."
    )


def _kept(plan: Sequence[NodeChanges], path: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    before = path.with_name(f"{path.stem}_before_{stamp}-{time.time_ns() % 10**6:06d}.yaml")
    advice = [
        f"Back: {spoken('apply', '--back', before.name)}",
        "A node that is started again has the values of its own parameter file.",
    ]
    return write_atomically(
        before, backup({of_node.node: of_node.wanted for of_node in plan}, advice)
    )


def _check(
    graph: ParameterGraph, of_node: NodeChanges, expected: Sequence[Value | None], why: str
) -> None:
    """Raise ValueError if the node has other values of what is wanted than expected."""
    now = graph.values(of_node.node, [each.name for each in of_node.wanted])
    for (name, value), other in zip(now.items(), expected, strict=True):
        there, due = scalar_text(value), scalar_text(other)
        if there != due:
            raise ValueError(f"{of_node.node}: {name} is {there} and not {due}: {why}")


def _set_back(graph: ParameterGraph, done: Sequence[NodeChanges]) -> str:
    failed = []
    for of_node in done:
        old: dict[str, Value] = {e.name: e.old for e in of_node.wanted if e.old is not None}
        try:
            graph.set(of_node.node, old)
        except ValueError as error:
            failed.append(str(error))
    return f"not set back: {'; '.join(failed)}" if failed else "all nodes have their old values"
