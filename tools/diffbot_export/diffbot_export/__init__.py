# SPDX-License-Identifier: Apache-2.0
"""Export of identified parameters to files that other software reads."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_export.command import export as export
    from diffbot_export.results import Results as Results
    from diffbot_export.results import read_results as read_results
    from diffbot_export.sourced_value import SourcedValue as SourcedValue

__getattr__, __all__ = lazy_names(__name__, __file__)
