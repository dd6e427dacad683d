# SPDX-License-Identifier: Apache-2.0
"""Each kind of fault does what it says; what holds for all faults holds for any of them."""

import copy
import gc
import math
import tracemalloc
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.faults import Fault, FaultInjector

PERIOD = 0.01
NAMES = ["left_wheel_joint", "right_wheel_joint"]
NANOSECONDS = 10**9


def state(k):
    """State number k of a robot, stamped k periods; its own position[0] tells it from others."""
    stamp = SimpleNamespace(sec=k // 100, nanosec=k % 100 * 10**7)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp, frame_id="base"),
        name=list(NAMES),
        position=[float(k), -2.0 * k],
        velocity=[100.0 + k, 200.0 + k],
        effort=[0.25, -0.5],
    )


def stamp(message):
    """Its stamp, ns."""
    return message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec


def run(faults, count, seed=0, make=state, extra=0):
    """States 0 to count - 1, one per period, through the faults, and `extra` periods after them.

    Returns (number of the period in which it came out, message) of each that came out.
    """
    injector = FaultInjector([faults] if isinstance(faults, Fault) else faults, seed)
    out = []
    for k in range(count + extra):
        if k < count:
            injector.push(k * PERIOD, make(k))
        out += [(k, message) for message in injector.due(k * PERIOD)]
    return out


def numbers(out):
    """Which states came out, in order."""
    return [int(message.position[0]) for _, message in out]


def from_2_to_4(kind, **settings):
    """A fault that hits the states 2 and 3."""
    return Fault("joint_states", kind, start=0.02, duration=0.02, **settings)


def through(kind, k=3, **settings):
    """State k as it comes out of a fault that hits it."""
    fault = Fault("joint_states", kind, start=0.02, duration=0.02, **settings)
    ((_, message),) = [entry for entry in run(fault, 6) if entry[0] == k]
    return message


# Time and number of messages.


def test_off_lets_nothing_through_from_its_start_on_and_before_its_end():
    assert numbers(run(from_2_to_4("off"), 6)) == [0, 1, 4, 5]


def test_a_fault_without_duration_stays():
    assert numbers(run(Fault("joint_states", "off", start=0.03), 2000)) == [0, 1, 2]


@pytest.mark.parametrize(("rate", "count"), [(10.0, 100), (30.0, 300), (70.0, 700), (500.0, 1000)])
def test_slow_passes_no_more_than_its_rate_and_reaches_it(rate, count):
    """1000 states in 10 s."""
    times = [k for k, _ in run(Fault("joint_states", "slow", rate=rate), 1000)]
    assert len(times) == count
    # In no window of w periods more than the messages that fit, and one at each border.
    for width in (7, 50):
        most = max(sum(a <= k < a + width for k in times) for a in range(0, 1000, 13))
        assert most <= min(width, math.floor(width * PERIOD * rate) + 1)


def test_slow_does_not_make_up_for_a_gap():
    injector = FaultInjector([Fault("joint_states", "slow", rate=20.0)])
    out = []
    for k in (0, *range(100, 111)):
        injector.push(k * PERIOD, state(k))
        out += [(k, message) for message in injector.due(k * PERIOD)]
    assert numbers(out) == [0, 100, 105, 110]


@pytest.mark.parametrize("periods", [1, 3, 20])
def test_delayed_messages_come_late_by_the_delay_with_the_content_they_had(periods):
    """0 to 200 ms. Those after the delay wait until those in it have come."""
    out = run(Fault("joint_states", "delayed", 0.05, 0.10, delay=periods * PERIOD), 40, extra=30)
    assert numbers(out) == list(range(40))
    for k, message in out:
        sent = int(message.position[0])
        last = 14 + periods  # when the last one that is delayed comes out
        expected = sent + periods if 5 <= sent < 15 else sent if sent < 5 else max(sent, last)
        assert k == expected
        assert stamp(message) == sent * 10**7


