# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings run, and each class and function of the flat library interface has one."""

import doctest
import importlib
import inspect
from enum import Enum
from pathlib import Path

import pytest

import diffbot_ident

ROOT = Path(__file__).parents[2]
# Production packages: each lies in a folder of its own name.
PACKAGES = [p for p in (*ROOT.glob("*/*"), *ROOT.glob("tools/*/*")) if p.name == p.parent.name]
MODULES = sorted(
    ".".join(path.relative_to(package.parent).with_suffix("").parts)
    for package in PACKAGES
    for path in package.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0


def shown(thing):
    """Whether a public thing is to be used by calling it: no protocol and no enumeration."""
    protocol = getattr(thing, "_is_protocol", False)
    return (
        callable(thing)
        and not protocol
        and not (isinstance(thing, type) and issubclass(thing, Enum))
    )


def test_each_public_name_of_the_estimators_has_one():
    things = {name: getattr(diffbot_ident, name) for name in diffbot_ident.__all__}
    bare = [
        name for name, each in things.items() if shown(each) and ">>>" not in inspect.getdoc(each)
    ]
    assert len(things) > 15 and not bare, bare
