# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_study (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_study"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["ready_made/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "matplotlib", "numpy", "rich", "scipy"],
    extras_require={
        "cluster": ["dask", "distributed", "pyarrow"],
        "recordings": ["rosbags"],
    },
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Whole runs in one process, without ROS: identification and driving, for studies.",
    license="Apache-2.0",
)
