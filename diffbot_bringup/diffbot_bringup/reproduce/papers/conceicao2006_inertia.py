"""Tables 4 and 6 of Conceicao and others (2006): the inertia, as printed and corrected."""

from __future__ import annotations

from diffbot_bringup.reproduce.comparison import Row, cannot_be, improves, matches
from diffbot_bringup.reproduce.papers.conceicao2006_simulated import inertia_by_methods_1_2
from diffbot_bringup.reproduce.section import Report, Table
from diffbot_ident.omni import published
from diffbot_ident.omni.estimate import mean
from diffbot_ident.omni.hanging import HangingRig

_INERTIA = "kg m²"
_FALL = (
    "(21) takes the whole weight for the wire's pull; the mass falls with a = r_m dW/dt and pulls "
    "with m (g − a) only. As printed, J is too large by m r_m². Ours: corrected."
)


def table_4() -> Table:
    """J of each hanging experiment."""
    as_printed: list[Row] = []
    corrected: list[Row] = []
    for i, row in enumerate(published.TABLE_4):
        rig = HangingRig(row.load)
        name = f"J, experiment {i + 1}, {row.load:g} kg"
        again = rig.inertia_published(row.acceleration).value
        as_printed.append(
            matches(name, _INERTIA, row.inertia, again, relative=1e-3, why="(19)-(21); 0.1 %")
        )
        ours = rig.inertia(row.acceleration).value
        why = (
            f"{_FALL} {100 * (row.inertia / ours - 1):.1f} % too high."
            if i == 0
            else (f"As above; {100 * (row.inertia / ours - 1):.1f} % too high.")
        )
        corrected.append(cannot_be(f"{name}, with the fall", _INERTIA, row.inertia, ours, why))
    return Table(
        "Table 4: inertia by method 3",
        [*as_printed, *corrected],
        "From the printed masses, radius and accelerations.",
    )


def table_6(report: Report) -> Table:
    """J by methods 1 + 2 and by method 3."""
    pairs = [(HangingRig(row.load), row.acceleration) for row in published.TABLE_4]
    old = mean([rig.inertia_published(a).value for rig, a in pairs])
    new = mean([rig.inertia(a).value for rig, a in pairs])
    both = published.TABLE_6_METHODS_1_2
    report("coasting for J by methods 1 and 2")
    simulated = inertia_by_methods_1_2(both)
    spread = "± {:.3f} (95 %, between the experiments)"
    return Table(
        "Table 6: inertia",
        (
            matches(
                "J, methods 1 + 2, from simulated readings of a robot with it",
                _INERTIA,
                both,
                simulated.value,
                why="readings of Fig. 7(c) are not printed; ours: mean over 20 simulated "
                "experiments, in each four steady speeds and one coasting, with the friction of "
                "Table 2 and this J as truth; 1 % allowed",
                spread=f"± {simulated.half_width:.3f} (95 %)",
            ),
            matches(
                "J, method 3, mean",
                _INERTIA,
                published.TABLE_6_METHOD_3,
                old.value,
                relative=1e-3,
                why="mean of Table 4",
                spread=spread.format(old.half_width),
            ),
            matches(
                "mean of both",
                _INERTIA,
                published.TABLE_6_MEAN,
                0.5 * (both + old.value),
                relative=1e-3,
                why="as printed",
            ),
            cannot_be(
                "J, method 3, mean, with the fall",
                _INERTIA,
                published.TABLE_6_METHOD_3,
                new.value,
                _FALL,
                spread=spread.format(new.half_width),
            ),
            cannot_be(
                "mean of both, with the fall",
                _INERTIA,
                published.TABLE_6_MEAN,
                0.5 * (both + new.value),
                "follows from the row above",
            ),
            improves(
                "difference of methods 1 + 2 and 3",
                _INERTIA,
                round(published.TABLE_6_METHOD_3 - both, 6),
                abs(new.value - both),
                why="with the fall accounted for",
            ),
        ),
        "Methods 1 and 2 as printed; method 3 from the accelerations of Table 4.",
    )
