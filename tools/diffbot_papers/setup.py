# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_papers (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_papers"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "matplotlib", "scipy"],
    extras_require={"test": ["pytest", "hypothesis"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Robots of the 2002 and 2006 papers, and the page that reproduces all five papers.",
    license="Apache-2.0",
)
