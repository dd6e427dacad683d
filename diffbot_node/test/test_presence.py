# SPDX-License-Identifier: Apache-2.0
"""How long partners are waited for, and when they have left."""

from types import SimpleNamespace

import pytest

from diffbot_node import presence
from diffbot_node.presence import WAITING_PERIOD, Complaints, Presence
from diffbot_node.topic_nodes import full_name


class Wall:
    """Wall time, set by hand."""

    def __init__(self):
        self.now = 50.0

    def monotonic(self):
        return self.now


@pytest.fixture
def wall(monkeypatch):
    result = Wall()
    monkeypatch.setattr(presence, "time", result)
    return result


def test_patience_ends_and_begins_anew(wall):
    partners = Presence(2.0)
    wall.now += 2.0
    assert not partners.gave_up and partners.waited == 2.0
    wall.now += 0.5
    assert partners.gave_up
    partners.keep_waiting()
    assert not partners.gave_up and partners.waited == 0.0


def test_patience_may_be_short(wall):
    partners = Presence(0.25)
    wall.now += 0.5
    assert partners.gave_up


def test_without_a_limit_patience_never_ends(wall):
    partners = Presence(0.0)
    wall.now += 1e6
    assert not partners.gave_up


def test_partners_have_left_when_they_were_away_for_long_enough(wall):
    partners = Presence(0.0, parting=1.0)
    assert not partners.met
    assert not partners.have_left(there=True) and partners.met
    assert not partners.have_left(there=False)
    wall.now += 0.75
    assert not partners.have_left(there=False)
    assert not partners.have_left(there=True)  # seen again
    assert not partners.have_left(there=False)
    wall.now += 1.0
    assert partners.have_left(there=False) and partners.met


def test_who_never_came_is_away_and_was_not_met(wall):
    partners = Presence(0.0)
    assert partners.have_left(there=False) and not partners.met


def test_what_is_awaited_is_said_now_and_then(wall):
    partners = Presence(0.0)
    wall.now += WAITING_PERIOD
    assert not partners.waits_long and not partners.reminds()
    wall.now += 0.5
    assert partners.waits_long and partners.reminds()
    assert partners.waits_long and not partners.reminds()
    partners.keep_waiting()
    assert not partners.waits_long


class Log:
    """Keeps what is said."""

    def __init__(self):
        self.said = []
        self.info = self.error = self.said.append


def test_a_node_leaves_with_its_partners(wall):
    partners, log = Presence(2.0), Log()

    def leave(there):
        return partners.leave(there, log, gone="they left", absent="nobody came")

    wall.now += 1.0
    assert leave(there=False) is None  # patience has not ended
    assert leave(there=True) is None and log.said == []
    wall.now += 5.0
    assert leave(there=False) == 0 and log.said == ["they left"]


def test_a_node_gives_up_partners_who_never_came(wall):
    partners, log = Presence(2.0), Log()
    wall.now += 2.5
    assert partners.leave(False, log, gone="they left", absent="nobody came") == 1
    assert log.said == ["nobody came"]


@pytest.mark.parametrize(
    ("namespace", "name", "said"),
    [
        ("/", "ident", "/ident"),
        ("/twil", "ident", "/twil/ident"),
        (
            "_NODE_NAMESPACE_UNKNOWN_",
            "_NODE_NAME_UNKNOWN_",
            "a node whose name is not known yet",
        ),
    ],
)
def test_a_message_names_the_owner_of_a_publisher(namespace, name, said):
    assert full_name(SimpleNamespace(node_namespace=namespace, node_name=name)) == said


def test_each_kind_of_complaint_comes_once_a_second(monkeypatch):
    now = [0.5]  # of a machine that has just begun
    monkeypatch.setattr("diffbot_node.presence.time.monotonic", lambda: now[0])
    complaints = Complaints()
    said = ["late by 0.1 s", "late by 2.5e-3 s", "a wheel is missing"]
    assert [complaints.due(what) for what in said] == [True, False, True]
    now[0] += 0.99
    assert not complaints.due("late by 3 s")
    now[0] += 0.02
    assert complaints.due("late by -3 s") and not complaints.due("late by 4 s")
