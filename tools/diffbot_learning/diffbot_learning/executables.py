# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

learn = Executable("diffbot_learning.learn_node", "LearnNode", {"OPENBLAS_NUM_THREADS": "1"})
