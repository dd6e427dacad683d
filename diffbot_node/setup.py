# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_node (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_node"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy"],
    extras_require={"test": ["hypothesis", "pytest", "pyyaml"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Base of the suite's nodes: checked parameters, clean exit, safe wheel torque.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"{name} = diffbot_node.executables:{name}" for name in ("composed", "effort_watchdog")
        ],
    },
)
