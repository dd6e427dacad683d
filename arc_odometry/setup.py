# SPDX-License-Identifier: Apache-2.0
"""Build file of the package arc_odometry (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "arc_odometry"

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
    description="Geometry and exact arc odometry of differential-drive robots.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["odometry_publisher = arc_odometry.odometry_node:main"]},
)
