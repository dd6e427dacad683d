"""The table of K5..K8 that a run shows while it goes on and at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from diffbot_bringup.report.formatting import MISSING, significant, with_uncertainty
from diffbot_bringup.report.quantity import Quantity
from diffbot_bringup.report.samples import ESTIMATED, INVALID

# Columns that the table needs for the meanings, with errors and without.
WIDE, NARROW = 106, 78


def parameter_table(
    parameters: Sequence[Quantity],
    meanings: Mapping[str, str],
    title: str = "",
    caption: str = "",
    width: int = 120,
) -> RenderableType:
    """Parameter, unit, value, ± 2 sigma, physical meaning; with the error where truth is known.

    Args:
        parameters: K5..K8.
        meanings: phrase for each symbol.
        title: line above the table.
        caption: line below the table.
        width: columns of the terminal; where they are few, the meanings go below the table.
    """
    known = any(quantity.closed_form is not None for quantity in parameters)
    table = Table(
        title=title or None,
        caption=caption or None,
        box=SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        pad_edge=False,
        collapse_padding=True,
    )
    beside = width >= (WIDE if known else NARROW)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("± 2σ", justify="right", no_wrap=True)
    if known:
        table.add_column("closed form", justify="right", no_wrap=True)
        table.add_column("error %", justify="right", no_wrap=True)
        table.add_column("error σ", justify="right", no_wrap=True)
    if beside:
        table.add_column("physical meaning", no_wrap=True)
    for quantity in parameters:
        cells = _cells(quantity, known)
        table.add_row(*cells, *([meanings.get(quantity.symbol, "")] if beside else []))
    if beside:
        return table
    lines = "\n".join(f"{symbol}: {meaning}" for symbol, meaning in meanings.items())
    return Group(table, Text(lines))


def _cells(quantity: Quantity, known: bool) -> list[Text | str]:
    value, spread = with_uncertainty(quantity.value, quantity.std)
    style = {ESTIMATED: "cyan", INVALID: "red"}.get(quantity.state, "dim")
    cells: list[Text | str] = [quantity.symbol, quantity.unit, Text(value, style), spread]
    if known:
        true = quantity.closed_form
        cells.append(_closed_form(true, quantity.std))
        cells.append(_signed(quantity.error_percent if quantity.std is not None else None, 2))
        cells.append(_signed(quantity.error_sigma, 1))
    return cells


def _closed_form(true: float | None, std: float | None) -> str:
    """The true value with the decimals of the estimate beside it."""
    if true is None:
        return MISSING
    return significant(true, 4) if std is None else with_uncertainty(true, std)[0]


def _signed(value: float | None, decimals: int) -> str:
    return MISSING if value is None else f"{value:+.{decimals}f}"
