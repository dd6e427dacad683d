# SPDX-License-Identifier: Apache-2.0
"""WPILOG files as SysId and AdvantageKit write them give what their JSON would; clear refusals."""

import json
import struct

import numpy as np
import pytest
from made_recordings.sysid_logs import PER_ROTATION, MadeDrivetrain, make_logs

from diffbot_recordings.samples import RecordingError
from diffbot_recordings.sysid_log import STATES, read_sysid, read_wpilog
from diffbot_recordings.voltage_analysis import LEFT, analyse_voltages

SYSID = {
    "state": "sysid-test-state-drive",
    "voltage": "voltage-drive-{}-drive",
    "position": "position-drive-{}-drive",
    "velocity": "velocity-drive-{}-drive",
    "unit": "Meter",
}
ADVANTAGEKIT = {
    "state": "/RealOutputs/Drive/SysIdState",
    "voltage": "/Drive/{}AppliedVolts",
    "position": "/Drive/{}PositionRad",
    "velocity": "/Drive/{}VelocityRadPerSec",
    "unit": "",
}
WHEEL = 0.0762  # m


class Writer:
    """Records of a WPILOG."""

    def __init__(self):
        self.data = b"WPILOG" + struct.pack("<HI", 0x0100, 2) + b"{}"
        self.entries = {}

    def record(self, number, micros, content):
        sizes = [max((value.bit_length() + 7) // 8, 1) for value in (number, len(content), micros)]
        head = sizes[0] - 1 | sizes[1] - 1 << 2 | sizes[2] - 1 << 4
        numbers = (number, len(content), micros)
        self.data += bytes([head])
        for value, size in zip(numbers, sizes, strict=True):
            self.data += value.to_bytes(size, "little")
        self.data += content

    def start(self, name, kind, metadata):
        number = self.entries.setdefault(name, len(self.entries) + 1)
        content = b"\0" + struct.pack("<I", number)
        for text in (name, kind, metadata):
            content += struct.pack("<I", len(text)) + text.encode()
        self.record(0, 0, content)

    def number(self, name, seconds, value):
        self.record(self.entries[name], round(1e6 * seconds), struct.pack("<d", value))

    def text(self, name, seconds, value):
        self.record(self.entries[name], round(1e6 * seconds), value.encode())


def write(path, log, names):
    """A made SysId log as a WPILOG."""
    writer, scale = Writer(), PER_ROTATION if names["unit"] else PER_ROTATION / WHEEL
    writer.start(names["state"], "string", "")
    for side in ("left", "right"):
        word = side if names is SYSID else side.capitalize()
        for quantity in ("voltage", "position", "velocity"):
            writer.start(names[quantity].format(word), "double", names["unit"])
    begin = 10.0
    for state, test in STATES.items():
        table = np.array(log[test])
        for row in table:
            time = begin + row[0] - table[0, 0]
            writer.text(names["state"], time, state)
            for k, side in enumerate(("left", "right")):
                word = side if names is SYSID else side.capitalize()
                for quantity, value in (
                    ("voltage", row[1 + k]),
                    ("position", scale * row[3 + k]),
                    ("velocity", scale * row[5 + k]),
                ):
                    writer.number(names[quantity].format(word), time, value)
        begin = time + 0.02
        writer.text(names["state"], begin, "none")
        begin += 1.0
    path.write_bytes(writer.data)
    return path


@pytest.fixture(scope="module")
def log():
    return make_logs([MadeDrivetrain(ramp=2.0, window=0.02, backlash=0.003, dead_time=0.01)], 4)[0]


@pytest.mark.parametrize(("names", "unit"), [(SYSID, 1.0), (ADVANTAGEKIT, WHEEL)])
def test_it_gives_what_the_json_log_gives(tmp_path, log, names, unit):
    (tmp_path / "log.json").write_text(json.dumps(log))
    json_log = read_sysid(tmp_path / "log.json")
    sys_id_log = read_wpilog(write(tmp_path / "log.wpilog", log, names))
    assert set(sys_id_log.tests) == set(json_log.tests)
    assert sys_id_log.unit == ("m" if names is SYSID else "rad")
    for name, test in json_log.tests.items():
        own = sys_id_log.tests[name]
        assert own.left_voltage == pytest.approx(test.left_voltage)
        assert unit * own.right_velocity == pytest.approx(test.right_velocity)
    verdict = analyse_voltages([sys_id_log], [LEFT])[0].verdict
    assert verdict.usable
    assert verdict.value("ka").value / unit == pytest.approx(0.35, rel=0.02)


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path, log):
    path = write(tmp_path / "log.wpilog", log, SYSID)
    path.write_bytes(path.read_bytes()[:-100_000])
    sys_id_log = read_wpilog(path)
    assert "slow-forward" in sys_id_log.tests


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a WPILOG"),
        (b"WPILOG\0\1\0\0\0\0", "the running SysId test"),
        (b"WPILOG\0\1\xff\xff\xff\xff", "the running SysId test"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "log.wpilog"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=message):
        read_wpilog(path)


def test_a_log_without_a_side_says_what_it_has(tmp_path):
    writer = Writer()
    writer.start("sysid-test-state-drive", "string", "")
    writer.start("voltage-drive-left-drive", "double", "Volt")
    writer.text("sysid-test-state-drive", 1.0, "dynamic-forward")
    writer.number("voltage-drive-left-drive", 1.0, 2.0)
    path = tmp_path / "log.wpilog"
    path.write_bytes(writer.data)
    with pytest.raises(RecordingError, match=r"left and position.*voltage-drive-left"):
        read_wpilog(path)
