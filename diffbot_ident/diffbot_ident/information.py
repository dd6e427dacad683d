"""How much is known about parameters, and how much an experiment adds, in bits.

Information is the inverse of a covariance. With the information matrices before and after an
experiment, J0 and J1, a Gaussian estimate of n parameters gains

    joint bits        (1/2) log2(det J1 / det J0)               (D-optimality)
    sum of bits       sum_i (1/2) log2(var0_i / var1_i)

One bit halves the standard deviation of one parameter. Both grow with every measurement. The sum
counts each parameter by its own variance; the joint bits also count that errors of two parameters
that go together cancel. Sujan and Dubowsky (2002) choose motions by the mutual information between
measurement and parameter, but their (16) takes r^2 = 1 - rho + rho^2 for its correlation, which is
smallest at rho = 1/2 and so prefers measurements that say little. Both measures here replace it.

Every function takes matrices of shape (..., n, n) and works on all leading axes at once. Scale the
parameters to similar sizes, for example by their prior deviations, where units differ much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrices = NDArray[np.float64]


def marginal_information(information: Matrices, of: Sequence[int]) -> Matrices:
    """Information about some parameters while all others are unknown, too (Schur complement).

    Args:
        information: of all n parameters, shape (..., n, n).
        of: indices of the m parameters of interest; the rest are a nuisance.

    Returns:
        Shape (..., m, m), the inverse of these parameters' block of the covariance.

    Raises:
        ValueError: an index is not 0 to n - 1, or given twice.
    """
    size = information.shape[-1]
    wanted = list(of)
    if len(set(wanted)) != len(wanted) or not all(0 <= i < size for i in wanted):
        raise ValueError(f"of = {wanted}: must be different indices from 0 to {size - 1}")
    rest = [i for i in range(size) if i not in wanted]
    own = information[..., wanted, :][..., wanted]
    if not rest:
        return own
    mixed = information[..., rest, :][..., wanted]
    others = information[..., rest, :][..., rest]
    return own - np.swapaxes(mixed, -1, -2) @ np.linalg.solve(others, mixed)


def log2_determinant(information: Matrices) -> NDArray[np.float64]:
    """log2 det of symmetric positive definite matrices, shape (...)."""
    _, natural = np.linalg.slogdet(information)
    return natural / np.log(2.0)


def joint_bits(
    before: Matrices, after: Matrices, of: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Bits gained about parameters together, shape (...); D-optimality.

    Args:
        before: information before, shape (..., n, n), positive definite.
        after: information afterwards, the same shape.
        of: indices of the parameters that count, the others being a nuisance; None for all.
    """
    if of is None:
        return 0.5 * (log2_determinant(after) - log2_determinant(before))
    # det of a Schur complement = det of the whole / det of the rest.
    rest = [i for i in range(before.shape[-1]) if i not in set(of)]
    gained = joint_bits(before, after)
    if rest:
        gained = gained - joint_bits(
            before[..., rest, :][..., rest], after[..., rest, :][..., rest]
        )
    return gained


def bits_each(before: Matrices, after: Matrices) -> NDArray[np.float64]:
    """Bits gained about every single parameter, all others unknown, shape (..., n)."""
    variances = [
        np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)
        for information in (before, after)
    ]
    return 0.5 * np.log2(variances[0] / variances[1])


def sum_of_bits(
    before: Matrices, after: Matrices, of: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Sum of `bits_each` over the parameters `of` (None: all), shape (...)."""
    each = bits_each(before, after)
    return each.sum(axis=-1) if of is None else each[..., list(of)].sum(axis=-1)
