# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_learning (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_learning"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "scipy"],
    extras_require={
        "test": ["pytest", "hypothesis"],
    },
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Learning while a robot works: parameters and their changes, from its driving.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["learn = diffbot_learning.executables:learn"]},
)