def test_a_delay_that_is_no_multiple_of_the_period_ends_at_the_next_look():
    out = run(Fault("joint_states", "delayed", delay=0.015), 5, extra=5)
    assert [k for k, _ in out] == [2, 3, 4, 5, 6]


def test_delays_add_up():
    two = [Fault("joint_states", "delayed", delay=delay) for delay in (0.02, 0.03)]
    assert [k for k, _ in run(two, 3, extra=6)] == [5, 6, 7]


def test_the_upper_border_of_a_wrapped_angle_is_the_lower_one():
    positions = [3.0, -6.0]  # of state 3
    wrapped = through("wrong", wrap=6.0, fields=("position",)).position
    assert wrapped == [-3.0, 0.0] and positions == state(3).position


@given(st.integers(0, 2**32), st.floats(0.001, 0.2), st.floats(0.0, 0.1))
def test_jitter_is_within_its_bounds_and_overtakes_only_where_allowed(seed, jitter, delay):
    for overtake in (False, True):
        fault = Fault("joint_states", "delayed", delay=delay, jitter=jitter, overtake=overtake)
        out = run(fault, 30, seed, extra=40)
        sent = numbers(out)
        assert sorted(sent) == list(range(30))
        for (k, _), number in zip(out, sent, strict=True):
            late = (k - number) * PERIOD
            assert delay - 1e-8 <= late < delay + jitter + PERIOD + 1e-8
        if not overtake:
            assert sent == sorted(sent)


def test_overtaking_changes_the_order():
    fault = Fault("joint_states", "delayed", jitter=0.1, overtake=True)
    sent = numbers(run(fault, 200, extra=20))
    assert sorted(sent) == list(range(200))
    # Of neighbours with delays evenly spread over 10 periods, (0.9)^2 / 2 = 40 % change places
    # or come in one period; 200 states give a standard deviation of about 4 %.
    assert 0.2 < sum(a > b for a, b in zip(sent, sent[1:], strict=False)) / 199 < 0.6
    # A constant delay behind it leaves it so.
    later = Fault("joint_states", "delayed", delay=0.05)
    delayed = numbers(run([fault, later], 200, extra=30))
    assert sorted(delayed) == list(range(200)) and delayed != sorted(delayed)


@pytest.mark.parametrize("burst", [1, 4, 15])
@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_intermittent_loses_its_share(probability, burst):
    """Five seeds of 2000 states each; within 4.5 standard deviations of the share.

    Bursts of b with chance q at each message between them are a renewal process of cycles of
    length b + G, G geometric with mean (1 - q) / q and variance (1 - q) / q^2; the number of lost
    messages in n then has the variance n b^2 var(G) / (b + E G)^3.
    """
    n = 2000
    q = probability / (probability + burst * (1.0 - probability))
    between, variance = (1.0 - q) / q, (1.0 - q) / q**2
    deviation = math.sqrt(n * burst**2 * variance / (burst + between) ** 3) if q < 1.0 else 0.0
    if burst == 1:
        assert deviation == pytest.approx(math.sqrt(n * probability * (1.0 - probability)))
    fault = Fault("joint_states", "intermittent", probability=probability, burst=burst)
    counts = []
    for seed in range(5):
        injector = FaultInjector([fault], seed)
        passed = []
        for k in range(n):
            injector.push(k * PERIOD, k)
            passed += injector.due(k * PERIOD)
        counts.append(n - len(passed))
        gaps = [b - a - 1 for a, b in zip(passed, passed[1:], strict=False) if b - a > 1]
        assert all(gap % burst == 0 for gap in gaps)
        # A burst is hit as a whole: the first burst begins not before the first state.
        assert abs(counts[-1] - probability * n) < 4.5 * deviation + burst
    assert len(set(counts)) > 1
    assert abs(sum(counts) / 5 - probability * n) < 4.5 * deviation / math.sqrt(5) + burst


