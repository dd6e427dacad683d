# SPDX-License-Identifier: Apache-2.0
"""Build file of the package diffbot_recordings (ament_python)."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_recordings"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools", "numpy", "pyyaml", "rich", "scipy"],
    extras_require={
        "laser": ["small_gicp"],
        "recordings": ["rosbags", "backports-zstd", "lz4"],
        "test": ["pytest", "hypothesis"],
    },
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Recordings of robots: reading, identification from them, and the recorder.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"{name} = diffbot_recordings.executables:{name}"
            for name in ("identify", "recorder", "velocity_ident_report")
        ]
    },
)
