# SPDX-License-Identifier: Apache-2.0
"""Runner for XML launch files where ROS 2's own ``launch`` is not installed.

A file means the same here as it does to ``ros2 launch``. Unsupported elements are refused, with
file and line, before any process starts. Supported:

elements
    launch, arg (with choice), let, include (with arg), group (scoped), push_ros_namespace,
    node (with param, remap, env), executable (with env), set_env, unset_env, set_parameter,
    set_remap, log; ``if`` and ``unless`` on each of them except launch
substitutions
    ``$(var NAME [DEFAULT])``, ``$(env NAME [DEFAULT])``, ``$(eval 'EXPRESSION')``,
    ``$(command 'COMMAND' [fail|ignore|warn|capture])``, ``$(dirname)``,
    ``$(find-pkg-share PACKAGE)``, ``$(find-pkg-prefix PACKAGE)``, ``$(find-exec NAME)``

Known differences, each stricter than ``ros2 launch``: an argument that no file declares is an
error, and so is a value whose type differs from that of the argument's default; all mistakes are
found before the first process starts; a process that fails makes the exit status 1. Output "screen"
goes to the terminal unchanged, without the name of the process.
"""
