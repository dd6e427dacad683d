# SPDX-License-Identifier: Apache-2.0
"""Runs XML launch files where ROS 2's own ``launch`` is not installed.

The files mean here what they mean to ``ros2 launch``; what is not supported is refused by file
and line before anything starts. Supported:

elements
    launch, arg (with choice), let, include (with arg), group (scoped), push_ros_namespace,
    node (with param, remap, env), executable (with env), set_env, unset_env, set_parameter,
    set_remap, log; ``if`` and ``unless`` on each of them except launch
substitutions
    ``$(var NAME [DEFAULT])``, ``$(env NAME [DEFAULT])``, ``$(eval 'EXPRESSION')``,
    ``$(command 'COMMAND' [fail|ignore|warn|capture])``, ``$(dirname)``,
    ``$(find-pkg-share PACKAGE)``, ``$(find-pkg-prefix PACKAGE)``, ``$(find-exec NAME)``

Known differences, all on the strict side: an argument that no file declares is an error, and so
is a value of another kind than the argument's default; a mistake anywhere is found before the
first process starts; a process that fails makes the exit status 1; output "screen" goes to the
terminal as it is, without the process's name.
"""
