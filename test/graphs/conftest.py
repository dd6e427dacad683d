# SPDX-License-Identifier: Apache-2.0
"""Runs of whole graphs that the tests of several files look at; each is made once."""

import pytest

pytest.importorskip("rclpy")

from launched import config, run

IDENTIFICATION = (
    *("sim:=mujoco", "duration:=8.0", "until:=none", "verification:=5.0"),
    "seed:=3",
)


@pytest.fixture(scope="session")
def identification(tmp_path_factory):
    """(arguments, results, output) of a completed `launch ident` with pictures.

    Who looks at it also requests `domain`, and so stays in the one process that runs graphs.
    """
    results = tmp_path_factory.mktemp("identification")
    noise = config(tmp_path_factory.mktemp("noise"), simulator={"torque_noise": 0.01})
    arguments = (*IDENTIFICATION, noise)
    status, output = run("ident", results, *arguments, pictures=True)
    assert status == 0, output
    return arguments, results, output
