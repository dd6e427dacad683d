# SPDX-License-Identifier: Apache-2.0
"""What the packages that read exported files declare: names, types and bounds.

Facts, read off the sources of

    ros2_controllers     6.9.0 (94e74de), 5.17.0, 4.42.1: diff_drive_controller_parameter.yaml,
                         pid_controller.yaml; checks of gains in control_toolbox 6.3.0 (e274281)
    ros2_control         53b9999: controller_manager_parameters.yaml
    navigation2          1.5.1 (a3a9704) and 1.3.13: velocity_smoother.cpp, optimizer.cpp of MPPI,
                         parameter_handler.cpp of RPP, kinematic_parameters.cpp of DWB,
                         costmap_2d_ros.cpp, polygon.cpp of the collision monitor
    robot_localization   3.6.0 (1cb9533) and 3.5.2: ros_filter.cpp

A node name or joint that files choose themselves is *.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


def at_least(limit: float) -> Callable[[float], bool]:
    return lambda value: value >= limit


def at_most(limit: float) -> Callable[[float], bool]:
    return lambda value: value <= limit


def above(limit: float) -> Callable[[float], bool]:
    return lambda value: value > limit


def anything(_value: Any) -> bool:
    return True


@dataclass(frozen=True)
class Declared:
    """A parameter: type, bound of each value, and number of values of a list."""

    kind: type
    bound: Callable[[Any], bool] = anything
    count: int | None = None
    listed: bool = False

    def fault(self, value: Any) -> str | None:
        """What is wrong with a value; None: nothing."""
        if self.listed != isinstance(value, list):
            return "list or not"
        values = value if self.listed else [value]
        if self.count is not None and len(values) != self.count:
            return f"{len(values)} values, must be {self.count}"
        for entry in values:
            if type(entry) is not self.kind:
                return f"{entry!r} is no {self.kind.__name__}"
            if self.kind is float and math.isnan(entry):
                return "is NaN"
            if not self.bound(entry):
                return f"{entry!r} is out of bounds"
        return None


def numbers(bound: Callable[[float], bool] = anything) -> Declared:
    return Declared(float, bound)


def vector(count: int, bound: Callable[[float], bool] = anything) -> Declared:
    return Declared(float, bound, count, listed=True)


TEXT, TRUTH = Declared(str), Declared(bool)
TEXTS = Declared(str, listed=True)

LIMITS = {
    "max_velocity": numbers(at_least(0.0)),
    "min_velocity": numbers(at_most(0.0)),
    "max_acceleration": numbers(at_least(0.0)),
    "max_deceleration": numbers(at_most(0.0)),
    "max_acceleration_reverse": numbers(at_most(0.0)),
    "max_deceleration_reverse": numbers(at_least(0.0)),
    "max_jerk": numbers(at_least(0.0)),
    "min_jerk": numbers(at_most(0.0)),
}
DIFF_DRIVE = {
    "left_wheel_names": TEXTS,
    "right_wheel_names": TEXTS,
    "wheel_separation": numbers(above(0.0)),
    "wheel_radius": numbers(above(0.0)),
    "wheel_separation_multiplier": numbers(),
    "left_wheel_radius_multiplier": numbers(),
    "right_wheel_radius_multiplier": numbers(),
    "pose_covariance_diagonal": vector(6, at_least(0.0)),
    "twist_covariance_diagonal": vector(6, at_least(0.0)),
    "open_loop": TRUTH,
    "position_feedback": TRUTH,
    "enable_odom_tf": TRUTH,
    "cmd_vel_timeout": numbers(),
    "velocity_rolling_window_size": Declared(int),
    **{f"linear.x.{name}": declared for name, declared in LIMITS.items()},
    **{f"angular.z.{name}": declared for name, declared in LIMITS.items()},
}
STRATEGIES = ("back_calculation", "conditional_integration", "none")
PID = {
    "dof_names": TEXTS,
    "reference_and_state_dof_names": TEXTS,
    "command_interface": Declared(str, lambda text: text != ""),
    "reference_and_state_interfaces": Declared(str, listed=True),
    # Only 4.x, where it is false by default.
    "enable_feedforward": TRUTH,
    "gains.*.p": numbers(),
    "gains.*.i": numbers(),
    "gains.*.d": numbers(),
    # u_min < u_max, i_min <= 0 <= i_max in control_toolbox.
    "gains.*.u_clamp_max": numbers(above(0.0)),
    "gains.*.u_clamp_min": numbers(lambda value: value < 0.0),
    "gains.*.i_clamp_max": numbers(at_least(0.0)),
    "gains.*.i_clamp_min": numbers(at_most(0.0)),
    "gains.*.antiwindup_strategy": Declared(str, lambda text: text in STRATEGIES),
    "gains.*.tracking_time_constant": numbers(),
    "gains.*.error_deadband": numbers(),
    "gains.*.feedforward_gain": numbers(),
    "gains.*.angle_wraparound": TRUTH,
    "gains.*.save_i_term": TRUTH,
}
MANAGER = {"update_rate": Declared(int, above(0)), "*.type": TEXT}
CONTROLLERS = {
    "pid_controller/PidController": PID,
    "diff_drive_controller/DiffDriveController": DIFF_DRIVE,
}

SMOOTHER = {
    "max_velocity": vector(3, at_least(0.0)),
    "min_velocity": vector(3, at_most(0.0)),
    "max_accel": vector(3, at_least(0.0)),
    "max_decel": vector(3, at_most(0.0)),
    "deadband_velocity": vector(3),
    "smoothing_frequency": numbers(above(0.0)),
    "scale_velocities": TRUTH,
    "odom_duration": numbers(),
    "velocity_timeout": numbers(),
}
MPPI = {
    "vx_max": numbers(at_least(0.0)),
    "vx_min": numbers(),
    "wz_max": numbers(at_least(0.0)),
    "ax_max": numbers(at_least(0.0)),
    "ax_min": numbers(at_most(0.0)),
    "az_max": numbers(at_least(0.0)),
    # From 1.5 on.
    "model_delay_vx": numbers(at_least(0.0)),
    "model_delay_wz": numbers(at_least(0.0)),
}
RPP = {
    "desired_linear_vel": numbers(at_least(0.0)),
    "rotate_to_heading_angular_vel": numbers(at_least(0.0)),
    "min_approach_linear_velocity": numbers(at_least(0.0)),
    "regulated_linear_scaling_min_speed": numbers(at_least(0.0)),
    "max_angular_accel": numbers(at_least(0.0)),
    # From 1.5 on.
    "min_linear_vel": numbers(),
    "max_angular_vel": numbers(at_least(0.0)),
    "min_angular_vel": numbers(),
    "max_linear_accel": numbers(at_least(0.0)),
    "max_linear_decel": numbers(at_most(0.0)),
    "max_angular_decel": numbers(at_most(0.0)),
}
DWB = {
    "min_vel_x": numbers(),
    "max_vel_x": numbers(at_least(0.0)),
    "max_vel_theta": numbers(at_least(0.0)),
    "min_speed_xy": numbers(),
    "max_speed_xy": numbers(at_least(0.0)),
    "min_speed_theta": numbers(),
    "acc_lim_x": numbers(at_least(0.0)),
    "acc_lim_theta": numbers(at_least(0.0)),
    "decel_lim_x": numbers(at_most(0.0)),
    "decel_lim_theta": numbers(at_most(0.0)),
}
PLUGINS = {
    "nav2_mppi_controller::MPPIController": MPPI,
    "nav2_regulated_pure_pursuit_controller::RegulatedPurePursuitController": RPP,
    "dwb_core::DWBLocalPlanner": DWB,
}
COSTMAP = {"footprint": TEXT}
ACTIONS = ("stop", "slowdown", "limit", "approach", "none")
COLLISION_MONITOR = {
    f"{zone}.{name}": declared
    for zone in ("StopZone", "FootprintApproach")
    for name, declared in {
        "type": Declared(str, lambda text: text in ("polygon", "circle", "velocity_polygon")),
        "action_type": Declared(str, lambda text: text in ACTIONS),
        "points": TEXT,
        "footprint_topic": TEXT,
        "time_before_collision": numbers(above(0.0)),
    }.items()
}

TWIST, STATE = 6, 15
FILTER = {
    "two_d_mode": TRUTH,
    "frequency": numbers(above(0.0)),
    "odom0": TEXT,
    "odom0_config": Declared(bool, anything, STATE, listed=True),
    "process_noise_covariance": vector(STATE * STATE, at_least(0.0)),
    "initial_estimate_covariance": vector(STATE * STATE, at_least(0.0)),
    "use_control": TRUTH,
    "control_config": Declared(bool, anything, TWIST, listed=True),
    "acceleration_limits": vector(TWIST, at_least(0.0)),
    "deceleration_limits": vector(TWIST, at_least(0.0)),
    "acceleration_gains": vector(TWIST),
    "deceleration_gains": vector(TWIST),
}


def leaves(tree: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names of the parameters below a node, as ROS has them, and values."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def faults(parameters: dict[str, Any], declared: dict[str, Declared], star: str = "") -> list[str]:
    """What a node would not know, or refuse; star: what stands for * in declared names."""
    results = []
    for name, value in leaves(parameters):
        key = name.replace(f".{star}.", ".*.") if star else name
        if key not in declared:
            results.append(f"{name}: is not declared")
            continue
        fault = declared[key].fault(value)
        if fault is not None:
            results.append(f"{name}: {fault}")
    return results


# Controllers that work with their defaults.
WITHOUT_PARAMETERS = {"joint_state_broadcaster"}


def control_faults(document: dict[str, Any]) -> list[str]:
    """Faults of a file for ros2_control."""
    manager = dict(document["controller_manager"]["ros__parameters"])
    types = {name: entry["type"] for name, entry in manager.items() if isinstance(entry, dict)}
    result = faults({"update_rate": manager["update_rate"]}, MANAGER)
    for name, node in document.items():
        if name == "controller_manager":
            continue
        parameters = node["ros__parameters"]
        for star in parameters.get("dof_names") or [""]:
            own = {**parameters, "gains": {star: parameters["gains"][star]}} if star else parameters
            own_faults = faults(own, CONTROLLERS[types[name]], star)
            result += [f"{name}.{text}" for text in own_faults]
    missing = types.keys() - document.keys() - WITHOUT_PARAMETERS
    return result + [f"{name}: has no parameters" for name in sorted(missing)]


def nav2_faults(document: dict[str, Any]) -> list[str]:
    """Faults of a file for Nav2."""
    results = []
    for name, node in document.items():
        if name.endswith("_costmap"):
            results += faults(node[name]["ros__parameters"], COSTMAP)
            continue
        parameters = node["ros__parameters"]
        if name == "controller_server":
            for plugin in parameters.values():
                own = {key: value for key, value in plugin.items() if key != "plugin"}
                results += faults(own, PLUGINS[plugin["plugin"]])
        else:
            own = {"velocity_smoother": SMOOTHER, "collision_monitor": COLLISION_MONITOR}[name]
            results += faults(parameters, own)
    return results
