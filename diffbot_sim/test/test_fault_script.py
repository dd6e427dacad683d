# SPDX-License-Identifier: Apache-2.0
"""Scripts of faults: what they hold, and what is said of those that are wrong."""

import math
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.faults import Fault, Relay, load_script
from diffbot_sim.faults.fault import ARRAYS, FOR_EVER, KINDS

EXAMPLE = Path(__file__).parents[2] / "config" / "faults.yaml"
STATES = "{topic: joint_states, type: sensor_msgs/msg/JointState}"

TIMES = {"start": st.floats(0.0, 1e6), "duration": st.floats(1e-3, 1e6)}
CHANCES = {
    **TIMES,
    "probability": st.floats(0.01, 1.0),
    "burst": st.integers(1, 100),
    "seed": st.integers(0, 2**63 - 1),
}
PATHS = st.lists(st.sampled_from(["position[1]", "header.stamp", "effort[left_wheel_joint]"]))
OF_KIND = {
    "off": st.fixed_dictionaries({}, optional=TIMES),
    "stuck": st.fixed_dictionaries(
        {}, optional={**CHANCES, "fields": PATHS, "stamps": st.sampled_from(["fresh", "old"])}
    ),
    "garbage": st.fixed_dictionaries(
        {"value": st.floats() | st.sampled_from(["random", "nan", "inf", "-inf"])},
        optional={**CHANCES, "fields": PATHS, "magnitude": st.floats(1e-3, 1e9)},
    ),
    "wrong": st.fixed_dictionaries(
        {"scale": st.floats(2.0, 3.0)},
        optional={
            **CHANCES,
            "offset": st.floats(-1e9, 1e9),
            "wrap": st.floats(1.0, 10.0),
            "swap": st.just([1, 0]),
            "arrays": st.sampled_from(ARRAYS),
            "index": st.integers(0, 3),
        },
    ),
    "slow": st.fixed_dictionaries({"rate": st.floats(0.1, 1e3)}, optional=TIMES),
    "delayed": st.fixed_dictionaries(
        {"delay": st.floats(0.001, 60.0)},
        optional={**CHANCES, "jitter": st.floats(0.0, 60.0), "overtake": st.booleans()},
    ),
    "intermittent": st.fixed_dictionaries({"copies": st.integers(2, 9)}, optional=CHANCES),
}
SETTINGS = st.sampled_from(sorted(OF_KIND)).flatmap(
    lambda kind: OF_KIND[kind].map(lambda settings: {"topic": "x", "kind": kind, **settings})
)


def test_the_example_shows_each_kind():
    script = load_script(EXAMPLE)
    assert {fault.kind for fault in script.faults} == set(KINDS)
    assert [relay.topic for relay in script.relays] == ["joint_states", "commands"]
    states, commands = script.relays
    assert (states.input, states.output) == ("joint_states", "faulty/joint_states")
    assert (commands.input, commands.output) == (
        "faulty/effort_controller/commands",
        "effort_controller/commands",
    )
    starts = [fault.start for fault in script.faults]
    assert starts == sorted(starts)
    assert len(script.of("commands")) == 4


@given(st.lists(SETTINGS, max_size=3))
def test_what_is_written_is_read_again(entries):
    text = yaml.safe_dump({"faults": entries}, default_flow_style=False)
    faults = load_script(text + "\n").faults
    # Read once more from what they became: nothing is lost, and NaN equals itself.
    plain = [{k: list(v) if type(v) is tuple else v for k, v in asdict(f).items()} for f in faults]
    assert load_script(yaml.safe_dump({"faults": plain}) + "\n").faults == faults
    for fault, entry in zip(faults, entries, strict=True):
        for name, value in entry.items():
            got = getattr(fault, name)
            if isinstance(value, list):
                assert list(got) == value
            elif isinstance(value, float) and not math.isfinite(value) and name == "value":
                assert got == str(value)
            else:
                assert got == value


def test_off_needs_no_quotes_and_defaults_hold():
    (fault,) = load_script("faults:\n  - {topic: joint_states, kind: off}\n").faults
    assert fault == Fault("joint_states", "off")
    assert (fault.start, fault.duration, fault.probability) == (0.0, FOR_EVER, 1.0)


def test_an_absolute_topic_keeps_its_place():
    assert Relay("/a/b", "std_msgs/msg/Bool").output == "/faulty/a/b"


