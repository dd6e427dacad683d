# SPDX-License-Identifier: Apache-2.0
"""Build file of the package pose2d_trajectories (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "pose2d_trajectories"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy"],
    extras_require={"test": ["pytest", "hypothesis"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Reference trajectories and set points for wheeled robots in the plane.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "trajectory_publisher = pose2d_trajectories.executables:trajectory_publisher",
            "velocity_steps = pose2d_trajectories.executables:velocity_steps",
            "pose_step = pose2d_trajectories.executables:pose_step",
            "pose2d_to_pose_stamped = pose2d_trajectories.executables:pose2d_to_pose_stamped",
        ]
    },
)
