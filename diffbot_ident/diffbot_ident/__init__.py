# SPDX-License-Identifier: Apache-2.0
"""Identification of the dynamic parameters K5..K8 of differential-drive robots."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_ident.estimate import Advice as Advice
    from diffbot_ident.estimate import Estimate as Estimate
    from diffbot_ident.estimate import EstimateState as EstimateState
    from diffbot_ident.estimate import Estimator as Estimator
    from diffbot_ident.estimate import FrictionEstimate as FrictionEstimate
    from diffbot_ident.estimators import LiveEstimator as LiveEstimator
    from diffbot_ident.estimators import make_estimator as make_estimator
    from diffbot_ident.estimators import make_live_estimator as make_live_estimator
    from diffbot_ident.excitation.excitations import Excitation as Excitation
    from diffbot_ident.excitation.excitations import make_excitation as make_excitation
    from diffbot_ident.identification_run import Identification as Identification
    from diffbot_ident.interpretation.physical import PhysicalQuantity as PhysicalQuantity
    from diffbot_ident.interpretation.physical import physical_quantities as physical_quantities
    from diffbot_ident.precision import Precision as Precision
    from diffbot_ident.rls import RecursiveLeastSquares as RecursiveLeastSquares
    from diffbot_ident.rls import RlsEstimator as RlsEstimator
    from diffbot_ident.torque.integral_estimator import IntegralEstimator as IntegralEstimator
    from diffbot_ident.velocity.sigma_fit import RecursiveFit as RecursiveFit
    from diffbot_ident.verification import Verification as Verification

__getattr__, __all__ = lazy_names(__name__, __file__)
