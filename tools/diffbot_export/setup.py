# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_export (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_export"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "pyyaml"],
    extras_require={"mujoco": ["mujoco"], "test": ["pytest", "hypothesis"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Export of identified parameters to files for other software.",
    license="Apache-2.0",
)
