# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_bench (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_bench"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "scipy"],
    extras_require={"bench": ["filterpy", "padasip", "statsmodels"], "test": ["pytest"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="A benchmark of estimators on robots that the suite's engines did not make.",
    license="Apache-2.0",
)