def fault(text):
    return f"relays: [{STATES}]\nfaults:\n  - {{topic: joint_states, kind: off}}\n  - {{{text}}}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            fault("topic: joint_states, kind: explode"),
            "kind = 'explode': must be one of off, stuck",
        ),
        (fault("topic: odom, kind: off"), "topic = 'odom': must be one of those in relays"),
        (fault("kind: off"), "topic missing: needs topic, kind"),
        (fault("topic: 3, kind: off"), "topic = 3: must be the name"),
        (fault("topic: joint_states, kind: off, stat: 3"), "'stat': unknown key; did you mean"),
        (
            fault("topic: joint_states, kind: off, start: -1.0"),
            "'start' = -1.0: must be finite and >= 0",
        ),
        (fault("topic: joint_states, kind: off, start: .inf"), "'start' = inf: must be finite"),
        (
            fault("topic: joint_states, kind: off, duration: 0"),
            "'duration' = 0.0: must be finite",
        ),
        (fault("topic: joint_states, kind: off, duration: .nan"), "'duration' = nan: must be fini"),
        (fault("topic: joint_states, kind: off, start: soon"), "'start' = 'soon': must be of type"),
        (fault("topic: joint_states, kind: off, start: true"), "'start' = True: must be of type"),
        (
            fault("topic: joint_states, kind: off, delay: 1.0"),
            "delay = 1.0: no setting of kind off",
        ),
        (fault("topic: joint_states, kind: slow"), "kind = slow: needs rate other than 0.0"),
        (fault("topic: joint_states, kind: delayed"), "needs delay other than 0.0 or jitter"),
        (fault("topic: joint_states, kind: wrong"), "kind = wrong: needs scale other than 1.0 or"),
        (fault("topic: joint_states, kind: intermittent"), "needs probability other than 1.0 or"),
        (fault("topic: joint_states, kind: intermittent, copies: 1"), "copies = 1: does nothing"),
        (
            fault("topic: joint_states, kind: stuck, probability: 2"),
            "'probability' = 2.0: must be",
        ),
        (
            fault("topic: joint_states, kind: stuck, probability: 0"),
            "'probability' = 0.0: must be",
        ),
        (
            fault("topic: joint_states, kind: stuck, burst: 1.5"),
            "'burst' = 1.5: must be of type int",
        ),
        (
            fault("topic: joint_states, kind: stuck, stamps: odd"),
            "'stamps' = 'odd': must be one of fre",
        ),
        (
            fault("topic: joint_states, kind: stuck, fields: effort"),
            "fields = 'effort': must be a li",
        ),
        (
            fault("topic: joint_states, kind: stuck, fields: ['a b']"),
            "fields: 'a b' is not the path",
        ),
        (
            fault("topic: joint_states, kind: garbage, value: big"),
            "value = 'big': must be a number",
        ),
        (
            fault("topic: joint_states, kind: wrong, swap: [1, 1]"),
            "swap = [1, 1]: must be two diff",
        ),
        (fault("topic: joint_states, kind: wrong, swap: 1"), "swap = 1: must be two different"),
        (
            fault("topic: joint_states, kind: wrong, arrays: odd"),
            "arrays = 'odd': must be one of re",
        ),
        (
            fault("topic: joint_states, kind: delayed, jitter: 1, overtake: 2"),
            "'overtake' = 2: must be of type bool",
        ),
    ],
)
def test_a_wrong_fault_is_named_with_its_place_and_what_is_allowed(text, words):
    with pytest.raises(ValueError) as error:
        load_script(text)
    assert str(error.value).startswith("the script: faults[1]: "), error.value
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1\n- 2\n", "the script: must hold seed, relays, faults, not [1, 2]"),
        ("fault:\n  - {}\n", "'fault': unknown key; did you mean faults?"),
        ("faults: 3\nseed: 1\n", "faults = 3: must be a list"),
        ("faults: [3]\nseed: 1\n", "faults[0] = 3: must hold named values"),
        ("seed: -1\nfaults: []\n", "seed = -1: must be a whole number"),
        ("seed: 1\nseed: 2\n", "the key 'seed' appears twice"),
        (f"relays: [{STATES}, {STATES}]\n", "relays[1]: topic = 'joint_states': appears twice"),
        ("relays: [{topic: a, type: Joint}]\n", "relays[0]: type = 'Joint': must be package/msg/T"),
        ("relays: [{topic: a}]\n", "relays[0]: type missing"),
        ("relays: [{topic: a, type: a/B, output: a}]\n", "output = 'a': must differ from input"),
        ("relays: [{topic: a, type: a/B, latched: 1}]\n", "latched = 1: must be true or false"),
        ("relays: [{topic: 1, type: a/B}]\n", "topic = 1: must be text"),
        ("relays: [{topic: '', type: a/B}]\n", "topic = '': must be the name"),
        ("faults: [\n", "is no valid YAML"),
    ],
)
def test_a_wrong_script_is_refused(text, words):
    with pytest.raises(ValueError) as error:
        load_script(text)
    assert words in str(error.value)


def test_a_wrong_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere.yaml: cannot be read"):
        load_script(tmp_path / "nowhere.yaml")
    file = tmp_path / "faults.yaml"
    file.write_text("faults: [{topic: a, kind: slow, rate: -1}]")
    with pytest.raises(ValueError) as error:
        load_script(str(file))
    assert str(error.value) == (
        f"{file}: faults[0]: parameter 'rate' = -1.0: must be finite and >= 0 (messages per s that "
        "pass at most, Hz)"
    )


def test_only_settings_of_its_kind_may_be_given():
    """Each setting is refused by each kind that does not list it."""
    other = {
        "start": 1.0, "duration": 1.0, "probability": 0.5, "burst": 2, "seed": 1,
        "fields": ("a",), "stamps": "old", "value": 1.0, "magnitude": 1.0, "scale": 2.0,
        "offset": 1.0, "wrap": 1.0, "swap": (0, 1), "arrays": "short", "index": 1, "rate": 1.0,
        "delay": 1.0, "jitter": 1.0, "overtake": True, "copies": 2,
    }  # fmt: skip
    assert [entry.name for entry in fields(Fault)[2:]] == list(other)
    for kind, allowed in KINDS.items():
        needed = {name: other[name] for name in allowed.needed[:1]}
        for name, value in other.items():
            settings = {**needed, name: value}
            if name in allowed.settings:
                assert getattr(Fault("a", kind, **settings), name) == value
            else:
                with pytest.raises(ValueError, match=f"{name} = .*: no setting of kind {kind}"):
                    Fault("a", kind, **settings)


def test_a_number_beyond_all_floats_is_refused():
    with pytest.raises(ValueError, match="line 2: a value has the wrong type .a whole number of"):
        load_script(f"faults:\n  - {{topic: joint_states, kind: wrong, scale: {10**400}}}\n")