def test_intermittent_with_copies_lets_some_come_again():
    fault = Fault("joint_states", "intermittent", probability=0.25, copies=3)
    out = run(fault, 1000)
    counts = Counter(numbers(out))
    assert set(counts) == set(range(1000)) and set(counts.values()) == {1, 3}
    threefold = sum(count == 3 for count in counts.values())
    assert abs(threefold - 250) < 4.5 * math.sqrt(1000 * 0.25 * 0.75)
    assert numbers(out) == sorted(numbers(out))
    first, second = out[0][1], out[1][1]
    assert first is not second


# Content.


def test_stuck_repeats_the_last_message_with_fresh_stamps():
    out = run(from_2_to_4("stuck"), 6)
    assert numbers(out) == [0, 1, 1, 1, 4, 5]
    assert [stamp(message) for _, message in out] == [k * 10**7 for k in range(6)]
    assert out[2][1].velocity == [101.0, 201.0]


def test_stuck_with_old_stamps_repeats_the_whole_message():
    out = run(from_2_to_4("stuck", stamps="old"), 6)
    assert [stamp(message) // 10**7 for _, message in out] == [0, 1, 1, 1, 4, 5]


def test_stuck_from_the_first_message_on_repeats_that():
    assert numbers(run(Fault("joint_states", "stuck"), 4)) == [0, 0, 0, 0]


def test_what_a_receiver_does_to_a_message_does_not_come_back():
    injector = FaultInjector([Fault("joint_states", "stuck", start=0.01)])
    for k in range(3):
        injector.push(k * PERIOD, state(k))
        (message,) = injector.due(k * PERIOD)
        assert message.position == [0.0, 0.0]
        message.position[:] = [9.0, 9.0]


def test_a_stuck_encoder_leaves_the_other_fields_alone():
    fields = ("position[left_wheel_joint]", "velocity[0]")
    message = through("stuck", fields=fields)
    assert (message.position, message.velocity) == ([1.0, -6.0], [101.0, 203.0])
    assert stamp(message) == 3 * 10**7
    old = through("stuck", fields=fields, stamps="old")
    assert (old.position, stamp(old)) == ([1.0, -6.0], 10**7)


def test_a_stuck_stamp_gives_steps_of_no_time():
    out = run(from_2_to_4("stuck", fields=("header.stamp",)), 6)
    assert [stamp(message) // 10**7 for _, message in out] == [0, 1, 1, 1, 4, 5]
    assert numbers(out) == list(range(6))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 0])
def test_garbage_puts_a_value_into_its_fields(value):
    message = through("garbage", value=value, fields=("effort[1]", "velocity"))
    same = (lambda x: x != x) if value != value else (lambda x: x == value)
    assert message.effort[0] == 0.25 and same(message.effort[1])
    assert all(map(same, message.velocity)) and message.position == [3.0, -6.0]


def test_garbage_without_fields_is_noise_in_all_numbers_outside_the_header():
    fault = Fault("joint_states", "garbage", magnitude=5.0)
    out = [message for _, message in run(fault, 500)]
    drawn = [x for m in out for x in (*m.position, *m.velocity, *m.effort)]
    assert len(set(drawn)) == len(drawn) == 3000
    assert max(map(abs, drawn)) <= 5.0
    # Evenly spread: mean 0 and variance 25/3, whose own deviation is 25 sqrt(4/45 / 3000).
    assert abs(sum(drawn) / 3000) < 4.5 * math.sqrt(25.0 / 3.0 / 3000)
    assert abs(sum(x * x for x in drawn) / 3000 - 25.0 / 3.0) < 4.5 * 25 * math.sqrt(4 / 45 / 3000)
    assert [stamp(m) for m in out] == [k * 10**7 for k in range(500)]
    assert all(m.name == NAMES and m.header.frame_id == "base" for m in out)


def test_garbage_in_names_is_text():
    names = through("garbage", fields=("name",)).name
    assert len(names) == 2 and all(isinstance(name, str) for name in names)
    assert not set(names) & set(NAMES)


