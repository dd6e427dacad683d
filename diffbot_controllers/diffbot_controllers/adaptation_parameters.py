"""Parameters of the nodes whose law may follow live estimates."""

from __future__ import annotations

from types import SimpleNamespace

from diffbot_controllers.adaptation_settings import AdaptationSettings
from diffbot_node import Parameter

DEFAULT = AdaptationSettings()
NOWHERE = "none"
AUTO, ALWAYS, NEVER = "auto", "always", "never"

ADAPTATION_PARAMETERS = (
    Parameter(
        "nominal_parameters",
        "robot",
        "K5..K8 that adaptation begins with and stays near: 'robot', or the path of a "
        "dynamic_parameters.yaml",
    ),
    Parameter(
        "last_good",
        NOWHERE,
        "file that adapted parameters are kept in, and that the next run begins with if it is of "
        "this robot and inside the band; none: they are not kept",
    ),
    Parameter(
        "require_verified",
        AUTO,
        "follow only estimates that a motion of its own has verified; auto: with parameters = "
        "topic, not with adaptive, which knows no such motion and starts from a trusted set. "
        "Those that a motion refuted are never followed",
        # YAML takes true, yes and on for something else than text.
        choices=(AUTO, ALWAYS, NEVER),
    ),
    Parameter(
        "precision",
        DEFAULT.precision,
        "largest half width of the 95 % intervals of K5..K8, as shares of them, that are followed",
        above=0.0,
    ),
    Parameter(
        "hysteresis",
        DEFAULT.hysteresis,
        "factor on precision beyond which a parameter that is followed no longer is",
        minimum=1.0,
        maximum=10.0,
    ),
    Parameter(
        "adaptation_rate",
        DEFAULT.rate,
        "fastest change of a parameter in use, as a share of the nominal one, 1/s",
        above=0.0,
        maximum=10.0,
    ),
    Parameter(
        "band",
        DEFAULT.band,
        "parameters in use stay within the nominal ones divided by and times this",
        minimum=1.001,
        maximum=100.0,
    ),
    Parameter(
        "offset_margin",
        DEFAULT.offset_margin,
        "how far the centre of mass may move beyond that, m; widens the band of K5 and K6",
        minimum=0.0,
        maximum=1.0,
    ),
    Parameter(
        "significance",
        DEFAULT.significance,
        "standard deviations from its estimate beyond which a parameter in use follows it",
        minimum=DEFAULT.arrival,
        maximum=10.0,
    ),
    Parameter(
        "coverage",
        DEFAULT.coverage,
        "least share of the excitation that a parameter needs before it is followed; 0: none",
        minimum=0.0,
        maximum=1.0,
    ),
)


def adaptation_settings(values: SimpleNamespace, adaptive: bool) -> AdaptationSettings:
    """Settings of the gates from ADAPTATION_PARAMETERS' values.

    Args:
        values: by name of the parameter.
        adaptive: whether the robot is driven from the start, with a set that is trusted.

    Raises:
        ValueError: a value is outside its range.
    """
    return AdaptationSettings(
        precision=values.precision,
        hysteresis=values.hysteresis,
        rate=values.adaptation_rate,
        band=values.band,
        offset_margin=values.offset_margin,
        significance=values.significance,
        coverage=values.coverage,
        require_verified={ALWAYS: True, NEVER: False, AUTO: not adaptive}[values.require_verified],
    )
