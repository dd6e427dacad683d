# SPDX-License-Identifier: Apache-2.0
"""A benchmark of estimators on robots that the suite's engines did not make; knows no ROS.

- independent_plant.py, velocity_plant.py: robots with imperfections, from their own equations.
- defects.py: kinds of data, by what is wrong with robots or recordings.
- tasks.py: records with the truth; the file format of records.
- suite_estimators.py, regressions.py, fits.py: estimators, the suite's own and its peers.
- estimators.py: estimators by name or from a file.
- scoring.py, leaderboard.py: scores, the table and the page.
- command.py: `diffbot bench`.
"""

from diffbot_bench.scoring import Interval, Score, TaskAnswer, score
from diffbot_bench.tasks import BenchTask, Record, make_tasks

__all__ = [
    "TaskAnswer",
    "Interval",
    "Record",
    "Score",
    "BenchTask",
    "make_tasks",
    "score",
]
