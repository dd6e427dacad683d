# SPDX-License-Identifier: Apache-2.0
"""The elements ``<diffbot_run/>`` and ``<diffbot_robot/>`` of launch files, for `ros2 launch`.

An entry point of this package makes ROS's launch import it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from launch.actions import RegisterEventHandler
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events.process import ProcessExited, ProcessStarted
from launch.frontend import Entity, Parser, expose_action

from diffbot_bringup.xml_launch.config_file import ARGUMENT, NO_FILE
from diffbot_bringup.xml_launch.robot_kind import kind_and_simulator
from diffbot_bringup.xml_launch.ros_launch import (
    LaunchedProcesses,
    check_command_line,
    check_config,
    is_launched,
)
from diffbot_bringup.xml_launch.substitutions import installed_share
from diffbot_description.run_folder import LAUNCH, new_launch_name
from launch import Action, LaunchContext


@expose_action("diffbot_run")
class DiffbotRun(Action):  # type: ignore[misc]
    """Checks the arguments, names this launch for its nodes, and reports failed processes."""

    def __init__(self, owns_results: bool) -> None:
        """`owns_results`: whether the folder of results belongs to this launch."""
        super().__init__()
        self._owns_results = owns_results

    @classmethod
    def parse(cls, entity: Entity, _parser: Parser) -> tuple[type[Action], dict[str, Any]]:
        return cls, {"owns_results": entity.get_attr("owns_results", optional=True) != "false"}

    def execute(self, context: LaunchContext) -> list[RegisterEventHandler]:
        """Raise UsageError for a wrong argument, before anything has started."""
        path = Path(context.get_locals_as_dict()["current_launch_file_path"])
        if self._owns_results:
            context.environment[LAUNCH] = new_launch_name()
        launched = is_launched(path, sys.argv)
        if launched:
            check_command_line(path, context.argv)
        check_config(path, context.launch_configurations.get(ARGUMENT, NO_FILE))
        if not launched:  # the failures of an including launch file are its own affair
            return []
        processes = LaunchedProcesses()

        def started(_event: ProcessStarted, _context: LaunchContext) -> None:
            processes.started()

        def ended(event: ProcessExited, context: LaunchContext) -> None:
            if not context.is_shutdown:
                looks_on = any(word.startswith("__node:=_") for word in event.cmd)
                processes.ended(event.process_name, 0 if looks_on else event.returncode)

        return [
            RegisterEventHandler(OnProcessStart(on_start=started)),
            RegisterEventHandler(OnProcessExit(on_exit=ended)),
        ]


@expose_action("diffbot_robot")
class DiffbotRobot(Action):  # type: ignore[misc]
    """Finds out which kind of robot the launch is for."""

    @classmethod
    def parse(cls, entity: Entity, parser: Parser) -> tuple[type[Action], dict[str, Any]]:
        return cls, {}

    def execute(self, context: LaunchContext) -> None:
        """Set the variables. Raise UsageError for arguments that contradict each other."""
        values = context.launch_configurations
        values.update(kind_and_simulator(values, installed_share))
