"""Installs the package; colcon runs it."""

from setuptools import find_packages, setup

PACKAGE = "diffbot_sim"

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    extras_require={"mujoco": ["mujoco"], "test": ["pytest", "hypothesis", "scipy"]},
    zip_safe=True,
    maintainer="diffbot maintainers",
    maintainer_email="maintainers@example.org",
    description="Simulated differential-drive robots that speak the topics of ros2_control.",
    license="Apache-2.0",
    entry_points={"console_scripts": ["simulator = diffbot_sim.executables:simulator"]},
)
