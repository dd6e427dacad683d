# SPDX-License-Identifier: Apache-2.0
"""`diffbot check`: what is there of a robot, what each task needs, and what to type.

- observation.py: what was seen; graph_watch.py sees a running graph, recorded_observation.py a
  recording.
- *_rules.py: findings from what was seen, each about one subject; judging.py: what can be done.
- check_screen.py: one screen of it; command.py: the command.

- parameter_graph.py asks running nodes for parameters and sets them; apply_command.py: the command
  `diffbot apply`.
"""
