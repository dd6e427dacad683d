# SPDX-License-Identifier: Apache-2.0
"""The arguments of a launch: what its files declare, what is given, and whether that can be.

Standard library only: arguments are checked before there is an environment.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of, suggestion
from diffbot_bringup.xml_launch.document import Element, find, launch_files, read
from diffbot_bringup.xml_launch.substitutions import (
    Scope,
    Share,
    installed_share,
    perform,
    unescape,
)
from diffbot_bringup.xml_launch.substitutions import parse as parse_template
from diffbot_bringup.xml_launch.values import form_of


@dataclass(frozen=True)
class Argument:
    """One ``<arg>``. `default` is the text in the file; `conditional` means behind an if/unless."""

    name: str
    default: str | None
    description: str | None
    choices: tuple[str, ...]
    conditional: bool
    element: Element

    @property
    def needed(self) -> bool:
        """True when a launch cannot do without a value from outside."""
        return self.default is None and not self.conditional

    @classmethod
    def read(cls, element: Element, conditional: bool = False) -> Argument:
        """Read an ``<arg>`` element."""
        attributes = element.attributes
        description = attributes.get("description")
        return cls(
            name=unescape(attributes.get("name", "")),
            default=attributes.get("default"),
            description=None if description is None else unescape(description),
            choices=tuple(unescape(c.attributes.get("value", "")) for c in element.all("choice")),
            conditional=conditional or _has_condition(element),
            element=element,
        )

    def check_choice(self, value: str) -> None:
        """Raise UsageError when a value is not one of the choices."""
        if self.choices and value not in self.choices:
            raise UsageError(
                f"argument {self.name!r} is {value!r}, not one of {', '.join(self.choices)}"
                f"{suggestion(value, self.choices)}"
            )


def _has_condition(element: Element) -> bool:
    return "if" in element.attributes or "unless" in element.attributes


@dataclass(frozen=True)
class Arguments:
    """All that can be given to a launch.

    Attributes:
        declared: by its file and by those included, in their order; the first of a name counts.
        complete: whether all included files are known before the launch.
    """

    declared: list[Argument]
    complete: bool

    @classmethod
    def of(cls, root: Element, share: Share | None = None) -> Arguments:
        """Return those of a launch file, and with `share` those of the files that it includes.

        Raises:
            LaunchError: an included file is not well-formed.
        """
        arguments: dict[str, Argument] = {}
        complete = True

        def walk(parent: Element, conditional: bool, files: tuple[Path, ...]) -> None:
            nonlocal complete
            for element in parent.children:
                inner = conditional or _has_condition(element)
                if element.tag == "arg":
                    argument = Argument.read(element, conditional)
                    arguments.setdefault(argument.name, argument)
                elif element.tag == "group":
                    walk(element, inner, files)
                elif element.tag == "include" and share:
                    included = _included(element, share)
                    if included is None:
                        complete = False
                    elif included not in files:
                        walk(read(included).root, inner, (*files, included))

        walk(root, False, (root.file,))
        return cls(list(arguments.values()), complete)

    def check_names(self, given: Iterable[str], met: Iterable[str] = ()) -> None:
        """Refuse a name that is neither declared nor was `met` during the launch.

        Raises:
            UsageError: it names the one that was probably meant.
        """
        names = {argument.name for argument in self.declared} | set(met)
        for name in given:
            check_one_of("argument", name, sorted(names), "the arguments are")

    def check(self, given: Mapping[str, str], share: Share = installed_share) -> None:
        """Refuse a name that no file declares, and a value that cannot be.

        Raises:
            UsageError: the first one; it names the argument and says what it has to be.
        """
        if self.complete:
            self.check_names(given)
        defaults = self._defaults(share) if given else {}
        for argument in self.declared:
            if argument.name not in given:
                continue
            value, default = given[argument.name], defaults.get(argument.name)
            argument.check_choice(value)
            if default is None or value == default:
                continue
            form = form_of(argument.name, default, share, bool(argument.choices))
            if form is not None and (complaint := form(value)):
                about = f" ({argument.description})" if argument.description else ""
                raise UsageError(f"argument {argument.name!r} is {value!r}, {complaint}{about}")

    def _defaults(self, share: Share) -> dict[str, str]:
        """Values of the arguments when none is given, as far as they are known."""
        scope = Scope(os.environ, share)
        for argument in self.declared:
            if argument.default is not None:
                with contextlib.suppress(ValueError):
                    value = perform(parse_template(argument.default), scope)
                    scope.configurations[argument.name] = value
        return scope.configurations


def _included(element: Element, share: Share) -> Path | None:
    """Return the path of an include, or None when only the launch itself can tell."""
    folder = element.file.parent
    scope = Scope(os.environ, share)
    scope.announce(folder)
    try:
        with scope.file(folder):
            template = parse_template(element.attributes.get("file", ""))
            path = Path(perform(template, scope)).absolute()
    except ValueError:
        return None
    return path if path.is_file() and path.name.endswith(".xml") else None


def parse(words: Iterable[str]) -> dict[str, str]:
    """Read ``name:=value`` words; the last value of a name wins. Raises UsageError."""
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (name and separator and value):
            empty = ": it has no value" if name and separator else ""
            raise UsageError(f"argument {word!r} is not of the form NAME:=VALUE{empty}")
        given[name] = value
    return given


def describe(arguments: Sequence[Argument]) -> str:
    """Return the text of ``--show-args``, laid out like ``ros2 launch --show-args``."""
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        lines += ["", f"    '{argument.name}':{'*' if argument.conditional else ''}"]
        lines.append(f"        {_description(argument)}")
        if argument.default is not None:
            lines.append(f"        (default: '{argument.default}')")
    if not arguments:
        lines += ["", "  No arguments."]
    if any(argument.conditional for argument in arguments):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines)


def _description(argument: Argument) -> str:
    choices = list(argument.choices)
    if argument.description is None:
        return f"One of: {choices}" if choices else "no description given"
    if not choices:
        return argument.description
    return f"{argument.description.removesuffix('.')}. Valid choices are: {choices}"


# The command line of `diffbot launch`: what is to be launched, and whether that can be.
#
# Standard library only: ./diffbot refuses what is wrong before there is an environment.

_EPILOG = """\
NAME is a launch file of the suite (ident, ident.launch.xml) or a path; PACKAGE FILE works too.
A run with a simulator gets a DDS domain of its own, and the first line names it; one without, or
with ROS_DOMAIN_ID set, stays where it is.
exit status: 0 all processes ended well; 1 a process failed (it is named); 2 wrong arguments or
launch file, nothing was started; 130 stopped by Ctrl-C (143 SIGTERM, 129 SIGHUP)."""


@dataclass(frozen=True)
class Request:
    """A launch file with arguments that fit it.

    Attributes:
        root: content of the file.
        arguments: all that could be given.
        given: their values, by name.
        show_args: list the arguments instead.
        dry_run: print what would be run instead.
    """

    root: Element
    arguments: Arguments
    given: dict[str, str]
    show_args: bool
    dry_run: bool

    @property
    def path(self) -> Path:
        """The launch file."""
        return self.root.file


def understand(words: Sequence[str], share: Share = installed_share) -> Request | None:
    """Read a command line; None: nothing is named, and the launch files are to be listed.

    Raises:
        UsageError: the launch file, or the first argument that cannot be, in one sentence.
        SystemExit: after --help, and for a wrong option.
    """
    options = _parser().parse_intermixed_args(words)
    if options.name is None and not words:
        return None
    if options.name is None or ":=" in options.name:
        files = ", ".join(launch_files(share)) or "none"
        raise UsageError(f"NAME is missing; the launch files are: {files}")
    path, rest = find(options.name, options.arguments, share)
    root = read(path).root
    arguments = Arguments.of(root, share)
    given = parse(rest)
    arguments.check(given, share)
    return Request(root, arguments, given, options.show_args, options.dry_run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="diffbot launch",
        description="Run an XML launch file.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="launch file; omit to list them")
    parser.add_argument("arguments", nargs="*", metavar="ARG:=VALUE", help="launch arguments")
    parser.add_argument(
        "-s", "--show-args", action="store_true", help="list the arguments of the launch file"
    )
    parser.add_argument(
        "-p", "--print", "--dry-run", dest="dry_run", action="store_true",
        help="print what would be run, and run nothing",
    )  # fmt: skip
    return parser
