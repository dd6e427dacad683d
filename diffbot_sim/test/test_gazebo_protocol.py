# SPDX-License-Identifier: Apache-2.0
"""The messages between engine and plugin: nothing gets lost, and both ends agree on the sizes."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.engines.gazebo_engine import GazeboSimulator
from diffbot_sim.gazebo import server as protocol

number = st.floats(allow_nan=False)
kinds = st.sampled_from(
    [protocol.LOOK, protocol.STEP, protocol.PLACE, protocol.PAYLOAD, protocol.LINE]
)


@given(kinds, st.lists(number, max_size=protocol.VALUES), st.integers(0, 2**32 - 1))
def test_a_request_holds_its_values_in_order_and_then_zeros(kind, values, steps):
    said = struct.unpack(f"=II{protocol.VALUES}d", protocol.request(kind, *values, steps=steps))
    assert said[:2] == (kind, steps)
    assert list(said[2 : 2 + len(values)]) == values
    assert not any(said[2 + len(values) :])


@given(st.booleans(), st.booleans(), st.lists(number, min_size=17, max_size=17))
def test_an_answer_is_read_in_the_order_of_the_structure(notice, paused, values):
    answer = protocol.Answer.unpack(struct.pack("=II17d", notice, paused, *values))
    assert (answer.notice, answer.paused) == (notice, paused)
    parts = (answer.angles, answer.rates, answer.position, answer.rotation)
    parts += (answer.linear, answer.angular)
    assert [len(part) for part in parts] == [2, 2, 3, 4, 3, 3]
    assert [value for part in parts for value in part] == values


@pytest.mark.parametrize("length", [0, protocol.ANSWER_SIZE - 8, protocol.ANSWER_SIZE + 8])
def test_an_answer_of_another_size_is_refused(length):
    with pytest.raises(struct.error):
        protocol.Answer.unpack(bytes(length))


def test_a_request_with_too_many_values_is_refused():
    with pytest.raises(struct.error):
        protocol.request(protocol.LINE, *(0.0,) * (protocol.VALUES + 1))


@pytest.fixture(scope="module")
def socket(gazebo, twil):
    sim = GazeboSimulator(twil)
    yield sim._server._socket
    sim.close()


@pytest.mark.parametrize("kind", range(5))
def test_the_plugin_answers_each_kind_with_one_message_of_the_size(socket, kind):
    socket.settimeout(10.0)
    # At a step the inner step, for the place the height.
    values = {protocol.STEP: 0.001, protocol.PLACE: 0.075}
    socket.send(protocol.request(kind, 0.0, 0.0, values.get(kind, 0.0), steps=1))
    data = socket.recv(4 * protocol.ANSWER_SIZE)
    assert len(data) == protocol.ANSWER_SIZE
    answer = protocol.Answer.unpack(data)
    assert not answer.notice and not answer.paused
    # One that is read in another order would not be a unit quaternion at the wheels' height.
    assert sum(x * x for x in answer.rotation) == pytest.approx(1.0, abs=1e-9)
    assert answer.position[2] == pytest.approx(0.075, abs=1e-4)
    socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        socket.recv(1)
    socket.settimeout(None)


def test_a_request_of_another_size_ends_the_server(gazebo, twil):
    """An old plugin with a new engine must not drive the robot with shifted numbers."""
    sim = GazeboSimulator(twil)
    try:
        sim._server._socket.send(protocol.request(protocol.LOOK)[:-8])
        assert sim._server._server.wait(10.0) == 0
    finally:
        sim.close()
