# SPDX-License-Identifier: Apache-2.0
"""Two sources of one robot's states are found, and one alone with its troubles is not blamed."""

import math

import numpy as np
import pytest

from diffbot_node.source_watch import RECENT, SETTLING, SourceWatch

PERIOD = 0.01


def angles(t):
    """Of wheels that speed up and swing, rad."""
    return 20.0 * t + 2.0 * math.sin(7.0 * t), 12.0 * t - 3.0 * math.cos(5.0 * t)


def lone(seconds=3.0, period=PERIOD, begin=100.0):
    """(arrival, stamp, values) of a sound driver, s and rad."""
    for k in range(round(seconds / period)):
        t = k * period
        yield t, begin + t, angles(t)


def merged(first, second):
    return sorted([*first, *second], key=lambda message: message[0])


def findings(messages, publishers=1, sender=None, counts=4096):
    """What the watch says of messages: (arrival, finding)."""
    watch = SourceWatch(lambda: publishers, counts)
    said = [(now, watch.update(stamp, values, now, sender)) for now, stamp, values in messages]
    return [(now, finding) for now, finding in said if finding is not None]


def second(kind, start=0.0, period=PERIOD, seconds=3.0):
    """(arrival, stamp, values) of another source, 3.7 ms after the first."""
    for k in range(round(seconds / period)):
        now = start + 0.0037 + k * period
        newest = math.floor(now / PERIOD) * PERIOD
        stamp, values = {
            "35 ms ahead": (newest + 0.035, angles(newest)),
            "500 ms ahead": (newest + 0.5, angles(newest)),
            "35 ms behind": (newest - 0.035, angles(newest)),
            "equal stamps": (newest, (0.3, 0.3)),
            "stale": (-0.05, angles(0.0)),
            "stands": (now, (0.0, 0.0)),
            "swings": (now, (math.sin(40.0 * now), 2.0)),
            "broken": (now, None),
        }[kind]
        yield now, 100.0 + stamp, values


