# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_report (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_report"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["web/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "matplotlib", "pillow", "rich"],
    extras_require={"test": ["pytest"], "page": ["plotly"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Reports of a run: live table, pictures, animation and summary.json.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"{name} = diffbot_report.executables:{name}"
            for name in ("ident_report", "drive_report")
        ]
    },
)
