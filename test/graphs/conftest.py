# SPDX-License-Identifier: Apache-2.0
"""Runs of whole graphs that the tests of several files look at; each is made once."""

import os
from contextlib import contextmanager
from unittest import mock

import pytest

pytest.importorskip("rclpy")

from launched import config, run

from diffbot_bringup import domains

IDENTIFICATION = (
    *("sim:=mujoco", "duration:=8.0", "until:=none", "verification:=5.0"),
    "seed:=3",
)


@pytest.fixture(scope="session")
def own_domain():
    """A DDS domain for a run that several tests look at, as `domain` is for one: a context."""

    @contextmanager
    def claimed():
        with (
            domains.claim("test") as own,
            mock.patch.dict(os.environ, {domains.VARIABLE: str(own.domain)}),
        ):
            yield

    return claimed


@pytest.fixture(scope="session")
def identification(tmp_path_factory, own_domain):
    """(arguments, results, output) of a completed `launch ident` with pictures.

    Who looks at it is in the group `identification`, and so in one process.
    """
    results = tmp_path_factory.mktemp("identification")
    noise = config(tmp_path_factory.mktemp("noise"), simulator={"torque_noise": 0.01})
    arguments = (*IDENTIFICATION, noise)
    with own_domain():
        status, output = run("ident", results, *arguments, pictures=True)
    assert status == 0, output
    return arguments, results, output