KINDS = (
    *("35 ms ahead", "500 ms ahead", "35 ms behind", "equal stamps", "stale"),
    *("stands", "swings", "broken"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [0.0, 1.0])
@pytest.mark.parametrize("publishers", [1, 2])
def test_content_tells_two_sources(kind, start, publishers):
    result = findings(merged(lone(), second(kind, start)), publishers)
    # Wheels that begin where a robot that stands has them must first move away.
    assert result and result[0][0] < start + 0.1 + (0.05 if kind == "stands" else 0.0)
    significant = next(now for now, finding in result if finding.significant)
    assert significant < result[0][0] + 0.1


@pytest.mark.parametrize("counts", [512, 1024, 4096])
@pytest.mark.parametrize("period", [0.007, 0.01, 0.02])
def test_a_standing_source_beside_a_robot_that_starts_is_found_early(counts, period):
    """Both begin at 0, so that only what the wheels have turned since then can tell them apart."""
    count, acceleration = math.tau / counts, 10.0
    robot = [
        (now, stamp, (count * round(0.5 * acceleration * now**2 / count),) * 2)
        for now, stamp, _ in lone(1.0)
    ]
    result = findings(merged(robot, second("stands", 0.0, period, 1.0)), counts=counts)
    apart = math.sqrt(2.0 * (0.015 + 2.0 * count) / acceleration)
    assert result[0][0] < apart + 2.5 * max(period, PERIOD)  # two signs are needed
    assert any(finding.significant for _, finding in result)


@pytest.mark.parametrize("counts", [0, 64, 512, 4096])
def test_an_encoder_that_flickers_between_two_counts_is_one_source(counts):
    """A standing wheel at the edge of a count; unknown: as coarse as 256 counts."""
    count = math.tau / (counts or 256)
    flicker = [(now, stamp, (count * (k % 2), 0.0)) for k, (now, stamp, _) in enumerate(lone())]
    assert not findings(flicker, counts=counts)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("period", [0.004, 0.033, 0.2])
def test_no_command_gets_between_the_signs(kind, period):
    watch, significant, doubted = SourceWatch(lambda: 1, 4096), False, None
    for now, stamp, values in merged(lone(6.0), second(kind, 2.0, period, 4.0)):
        finding = watch.update(stamp, values, now)
        if doubted is not None and not significant and now > doubted + 0.1:
            assert watch.doubt(now)
        if finding is not None:
            doubted, significant = doubted or now, significant or finding.significant
    assert significant


@pytest.mark.parametrize("kind", [*KINDS, "the same"])
def test_senders_that_take_turns_are_two(kind):
    watch, turns = SourceWatch(lambda: 2), 0
    others = ((now + 0.001, *rest) for now, *rest in lone()) if kind == "the same" else second(kind)
    two = [(*m, "a") for m in lone()] + [(*m, "b") for m in others]
    for count, (now, stamp, values, sender) in enumerate(sorted(two, key=lambda m: m[0])):
        finding = watch.update(stamp, values, now, sender)
        if finding is not None and finding.significant:
            turns = count
            break
    assert turns == 2  # a, b, a


def test_a_driver_that_is_started_anew_is_one_source():
    watch = SourceWatch(lambda: 2)
    for now, stamp, values in lone(1.0):
        assert watch.update(stamp, values, now, "old") is None
    results = []
    for now, stamp, values in lone(2.0):
        results.append(watch.update(stamp + 50.0, values, now + 1.5, "new"))
        assert watch.doubt(now + 1.5) or any(finding.replaced for finding in results if finding)
    later = [finding for finding in results[1:] if finding is not None]
    assert not results[0].significant and not results[0].replaced
    assert [finding.replaced for finding in later] == [True] and not later[0].significant
    assert later[0] in results[:40]  # and no state between is answered by more than zero


def test_a_sender_that_comes_back_after_long_is_one_source():
    watch = SourceWatch(lambda: 2)
    watch.update(1.0, (0.0, 0.0), 0.0, "a")
    watch.update(1.5, (0.0, 0.0), 0.5, "b")
    finding = watch.update(2.1, (0.0, 0.0), RECENT + 0.1, "a")
    assert not finding.significant


def test_a_doubt_ends_when_nothing_more_comes():
    watch = SourceWatch(lambda: 2)
    watch.update(1.0, (0.0, 0.0), 0.0, "a")
    assert watch.knows_senders and not watch.doubt(0.0)
    watch.update(1.5, (0.0, 0.0), 0.5, "b")
    assert watch.doubt(0.49 + SETTLING)
    watch.update(1.6, (0.0, 0.0), 0.51 + SETTLING, "b")  # alone: the driver was started anew
    assert watch.doubt(0.52 + SETTLING) and not watch.doubt(0.52 + 2.0 * SETTLING)


def spoilt(messages, at, change):
    """Messages of which those at some places are changed, or left out where it gives nothing."""
    for place, message in enumerate(messages):
        changed = change(*message) if place in at else message
        if changed is not None:
            yield changed


GLITCHES = {
    "broken": lambda now, stamp, values: (now, stamp, None),
    "lost": lambda now, stamp, values: None,
    "10 s ahead": lambda now, stamp, values: (now, stamp + 10.0, values),
    "0.5 s back": lambda now, stamp, values: (now, stamp - 0.5, values),
    "angles that jump": lambda now, stamp, values: (now, stamp, (values[0] + 5.0, values[1])),
    "late": lambda now, stamp, values: (now + 0.012, stamp, values),
}


@pytest.mark.parametrize("glitch", GLITCHES)
def test_glitches_of_one_source_are_no_second(glitch):
    messages = spoilt(lone(), range(50, 300, 30), GLITCHES[glitch])
    result = findings(sorted(messages, key=lambda message: message[0]))
    assert not any(finding.significant for _, finding in result)
    assert glitch == "angles that jump" or not result


@pytest.mark.parametrize("by", [-0.5, -0.02, 0.02, 30.0])
def test_a_clock_that_is_set_is_no_second_source(by):
    set_at = [(now, stamp + (by if now > 1.0 else 0.0), values) for now, stamp, values in lone()]
    assert not any(finding.significant for _, finding in findings(set_at, publishers=2))


def test_an_encoder_that_is_set_is_no_second_source():
    reset = [
        (now, stamp, tuple(value - (values[0] if now > 1.0 else 0.0) for value in values))
        for now, stamp, values in lone()
    ]
    assert not any(finding.significant for _, finding in findings(reset, publishers=2))


def test_states_that_are_said_again_are_no_second_source():
    """As a simulator does while it waits."""
    again = [(now + 0.001 * k, stamp, values) for now, stamp, values in lone() for k in range(3)]
    assert findings(again, publishers=2) == []


@pytest.mark.parametrize("seed", range(40))
def test_random_lone_drivers_are_no_two(seed):
    """Rates, counts, jitter of stamps and arrivals, losses, and bunches after a stall."""
    random = np.random.default_rng(seed)
    period, counts = random.uniform(0.002, 0.04), int(random.integers(50, 513))
    quantum, lost = math.tau / counts, random.uniform(0.0, 0.5)
    jitter, delay = random.uniform(0.0, 0.3) * period, random.uniform(0.0, 0.03)
    messages, came = [], 0.0
    for now, _, values in lone(20.0, period):
        if random.random() < lost:
            continue
        seen = tuple(quantum * math.floor(value / quantum) for value in values)
        stall = 0.4 if 8.0 < now < 8.4 else 0.0
        came = max(came, now + delay * random.random(), 8.4 if stall else 0.0)
        messages.append((came, 100.0 + now + jitter * random.random(), seen))
    assert not any(finding.significant for _, finding in findings(messages, 2, counts=counts))