def test_wrong_scales_and_adds():
    message = through("wrong", scale=-2.0, offset=0.5, fields=("position[0]", "effort"))
    assert message.position == [-5.5, -6.0] and message.effort == [0.0, 1.5]
    flipped = through("wrong", scale=-1.0)
    assert flipped.position == [-3.0, 6.0] and flipped.velocity == [-103.0, -203.0]
    assert flipped.effort == [-0.25, 0.5] and stamp(flipped) == 3 * 10**7


@given(st.floats(-1e6, 1e6), st.floats(0.1, 1e4))
def test_wrapped_numbers_are_in_the_range_and_off_by_whole_turns(angle, wrap):
    injector = FaultInjector([Fault("a", "wrong", wrap=wrap, fields=("angle",))])
    injector.push(0.0, SimpleNamespace(angle=angle))
    wrapped = injector.due(0.0)[0].angle
    assert -0.5 * wrap <= wrapped < 0.5 * wrap
    # Both have rounding of the size of the angle.
    assert math.sin(math.pi * (angle - wrapped) / wrap) == pytest.approx(
        0.0, abs=1e-12 + 4e-15 * abs(angle) / wrap
    )


@pytest.mark.parametrize(("offset", "result"), [(10.0, 10_030), (-1.0, -970), (1e-3, 31)])
def test_wrong_stamps_are_shifted_to_the_ns(offset, result):
    fault = {"offset": offset, "fields": ("header.stamp",)}
    message = through("wrong", **fault)
    assert stamp(message) == result * 10**6 and 0 <= message.header.stamp.nanosec < NANOSECONDS
    assert message.position == [3.0, -6.0]
    # A stamp of our days keeps its last ns, which a float could not hold.
    injector = FaultInjector([Fault("a", "wrong", **fault)])
    today = state(0)
    today.header.stamp.sec, today.header.stamp.nanosec = 1_800_000_000, 123_456_789
    injector.push(0.0, today)
    (message,) = injector.due(0.0)
    assert stamp(message) == 1_800_000_000_123_456_789 + round(offset * 1e9)


@pytest.mark.parametrize("settings", [{"offset": 1e300}, {"scale": 1e300}, {"scale": -1e300}])
def test_stamps_stay_in_what_a_message_can_hold(settings):
    seconds = through("wrong", fields=("header.stamp",), **settings).header.stamp.sec
    assert seconds in (2**31 - 1, -(2**31))


def test_swapped_wheels_keep_their_names():
    message = through("wrong", swap=(0, 1))
    assert message.name == NAMES
    assert message.position == [-6.0, 3.0]
    assert message.velocity == [203.0, 103.0] and message.effort == [-0.5, 0.25]
    only = through("wrong", swap=(1, 0), fields=("effort",))
    assert only.effort == [-0.5, 0.25] and only.position == [3.0, -6.0]


LEFT, RIGHT = NAMES


@pytest.mark.parametrize(
    ("settings", "name", "position"),
    [
        ({"arrays": "reversed"}, [RIGHT, LEFT], [-6.0, 3.0]),
        ({"arrays": "missing"}, [RIGHT], [-6.0]),
        ({"arrays": "missing", "index": 1}, [LEFT], [3.0]),
        ({"arrays": "extra"}, ["unknown_joint", LEFT, RIGHT], [0.0, 3.0, -6.0]),
        ({"arrays": "duplicated"}, [LEFT, RIGHT, LEFT], [3.0, -6.0, 3.0]),
        ({"arrays": "duplicated", "index": 1}, [LEFT, RIGHT, RIGHT], [3.0, -6.0, -6.0]),
        ({"arrays": "short"}, NAMES, [3.0]),
        ({"arrays": "empty"}, [], []),
        ({"arrays": "empty", "fields": ("position",)}, NAMES, []),
    ],
)
def test_arrays_do_not_fit(settings, name, position):
    message = through("wrong", **settings)
    assert (message.name, message.position) == (name, position)
    if "fields" not in settings:
        assert len(message.velocity) == len(message.effort) == len(position)


