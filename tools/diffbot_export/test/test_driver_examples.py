# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/write_to_drivers.md: conversions, and vendors' clients where they are."""

import os
import re
import struct
import threading
import tty
from math import tau
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "write_to_drivers.md"


def run(*needed, **replaced):
    """Runs the page's conversions, and its examples that import these modules; the variables."""
    values = {}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        imports = set(re.findall(r"^(?:import|from) (\w+)", example, re.MULTILINE)) - {"math"}
        if imports and not imports & {*needed}:
            continue
        for old, new in replaced.items():
            example = example.replace(old, new)
        exec(example, values)
    return values


def test_an_odrive_with_these_gains_is_the_exported_wheel_loop():
    v = run()
    wheel_error, wheel_angle = 0.7, 0.2  # rad/s, rad
    motor_error, motor_angle = (each * v["gear"] / tau for each in (wheel_error, wheel_angle))
    torque = v["vel_gain"] * motor_error + v["vel_integrator_gain"] * motor_angle
    assert torque * v["gear"] == pytest.approx(v["p"] * wheel_error + v["i"] * wheel_angle)


def test_a_vesc_with_these_gains_is_the_exported_wheel_loop():
    """Its law: current = (KP e + KI integral of e) / 20 * Motor Current Max, e in ERPM."""
    v = run()
    error, angle = 0.3, 0.2  # of the wheel, rad/s, rad
    erpm, turned = (each * v["gear"] / tau * 60 * v["pole_pairs"] for each in (error, angle))
    current = (v["speed_kp"] * erpm + v["speed_ki"] * turned) / 20 * v["motor_current"]
    torque = current * v["torque_constant"] * v["gear"]
    assert torque == pytest.approx(v["p"] * error + v["i"] * angle)


def test_limits_are_those_of_the_wheel():
    v = run()
    of_wheel = tau / v["gear"]  # rad per turn of the motor
    assert v["vel_limit"] * of_wheel == pytest.approx(v["speed"])
    assert v["max_erpm"] / 60 / v["pole_pairs"] * of_wheel == pytest.approx(v["speed"])
    assert v["ramp_erpm"] / 60 / v["pole_pairs"] * of_wheel == pytest.approx(v["acceleration"])
    assert v["motor_current"] * v["torque_constant"] * v["gear"] == pytest.approx(v["torque"])
    rpm, rpm2 = 0.229 * v["velocity_limit"], 214.577 * v["profile_acceleration"]
    assert rpm * tau / 60 == pytest.approx(v["speed"], abs=0.229 * tau / 60)
    assert rpm2 * tau / 3600 == pytest.approx(v["acceleration"], abs=214.577 * tau / 3600)
    assert v["bus_watchdog"] * 0.02 == pytest.approx(0.2)


def test_an_odrive_gets_gains_and_limits_by_can():
    can = pytest.importorskip("can")
    with can.Bus(interface="virtual", channel="can0") as device:
        v = run("can", socketcan="virtual")
        frames = {frame.arbitration_id: frame for frame in (device.recv(1.0), device.recv(1.0))}
        v["bus"].shutdown()
    assert {*frames} == {0x1B, 0x0F} and not any(f.is_extended_id for f in frames.values())
    gains, limits = (struct.unpack("<ff", frames[each].data) for each in (0x1B, 0x0F))
    assert gains == pytest.approx((v["vel_gain"], v["vel_integrator_gain"]))
    assert limits == pytest.approx((v["vel_limit"], v["motor_current"]))


@pytest.fixture
def terminal():
    """The device's end of a pseudo terminal, and the name of the client's."""
    device, client = os.openpty()
    tty.setraw(client)
    yield device, os.ttyname(client)
    os.close(device)
    os.close(client)


def test_a_vesc_gets_its_current(terminal):
    pyvesc = pytest.importorskip("pyvesc")
    device, name = terminal
    v = run("pyvesc", **{"/dev/ttyACM0": name})
    message, _ = pyvesc.decode(os.read(device, 100))
    assert isinstance(message, pyvesc.SetCurrent)
    assert message.current == round(1000 * v["motor_current"])


def test_a_dynamixel_gets_its_limits(terminal):
    sdk = pytest.importorskip("dynamixel_sdk")
    device, name = terminal
    written = {}

    def answer():
        while len(written) < 3:
            packet = os.read(device, 100)
            address = int.from_bytes(packet[8:10], "little")
            written[address] = int.from_bytes(packet[10:-2], "little")
            status = [*b"\xff\xff\xfd\x00", packet[4], 4, 0, 0x55, 0]
            crc = sdk.PacketHandler(2.0).updateCRC(0, status, len(status))
            os.write(device, bytes([*status, crc & 0xFF, crc >> 8]))

    servo = threading.Thread(target=answer, daemon=True)
    servo.start()
    v = run("dynamixel_sdk", **{"/dev/ttyUSB0": name})
    servo.join(5.0)
    assert written == {
        44: v["velocity_limit"],
        108: v["profile_acceleration"],
        98: v["bus_watchdog"],
    }
