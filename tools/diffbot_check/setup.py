# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_check (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_check"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["web/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "rich"],
    extras_require={"test": ["pytest"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="What is there of a robot, what each task needs, and what to type.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["draft = diffbot_check.executables:draft"]},
)
