# SPDX-License-Identifier: Apache-2.0
"""Tables of laws that drove the same robots: `bench --control`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffbot_bench import velocity_plant
from diffbot_bench.control import torque_drives, velocity_drives
from diffbot_bench.control.driven import BESIDE, LOST, SETTLED, Driven
from diffbot_bench.leaderboard import markdown_table
from diffbot_description import write_atomically
from diffbot_description.command_kind import CommandKind
from diffbot_report.page import Page, Section, Table, Tone, write_page

MARKDOWN, HTML = "control.md", "control.html"
LAWS: Mapping[CommandKind, Mapping[str, str]] = {
    CommandKind.EFFORT: torque_drives.TORQUE_LAWS,
    CommandKind.VELOCITY: velocity_drives.VELOCITY_LAWS,
}
TITLES = {
    CommandKind.EFFORT: "Torque robots that drive, in MuJoCo",
    CommandKind.VELOCITY: "Velocity robots that drive, of the benchmark's own equations",
}
HEAD = ("law", "from path, mm", "from schedule, mm", "settled, s", "torque, %", "energy, J/(m kg)",
        "lost", "refused", "what it is")  # fmt: skip
NOTE = (
    "Median and largest over the robots. Distances are rms of the true position over the second "
    f"lap; a law without a schedule has none. settled: until the robot, which starts {BESIDE:g} m "
    f"beside its path, stays within {SETTLED:g} m of it. torque: rms, of its limit. energy: what "
    f"the motors give. lost: more than {LOST:g} m away, or not at the end in time."
)
UNSCHEDULED = ("rpp", "rpp_pid")


@dataclass(frozen=True)
class ControlBoard:
    """Drives by kind of robot and law, one for each robot, None: refused; `words`: how made."""

    drives: Mapping[CommandKind, Mapping[str, Sequence[Driven | None]]]
    words: str

    def table(self, kind: CommandKind) -> Table:
        """Return the table of a kind of robots, the least median distance first."""
        rows = sorted(
            (_row(name, drives, LAWS[kind][name]) for name, drives in self.drives[kind].items()),
            key=lambda row: float(row[1].split()[0].replace("–", "inf")),
        )
        return Table(HEAD, rows, TITLES[kind], NOTE)

    def tables(self) -> list[Table]:
        return [self.table(kind) for kind in self.drives]


def _row(name: str, drives: Sequence[Driven | None], text: str) -> tuple[str, ...]:
    there = [each for each in drives if each is not None]
    lost = sum(each.from_path >= LOST for each in there)
    schedule = [] if name in UNSCHEDULED else [1e3 * each.from_schedule for each in there]
    return (
        name,
        _spread([1e3 * each.from_path for each in there]),
        _spread(schedule),
        _spread([each.settled for each in there]),
        _spread([100.0 * each.torque for each in there]),
        _spread([each.energy for each in there]),
        str(lost),
        str(len(drives) - len(there)),
        text,
    )


def _spread(values: Sequence[float]) -> str:
    if not values or any(map(math.isnan, values)):
        return "–"
    median, most = float(np.median(values)), max(values)
    return " ... ".join("never" if math.isinf(each) else f"{each:.3g}" for each in (median, most))


def _driven(given: tuple[CommandKind, str, int]) -> Driven | None:
    kind, name, seed = given
    if kind is CommandKind.EFFORT:
        return torque_drives.drive(name, seed)
    return velocity_drives.drive(name, velocity_plant.draw(seed), seed)


def drive_all(robots: int, seeds: Sequence[int], workers: int, words: str) -> ControlBoard:
    """Drive every law on every robot of each seed, in as many processes."""
    numbers = [1000 * seed + k for seed in seeds for k in range(robots)]
    given = [(kind, name, number) for kind in LAWS for name in LAWS[kind] for number in numbers]
    if workers == 1:
        replies = [_driven(each) for each in given]
    else:
        with ProcessPoolExecutor(workers) as pool:
            replies = list(pool.map(_driven, given))
    drives: dict[CommandKind, dict[str, list[Driven | None]]] = {}
    for (kind, name, _), reply in zip(given, replies, strict=True):
        drives.setdefault(kind, {}).setdefault(name, []).append(reply)
    return ControlBoard(drives, words)


def write_control(board: ControlBoard, folder: Path) -> list[Path]:
    """Write the Markdown file and the page; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    first, *others = board.tables()
    text = [board.words, "", *(line for table in board.tables() for line in markdown_table(table))]
    page = Page(
        "Laws that drive",
        Tone.GOOD,
        "The same robots and paths for all laws.",
        board.words,
        first,
        sections=[Section(table.title, "", [table], True) for table in others],
    )
    return [
        write_atomically(folder / MARKDOWN, "\n".join(text)),
        write_page(page, folder / HTML),
    ]
