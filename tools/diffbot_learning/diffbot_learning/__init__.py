# SPDX-License-Identifier: Apache-2.0
"""Learning while a robot works: parameters and their changes, from stretches of its driving.

Every stretch (a minute of the robot's topics) is identified like any recording; what it tells is
combined with the stretches before:

    from diffbot_learning import LearnedRobot, read_stretch

    learning = LearnedRobot("my_robot.yaml")
    change = learning.add(read_stretch(Path("monday.mcap"), "my_robot.yaml"))
    for value in learning.values():
        print(value.name, value.value, value.half_width)
"""

from typing import TYPE_CHECKING

from diffbot_description.lazy_names import lazy_names

if TYPE_CHECKING:
    from diffbot_learning.changes import RobotChange as RobotChange
    from diffbot_learning.driven_sizes import StretchValue as StretchValue
    from diffbot_learning.learned_robot import LearnedRobot as LearnedRobot
    from diffbot_learning.learned_values import LearnedValue as LearnedValue
    from diffbot_learning.learned_values import combine as combine
    from diffbot_learning.motions import MotionKind as MotionKind
    from diffbot_learning.stretch import Stretch as Stretch
    from diffbot_learning.stretch import read_stretch as read_stretch

__getattr__, __all__ = lazy_names(__name__, __file__)
