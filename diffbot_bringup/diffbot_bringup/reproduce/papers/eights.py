"""Drives along a figure-8 for the papers of 2017 and 2018."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from matplotlib.figure import Figure

from diffbot_bringup.drive_rehearsal import PERIOD, Drive, dynamics_of, rehearse_drive
from diffbot_controllers import PublishedBackstepping, tuned_backstepping, tuned_polar_pose
from diffbot_description import load_robot
from diffbot_ident import figure_style as style
from diffbot_sim.engines import make_simulator
from pose2d_trajectories import make_trajectory

LAP = 40.0  # s
COLOURS = {"standard": style.BLUE, "polar": style.GREEN, "published": style.ORANGE}


def drive_eight(
    name: str,
    start: tuple[float, float, float],
    first: tuple[float, float],
    *,
    engine: str = "mujoco",
    backwards: bool = False,
) -> Drive:
    """Two laps of an 8 of 2 m by 1 m in 40 s by twil, in motion at once.

    Args:
        name: of the law: "standard" (backstepping), "polar" (2017), "published" (Listing 3, 2018).
        start: pose of the robot, m, m, rad.
        first: where the 8 begins, x and y, m; its heading there is 0.
        engine: "mujoco" or "ideal".
        backwards: whether the robot drives backwards.
    """
    robot = load_robot("twil")
    # An 8 whose own first point is (0, -0.5).
    eight = make_trajectory(
        "figure_eight", amplitude_x=1.0, amplitude_y=0.5, period=LAP, ramp_up=0.0,
        x=first[0], y=first[1] + 0.5, backwards=backwards,
    )  # fmt: skip
    with closing(make_simulator(engine, robot)) as simulator:
        dynamics = dynamics_of(simulator)
        limit = robot.limits.torque if name == "published" else robot.limits.traction
        speeds = (robot.limits.linear_velocity, robot.limits.angular_velocity)
        if name == "published":
            law = PublishedBackstepping(dynamics, time_step=PERIOD, torque_limit=limit)
        else:
            make = {"standard": tuned_backstepping, "polar": tuned_polar_pose}[name]
            law = make(dynamics, limit, *speeds, mean_velocity=True)
        return rehearse_drive(
            simulator, robot, law, eight.at, 2.0 * LAP, start=start, torque_limit=limit
        )


def eight_figure(drives: Mapping[str, Drive], title: str, subtitle: str) -> Figure:
    """True paths over the reference."""
    figure = style.new_figure(title, subtitle, 5.2)
    axes = figure.add_axes((0.075, 0.11, 0.91, 0.68))
    style.quiet(axes)
    reference = next(iter(drives.values())).reference
    axes.plot(*reference[:, :2].T, color="#DCE1E8", linewidth=7.0, label="reference")
    for name, drive in drives.items():
        axes.plot(*drive.pose[:, :2].T, color=COLOURS[name], linewidth=1.4, label=name)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x, m", fontsize=9, color=style.INK)
    axes.set_ylabel("y, m", fontsize=9, color=style.INK)
    style.legend(figure, 0.62)
    return figure
