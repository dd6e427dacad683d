# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_ident (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_ident"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "pyyaml"],
    extras_require={
        "test": ["pytest", "hypothesis", "scipy"],
    },
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="On-line identification of the dynamic parameters of differential-drive robots.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"{name} = diffbot_ident.executables:{name}"
            for name in ("ident", "velocity_ident", "dynamics_estimator")
        ]
    },
)
