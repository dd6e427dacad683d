# SPDX-License-Identifier: Apache-2.0
"""Installs the package; colcon runs it."""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = "diffbot_sim"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={"diffbot_sim.gazebo": ["plugin/*.cc"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        (f"share/{PACKAGE}/worlds", glob("worlds/gz_floor.sdf") + glob("worlds/*.world")),
    ],
    install_requires=["setuptools", "numpy", "pyyaml"],
    extras_require={"mujoco": ["mujoco"], "test": ["pytest", "hypothesis", "scipy"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Simulated differential-drive robots with the topics of ros2_control.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "simulator = diffbot_sim.executables:simulator",
            "fault_injector = diffbot_sim.executables:fault_injector",
            "gz_simulator = diffbot_sim.executables:gz_simulator",
            "ros2_control_simulator = diffbot_sim.executables:ros2_control_simulator",
            "velocity_simulator = diffbot_sim.executables:velocity_simulator",
        ]
    },
)
