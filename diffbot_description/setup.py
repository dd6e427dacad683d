# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_description (ament_python)."""

from glob import glob

from setuptools import find_packages, setup

NAME = "diffbot_description"
SHARE = f"share/{NAME}"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (SHARE, ["package.xml"]),
        (f"{SHARE}/config", glob("config/*.yaml")),
        (f"{SHARE}/launch", glob("launch/*.launch.xml")),
        (f"{SHARE}/rviz", glob("rviz/*.rviz")),
        (f"{SHARE}/urdf", glob("urdf/*.xacro")),
    ],
    install_requires=["setuptools", "numpy", "pyyaml"],
    # colcon test runs pytest only where this names it.
    extras_require={"test": ["pytest", "hypothesis", "mujoco"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Differential-drive robots: one YAML file each, URDF and closed-form dynamics",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"describe = {NAME}.describe_command:main",
            f"robot_urdf = {NAME}.robot_urdf:main",
            f"show_parameters = {NAME}.show_parameters:main",
        ],
    },
)