def test_a_field_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="SimpleNamespace has no field 'angle'; it has header, na"):
        through("garbage", fields=("angle",))
    with pytest.raises(ValueError, match="'frame_id' of SimpleNamespace is no array"):
        through("garbage", fields=("header.frame_id[0]",))
    with pytest.raises(ValueError, match="scale, offset and wrap change numbers"):
        through("wrong", scale=2.0, fields=("name",))


def test_an_entry_that_is_not_there_is_left_alone():
    assert through("garbage", fields=("position[2]", "position[wheel]")).position == [3.0, -6.0]


def test_parts_of_frozen_messages_are_refused():
    injector = FaultInjector([Fault("a", "garbage", fields=("position",))])
    with pytest.raises(ValueError, match="0 of a tuple cannot be changed"):
        injector.push(0.0, SimpleNamespace(position=(1.0, 2.0)))


# What holds for all.

TIMES = {"start": st.floats(0.0, 0.3), "duration": st.floats(0.001, 0.5)}
CHANCES = {**TIMES, "probability": st.floats(0.05, 0.95), "burst": st.integers(1, 5)}
KEEPING = st.one_of(  # the number of messages
    st.fixed_dictionaries({"kind": st.just("stuck"), **CHANCES}),
    st.fixed_dictionaries({"kind": st.just("garbage"), **CHANCES}),
    st.fixed_dictionaries({"kind": st.just("wrong"), "swap": st.just((0, 1)), **CHANCES}),
    st.fixed_dictionaries(
        {
            "kind": st.just("delayed"),
            "delay": st.floats(0.001, 0.1),
            "jitter": st.floats(0.0, 0.1),
            "overtake": st.booleans(),
            **CHANCES,
        }
    ),
)
OTHER = st.one_of(
    st.fixed_dictionaries({"kind": st.just("off"), **TIMES}),
    st.fixed_dictionaries({"kind": st.just("slow"), "rate": st.floats(1.0, 200.0), **TIMES}),
    st.fixed_dictionaries(
        {"kind": st.just("intermittent"), "copies": st.sampled_from([0, 2, 5]), **CHANCES}
    ),
)


def faults(kinds):
    return st.lists(kinds.map(lambda settings: Fault("joint_states", **settings)), max_size=4)


@given(faults(KEEPING), st.integers(0, 1000))
def test_faults_of_content_and_time_keep_the_number_of_messages(scripted, seed):
    assert len(run(scripted, 40, seed, extra=100)) == 40


@given(faults(KEEPING | OTHER), st.integers(0, 1000))
def test_equal_seeds_give_equal_messages_and_the_input_stays_as_it_was(scripted, seed):
    sent = [state(k) for k in range(25)]
    before = copy.deepcopy(sent)
    runs = [run(scripted, 25, seed, sent.__getitem__, extra=50) for _ in range(2)]
    assert sent == before
    # By their text: NaN differs from itself.
    assert repr(runs[0]) == repr(runs[1])
    mine = {id(message) for message in sent}
    assert not mine & {id(message) for _, message in runs[0]}


@given(faults(KEEPING | OTHER), st.lists(st.floats(0.0, 0.05), min_size=1, max_size=60))
def test_messages_come_out_in_time_and_none_is_left(scripted, steps):
    """Pushed at uneven times; looked at when the injector says that one is due, and never else."""
    injector = FaultInjector(scripted)
    now = 0.0
    for k, step in enumerate(steps):
        injector.push(now, state(k))
        injector.due(now)
        assert injector.next_release is None or injector.next_release > now - 1e-9
        now += step
    while (release := injector.next_release) is not None:
        before = release - 2e-9
        if before > now:
            assert injector.due(before) == []
        now = max(now, release)
        assert injector.due(now)
    assert injector.due(1e6) == [] and injector.lost == 0


