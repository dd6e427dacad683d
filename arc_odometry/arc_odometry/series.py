"""sin(x) / x and its derivative for any x, 0 included; the only copy in the suite.

Lages (2018), (37), is 0 / 0 where the robot drives straight. sin(x) / x itself is accurate down to
the smallest x, so its series is needed for x = 0 only and costs nothing in accuracy wherever the
switch is. The derivative, (x cos x - sin x) / x^2, is another matter: it loses 3 eps / x^2 of
its value to cancellation. Its series is therefore used up to 0.5, where both agree to 1e-15.
"""

from __future__ import annotations

import math

# Below this, the first term that the series of sinc leaves out, x^6 / 7!, is under 4e-18.
SINC_SWITCH = 5e-3
# Below this, the first term that the series of the derivative leaves out is 1e-17 of its value.
DERIVATIVE_SWITCH = 0.5
# sinc'(x) = x * sum_n c_n x^(2 n), c_n = (-1)^(n+1) (2 n + 2) / (2 n + 3)!, highest power first.
_DERIVATIVE = tuple((-1) ** (n + 1) * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(7))[
    ::-1
]


def sinc(x: float) -> float:
    """sin(x) / x, 1 at x = 0; x in rad. Relative error <= 3e-16."""
    if abs(x) < SINC_SWITCH:
        square = x * x
        return 1.0 - square / 6.0 * (1.0 - square / 20.0)
    return math.sin(x) / x


def sinc_derivative(x: float) -> float:
    """Derivative of sin(x) / x, 0 at x = 0, in 1/rad; x in rad.

    Its error is <= 2e-15 of min(|x|, 1), the size of the function's terms.
    """
    if abs(x) < DERIVATIVE_SWITCH:
        square, total = x * x, 0.0
        for coefficient in _DERIVATIVE:
            total = total * square + coefficient
        return x * total
    return (math.cos(x) - math.sin(x) / x) / x
