# SPDX-License-Identifier: Apache-2.0
"""``diffbot run``: run one node executable of a package."""

from __future__ import annotations

import os
import sys

from ament_index_python.packages import get_packages_with_prefixes

from diffbot_bringup import domains
from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.xml_launch.resolver import executables, find_executable

_USAGE = """\
usage: diffbot run PACKAGE EXECUTABLE [ARGUMENTS ...]

Replaces this process by the executable; all ARGUMENTS are passed to it unchanged, for example
  diffbot run diffbot_sim simulator --ros-args -p engine:=ideal
Without EXECUTABLE, lists those of PACKAGE; without both, lists the packages that have any.
Without ROS_DOMAIN_ID it joins the domain of the active `diffbot launch`."""

_WITH = "packages with executables"


def main(argv: list[str]) -> int:
    """Run the executable (does not return). Raises UsageError, which lists the right names."""
    if argv and argv[0] in ("-h", "--help"):
        print(_USAGE)
        return 0
    program = _find(argv)
    _check_parameters(argv[2:])
    _join()
    try:
        os.execv(program, [program, *argv[2:]])
    except OSError as error:
        raise UsageError(f"cannot run {program}: {error.strerror}") from error


def _join() -> None:
    """Join the active run; with several, keep the user's domain."""
    try:
        domains.join_launch("run")
    except domains.DomainError as error:
        print(f"diffbot run: in domain 0; {error}", file=sys.stderr, flush=True)


def _find(argv: list[str]) -> str:
    packages = _packages()
    if not argv:
        raise UsageError(f"PACKAGE is missing; {_WITH}: {', '.join(packages) or 'none'}")
    package = argv[0]
    check_one_of("package", package, packages, _WITH)
    if len(argv) < 2:
        raise UsageError(f"EXECUTABLE is missing; {package} has: {', '.join(executables(package))}")
    return find_executable(package, argv[1])


def _check_parameters(words: list[str]) -> None:
    """Refuse a parameter without a value: rcl would only report that it could not parse it."""
    for_ros = False
    for option, word in zip(words, words[1:], strict=False):
        for_ros = option == "--ros-args" or (for_ros and option != "--")
        name, separator, value = word.partition(":=")
        if for_ros and option in ("-p", "--param") and not (name and separator and value):
            raise UsageError(
                f"parameter {word!r} is not of the form NAME:=VALUE"
                f"{': it has no value' if name and separator else ''}; "
                f"""an empty text is written as {name or "NAME"}:="''" """.rstrip()
            )


def _packages() -> list[str]:
    try:
        names = sorted(get_packages_with_prefixes())
    except (LookupError, OSError) as error:
        raise UsageError(f"{error}; is the workspace sourced?") from None
    return [name for name in names if executables(name)]
