# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_bringup (ament_python)."""

from glob import glob

from setuptools import find_packages, setup

NAME = "diffbot_bringup"
SHARE = f"share/{NAME}"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*", "launch", "config"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (SHARE, ["package.xml"]),
        (f"{SHARE}/launch", glob("launch/*.launch.xml")),
        (
            f"{SHARE}/config",
            [path for kind in ("yaml", "xml", "json", "rviz") for path in glob(f"config/*.{kind}")],
        ),
    ],
    install_requires=["setuptools", "numpy", "pyyaml", "rich", "scipy"],
    extras_require={
        "test": [
            "catkin-pkg",
            "distributed",
            "hatchling",
            "hypothesis",
            "lz4",
            "matplotlib",
            "mujoco",
            "packaging",
            "pillow",
            "pyarrow",
            "pytest",
            "rosbags",
            "websockets",
        ],
    },
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Launch files, settings, the diffbot command, plots and reports of the suite",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"diffbot = {NAME}.cli:main",
        ],
        "launch.frontend.launch_extension": [
            f"{NAME} = {NAME}.xml_launch.launch_extension",
        ],
    },
)