@given(st.lists(st.floats(0.0, 0.1), min_size=1, max_size=30))
def test_without_a_fault_that_is_on_each_message_passes_at_once_as_it_is(steps):
    kinds = [Fault("a", "off"), Fault("a", "garbage", value="nan"), Fault("a", "stuck")]
    later = [Fault("a", fault.kind, start=1e6) for fault in kinds]
    over = [Fault("a", fault.kind, duration=1e-3) for fault in kinds]
    for scripted, now in (([], 0.0), (later, 0.0), (over, 0.001)):
        injector = FaultInjector(scripted)
        for k, step in enumerate(steps):
            message = state(k)
            injector.push(now, message)
            assert injector.active == ()
            (out,) = injector.due(now)
            assert out == message and out is not message
            now += step


def test_seeds_and_places_give_chances_of_their_own():
    fault = Fault("joint_states", "intermittent", probability=0.5)
    lost = {tuple(numbers(run(fault, 64, seed))) for seed in range(4)}
    other = Fault("joint_states", "intermittent", probability=0.5, seed=1)
    lost.add(tuple(numbers(run(other, 64, 0))))
    elsewhere = Fault("commands", "intermittent", probability=0.5)
    lost.add(tuple(numbers(run(elsewhere, 64, 0))))
    assert len(lost) == 6
    # Faults that differ in their place only hit other messages: one of the two alone, half of them.
    pair = [
        Fault("a", "garbage", probability=0.5, value=1.0, fields=(f"effort[{place}]",))
        for place in range(2)
    ]
    alone = sum(m.effort.count(1.0) == 1 for _, m in run(pair, 1000))
    assert abs(alone - 500) < 4.5 * math.sqrt(1000 * 0.25)


def test_faults_work_one_after_the_other():
    scripted = [from_2_to_4("wrong", scale=2.0), from_2_to_4("wrong", offset=1.0)]
    assert [m.position[0] for _, m in run(scripted, 5)] == [0.0, 1.0, 5.0, 7.0, 4.0]
    assert [m.position[0] for _, m in run(scripted[::-1], 5)] == [0.0, 1.0, 6.0, 8.0, 4.0]


def test_active_faults_are_those_of_the_newest_time():
    first, second = from_2_to_4("off"), Fault("joint_states", "slow", 0.03, rate=1.0)
    injector = FaultInjector([first, second])
    seen = []
    for k in range(5):
        injector.due(k * PERIOD)
        seen.append(injector.active)
    assert seen == [(), (), (first,), (first, second), (second,)]


def test_when_time_goes_back_all_begins_anew():
    fault = Fault("joint_states", "intermittent", probability=0.5)
    late = Fault("joint_states", "delayed", start=0.5, delay=0.2)
    injector = FaultInjector([fault, late])
    runs = []
    for _ in range(2):
        out = []
        for k in range(60):
            injector.push(k * PERIOD, state(k))
            out += [(k, message) for message in injector.due(k * PERIOD)]
        assert injector.next_release is not None
        runs.append(repr(out))
    assert runs[0] == runs[1]


def test_one_injector_is_for_one_topic():
    with pytest.raises(ValueError, match="topic = a, b: one injector is for one topic"):
        FaultInjector([Fault("a", "off"), Fault("b", "off")])


def test_memory_stays_flat():
    """At 100 Hz; whatever is kept of each state shows within 5 s, once all was made that is."""
    scripted = [
        Fault("a", "stuck", start=1e6),
        Fault("a", "delayed", delay=0.1, jitter=0.1, overtake=True),
        Fault("a", "intermittent", probability=0.3, burst=4),
    ]
    injector = FaultInjector(scripted)
    sizes = []
    tracemalloc.start()
    for k in range(1_500):
        injector.push(k * PERIOD, SimpleNamespace(x=float(k)))
        injector.due(k * PERIOD)
        if k % 500 == 499:
            gc.collect()  # of what other tests have left
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[2] < sizes[1] + 4_000, sizes


def test_a_queue_that_nobody_empties_is_bounded():
    injector = FaultInjector([Fault("a", "delayed", delay=60.0)])
    for k in range(10_050):
        injector.push(k * 1e-3, k)
    assert injector.lost == 50
    assert injector.due(100.0) == list(range(10_000))
