# SPDX-License-Identifier: Apache-2.0
"""Runner for XML launch files where ROS 2's own ``launch`` is not installed.

A file means the same here as it does to ``ros2 launch``. All but this is refused, with file and
line, before any process starts:

elements
    launch, arg (with choice), let, include (with arg), group (scoped), push_ros_namespace,
    node (with param, remap), set_env, set_remap; ``if`` and ``unless`` on each except launch
substitutions
    ``$(var NAME [DEFAULT])``, ``$(env NAME [DEFAULT])``, ``$(eval 'EXPRESSION')``,
    ``$(command 'COMMAND' [fail|ignore|warn|capture])``, ``$(dirname)``,
    ``$(find-pkg-share PACKAGE)``

It is stricter: an undeclared argument, or a value whose type differs from that of the default, is
an error, and a process that fails makes the exit status 1.
"""
