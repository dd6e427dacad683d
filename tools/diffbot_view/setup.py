# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_view (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_view"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={PACKAGE: ["web/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"live": ["websockets"], "test": ["pytest", "hypothesis", "numpy", "rosbags"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="A live view of a running robot in the browser, with a stop button.",
    license="Apache-2.0",
    entry_points={"console_scripts": [f"live_view = {PACKAGE}.executables:live_view"]},
)
