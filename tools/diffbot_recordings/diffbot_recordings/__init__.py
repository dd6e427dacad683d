# SPDX-License-Identifier: Apache-2.0
"""Recordings of robots: bags, tables and logs, and identification from them."""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_recordings.bag import Bag as Bag
    from diffbot_recordings.findings import Findings as Findings
    from diffbot_recordings.findings import Usable as Usable
    from diffbot_recordings.options import Options as Options
    from diffbot_recordings.recorded_arrays import identify_arrays as identify_arrays
    from diffbot_recordings.recorded_arrays import identify_frame as identify_frame
    from diffbot_recordings.recording_analysis import analyse_recording as analyse_recording
    from diffbot_recordings.recording_analysis import open_recording as open_recording
    from diffbot_recordings.samples import Recording as Recording
    from diffbot_recordings.samples import RecordingError as RecordingError
    from diffbot_recordings.sigma_batch_fit import VelocityRecording as VelocityRecording
    from diffbot_recordings.sigma_batch_fit import fit_sigma as fit_sigma
    from diffbot_recordings.torque_analysis import TorqueResult as TorqueResult
    from diffbot_recordings.torque_analysis import analyse_torque as analyse_torque

__getattr__, __all__ = lazy_names(__name__, __file__)
