# SPDX-License-Identifier: Apache-2.0
"""The leaderboard of a run: a table, a Markdown file, a page, and where a peer is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffbot_bench.estimators import ENTRANTS, OWN
from diffbot_bench.scoring import CLAIM, COLUMNS, REFUSAL, Score, TaskAnswer, score
from diffbot_bench.tasks import BenchTask
from diffbot_description import write_atomically
from diffbot_description.command_kind import CommandKind
from diffbot_report.page import Page, Section, Table, Tone, write_page

MARKDOWN, HTML, SHORT = "leaderboard.md", "leaderboard.html", "costs.md"
TITLES = {
    CommandKind.EFFORT: "Torque robots: K5 to K8",
    CommandKind.VELOCITY: "Velocity robots: lag, gain and dead time",
}
NOTE = (
    "cost: mean interval score in shares of the true value (of lag plus dead time for these two), "
    f"at most 1; a refusal costs {REFUSAL:g}, and a value without an interval claims "
    f"{100 * CLAIM:g} % (its `holds` is in brackets). error: median. half width: of 95 % intervals."
)


@dataclass(frozen=True)
class Board:
    """Answers to tasks, by estimator and task; `words`: how the tasks were made."""

    tasks: Sequence[BenchTask]
    answers: Mapping[str, Mapping[str, TaskAnswer]]
    words: str

    def kinds(self) -> list[CommandKind]:
        return [kind for kind in CommandKind if self.of(kind)]

    def of(self, kind: CommandKind) -> list[BenchTask]:
        return [task for task in self.tasks if task.record.kind is kind]

    def scores(self, tasks: Sequence[BenchTask]) -> dict[str, Score]:
        """Return the scores by estimator, the least cost first; without those that had none."""
        names = {task.record.task for task in tasks}
        scores = {
            name: score(tasks, answers)
            for name, answers in self.answers.items()
            if names & answers.keys()
        }
        return dict(sorted(scores.items(), key=lambda item: item[1].cost))

    def table(self, kind: CommandKind) -> Table:
        rows = [
            (str(place), name, *each.cells(), ENTRANTS[name].text if name in ENTRANTS else "")
            for place, (name, each) in enumerate(self.scores(self.of(kind)).items(), start=1)
        ]
        return Table(("", "estimator", *COLUMNS, "what it is"), rows, TITLES[kind], NOTE)

    def by_row(self, kind: CommandKind) -> Table:
        """Return the cost of each estimator for each kind of data."""
        tasks = self.of(kind)
        names = [*self.scores(tasks)]
        rows = []
        for row in dict.fromkeys(task.row for task in tasks):
            scores = self.scores([task for task in tasks if task.row == row])
            costs = [f"{scores[name].cost:.3f}" if name in scores else "–" for name in names]
            rows.append((row, *costs))
        return Table(("data", *names), rows, f"{TITLES[kind]}, cost by kind of data")

    def better(self) -> list[str]:
        """Return where a peer has less cost, or a smaller median error, than the suite."""
        if OWN not in self.answers:
            return []
        said = []
        for row in dict.fromkeys(task.row for task in self.tasks):
            scores = self.scores([task for task in self.tasks if task.row == row])
            if OWN not in scores:
                continue
            own = scores[OWN]
            said += [
                f"{row}: {name} costs {each.cost:.3f}, {OWN} {own.cost:.3f} "
                f"(error {each.cells()[1]} % and {own.cells()[1]} %, refused {own.cells()[5]} % of "
                f"{OWN}'s values)"
                for name, each in scores.items()
                if each.cost < own.cost
            ]
        return said


def markdown(board: Board) -> str:
    """Return the leaderboard as Markdown."""
    lines = [board.words, ""]
    for kind in board.kinds():
        for table in (board.table(kind), board.by_row(kind)):
            lines += markdown_table(table)
    lines += ["### Where a peer is better", "", *(f"- {text}" for text in _better(board)), ""]
    return "\n".join(lines)


def markdown_table(table: Table) -> list[str]:
    """Return the lines of a table with its title and note."""
    return [f"### {table.title}", "", *_rows(table), "", *([table.note, ""] if table.note else [])]


def costs(board: Board) -> Table:
    """Return a short table: the cost of each estimator for each kind of robots."""
    kinds = board.kinds()
    scores = {kind: board.scores(board.of(kind)) for kind in kinds}
    names = dict.fromkeys(name for kind in kinds for name in scores[kind])
    rows = [
        (name, *(scores[k][name].cost_text if name in scores[k] else "–" for k in kinds),
         ENTRANTS[name].text if name in ENTRANTS else "")
        for name in names
    ]  # fmt: skip
    heads = (TITLES[kind].partition(":")[0].lower() for kind in kinds)
    return Table(("estimator", *heads, "what it is"), rows, "Costs")


def _better(board: Board) -> list[str]:
    return board.better() or ["nowhere in these tasks"]


def _rows(table: Table) -> list[str]:
    head = [*table.head]
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in table.rows),
    ]


def write_board(board: Board, folder: Path) -> list[Path]:
    """Write the Markdown file and the page; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    first, *others = board.kinds()
    leaders = ", ".join(
        f"{next(iter(board.scores(board.of(k))))} ({k.value})" for k in board.kinds()
    )
    page = Page(
        "Leaderboard",
        Tone.GOOD,
        f"Least cost: {leaders}.",
        board.words,
        board.table(first),
        notes=[f"A peer is better: {text}" for text in board.better()],
        sections=[
            Section("By kind of data", "", [board.by_row(kind) for kind in board.kinds()], True),
            *(Section(TITLES[kind], "", [board.table(kind)], True) for kind in others),
        ],
    )
    return [
        write_atomically(folder / MARKDOWN, markdown(board)),
        write_atomically(folder / SHORT, "\n".join((board.words, "", *_rows(costs(board)), ""))),
        write_page(page, folder / HTML),
    ]
