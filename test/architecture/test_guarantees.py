# SPDX-License-Identifier: Apache-2.0
"""docs/guarantees.md: each promise has a number, and names tests and benchmarks that exist."""

import re
from itertools import groupby
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PROMISE = re.compile(r"^\| ([SRF])(\d+) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.M)
LINK = re.compile(r"\[`([\w.]+)`\]\(([\w./]+)\)")
ROWS = PROMISE.findall((DOCS / "guarantees.md").read_text(encoding="utf-8"))


def plain(text: str) -> str:
    """The words of a sentence, without remarks in brackets."""
    return " ".join(re.sub(r"\([^()]*\)", "", text).replace(" ,", ",").split()).replace(" ,", ",")


def proofs(cell: str) -> list[tuple[str, Path]]:
    return [(name, (DOCS / place).resolve()) for name, place in LINK.findall(cell)]


def test_promises_are_numbered_without_gaps():
    numbers = {
        letter: [int(row[1]) for row in rows] for letter, rows in groupby(ROWS, lambda row: row[0])
    }
    assert {*numbers} == {"S", "R", "F"} and len(ROWS) >= 16
    assert all(each == [*range(1, len(each) + 1)] for each in numbers.values())


def test_every_promise_names_tests_that_exist():
    absent = []
    for letter, number, _, tests, *_ in ROWS:
        named = proofs(tests)
        assert named, f"{letter}{number} names no test"
        absent += [
            f"{letter}{number}: {name}"
            for name, file in named
            if not file.is_file() or f"\ndef {name}(" not in file.read_text(encoding="utf-8")
        ]
    assert absent == []


def test_every_promise_names_benchmarks_that_exist_or_none():
    for letter, number, _, _, benchmarks, _ in ROWS:
        named = proofs(benchmarks)
        assert named or benchmarks == "none", f"{letter}{number}"
        assert all(file.is_file() and file.name == name for name, file in named)
        assert all(file.parent.name == "benchmarks" for _, file in named)


def test_the_guarantees_of_safety_are_all_there_in_its_words():
    text = (DOCS / "safety.md").read_text(encoding="utf-8")
    section = text.split("## The guarantees")[1].split("\n## ")[0]
    guarantees = re.findall(r"^\d+\. (.+?\.)(?=\n\d+\. |\n\n|\s*\()", section, re.M | re.S)
    assert len(guarantees) == len(re.findall(r"^\d+\. ", section, re.M)) >= 5
    promises = [promise for letter, _, promise, *_ in ROWS if letter == "S"]
    assert [plain(each) for each in guarantees] == [plain(each) for each in promises]
