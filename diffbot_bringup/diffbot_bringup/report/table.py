"""The table of K5..K8 and the friction that a run shows while it goes on and at its end."""

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
NOT_IDENTIFIABLE = "not identifiable"
FRICTION = {
    "c_l": "viscous friction, left wheel",
    "c_r": "viscous friction, right wheel",
    "f_l": "Coulomb friction, left wheel",
    "f_r": "Coulomb friction, right wheel",
}


def parameter_table(
    parameters: Sequence[Quantity],
    meanings: Mapping[str, str],
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 120,
    friction: Sequence[Quantity] = (),
) -> RenderableType:
    """Parameter, unit, value, 95 % interval, physical meaning; the error where truth is known.

    Args:
        parameters: K5..K8.
        meanings: phrase for each symbol.
        title: line above the table.
        notes: lines below the table.
        width: columns of the terminal; where they are few, the meanings go below the table.
        friction: further rows.
    """
    known = any(quantity.closed_form is not None for quantity in parameters)
    table = Table(
        title=title or None,
        box=SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        collapse_padding=True,
    )
    beside = width >= (WIDE if known else NARROW)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("± 95 %", justify="right", no_wrap=True)
    if known:
        table.add_column("closed form", justify="right", no_wrap=True)
        table.add_column("error %", justify="right", no_wrap=True)
        table.add_column("error σ", justify="right", no_wrap=True)
    if beside:
        table.add_column("physical meaning", no_wrap=True)
    meanings = {**meanings, **{quantity.symbol: FRICTION[quantity.symbol] for quantity in friction}}
    for quantity in (*parameters, *friction):
        meaning = NOT_IDENTIFIABLE if _is_open(quantity) else meanings.get(quantity.symbol, "")
        last = quantity is parameters[-1]
        cells = _cells(quantity, known)
        table.add_row(*cells, *([meaning] if beside else []), end_section=last)
    lines = [] if beside else [f"{symbol}: {meaning}" for symbol, meaning in meanings.items()]
    lines += notes
    return Group(table, Text("\n".join(lines))) if lines else table


def state_notes(parameters: Sequence[Quantity]) -> list[str]:
    """Lines that say which parameters may not be used, and why; equal reasons share one."""
    found: dict[str, list[str]] = {}
    for quantity in parameters:
        if quantity.reason and quantity.state != ESTIMATED:
            word = "invalid" if quantity.state == INVALID else NOT_IDENTIFIABLE
            found.setdefault(f"{word}: {quantity.reason}", []).append(quantity.symbol)
    return [f"{', '.join(symbols)} {text}" for text, symbols in found.items()]


def _is_open(quantity: Quantity) -> bool:
    """Whether there is a number that the data do not fix."""
    return quantity.value is not None and quantity.std is None


def _cells(quantity: Quantity, known: bool) -> list[Text | str]:
    value, spread = with_uncertainty(quantity.value, quantity.half_width)
    style = {ESTIMATED: "cyan", INVALID: "red"}.get(quantity.state, "dim")
    style = "dim" if _is_open(quantity) else style
    cells: list[Text | str] = [quantity.symbol, quantity.unit, Text(value, style), spread]
    if known:
        true = quantity.closed_form
        cells.append(_closed_form(true, quantity.half_width))
        cells.append(_signed(quantity.error_percent if quantity.std is not None else None, 2))
        cells.append(_signed(quantity.error_sigma, 1))
    return cells


def _closed_form(true: float | None, half_width: float | None) -> str:
    """The true value with the decimals of the estimate beside it."""
    if true is None:
        return MISSING
    return significant(true, 4) if half_width is None else with_uncertainty(true, half_width)[0]


def _signed(value: float | None, decimals: int) -> str:
    return MISSING if value is None else f"{value:+.{decimals}f}"
