# SPDX-License-Identifier: Apache-2.0
"""Runner for XML launch files where ROS 2's own ``launch`` is not installed.

A file means the same here as it does to ``ros2 launch``. Supported is what the suite's launch files
use, and what a file around them for several robots needs. All else is refused, with file and line,
before any process starts; such a file runs with ``ros2 launch``. Supported:

elements
    launch, arg (with choice), let, include (with arg), group (scoped), push_ros_namespace,
    node (with param, remap), set_env, set_remap; ``if`` and ``unless`` on each of them except
    launch
substitutions
    ``$(var NAME [DEFAULT])``, ``$(env NAME [DEFAULT])``, ``$(eval 'EXPRESSION')``,
    ``$(command 'COMMAND' [fail|ignore|warn|capture])``, ``$(dirname)``,
    ``$(find-pkg-share PACKAGE)``

Known differences, each stricter than ``ros2 launch``: an argument that no file declares is an
error, and so is a value whose type differs from that of the argument's default; all mistakes are
found before the first process starts; a process that fails makes the exit status 1. Output "screen"
goes to the terminal unchanged, without the name of the process.
"""
