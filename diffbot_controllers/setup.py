# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_controllers (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_controllers"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "pyyaml"],
    extras_require={"test": ["pytest", "hypothesis"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Control laws of differential-drive robots: velocity, pose, backstepping.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"{name} = diffbot_controllers.executables:{name}"
            for name in (
                "linearizing_controller",
                "pose_controller",
                "backstep_controller",
                "velocity_tracking_controller",
            )
        ]
    },
)
