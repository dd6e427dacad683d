# SPDX-License-Identifier: Apache-2.0
"""Made observations of sound robots, and what to change of them."""

import math
from dataclasses import replace

from diffbot_check.observation import JointValues, Machine, Observation, TopicStream
from diffbot_node.endpoints import Endpoint, EndpointRole
from diffbot_node.topic_types import ARRAY, IMU, JOINT_STATE, ODOMETRY, TWISTS

NOW = 1.79e9  # s of the epoch
NAMES = ("left_wheel_joint", "right_wheel_joint")
STATES, EFFORTS, ODOM, CMD_VEL, IMU_TOPIC = (
    "/joint_states",
    "/effort_controller/commands",
    "/odom",
    "/cmd_vel",
    "/imu/data",
)
MACHINE = Machine(0, "rmw_fastrtps_cpp", "", True, 0.3, 4)


def times(rate=100.0, seconds=5.0):
    return [k / rate for k in range(round(rate * seconds))]


def wheel_states(  # every fault that a driver may have is one argument
    names=NAMES,
    rate=100.0,
    late=0.002,
    clock=NOW,
    turn=lambda t: (0.0, 0.0),
    speed=None,
    effort=0.0,
    fields=("position", "velocity", "effort"),
    stamp=lambda t: t,
    silent=(0.0, 0.0),
):
    """Joint states of wheels whose angles are turn(t), rad; their speeds by a difference quotient.

    `late`: time from stamp to arrival, s; `clock`: time of the stamps at t = 0, s;
    `silent`: begin and end of a pause, s.
    """
    stream = TopicStream(STATES, JOINT_STATE)
    for t in times(rate):
        if silent[0] < t < silent[1]:
            continue
        angles = turn(t)
        step = 1e-4
        speeds = [(b - a) / (2 * step) for a, b in zip(turn(t - step), turn(t + step), strict=True)]
        if speed is not None:
            speeds = [speed(each) for each in speeds]
        values = {"position": angles, "velocity": tuple(speeds), "effort": (effort,) * 2}
        message = JointValues(names, **{key: values[key] for key in fields})
        stamped = stamp(t)
        stream.add(NOW + t + late, clock + stamped if stamped >= 0.0 else 0.0, message)
    return stream


def odometry(v=lambda t: 0.0, omega=lambda t: 0.0, frame="odom", child="base_link", rate=50.0):
    stream = TopicStream(ODOM, ODOMETRY, frame=frame, child=child)
    for t in times(rate):
        stream.add(NOW + t + 0.002, NOW + t, (v(t), omega(t)))
    return stream


def gyro():
    stream = TopicStream(IMU_TOPIC, IMU)
    for t in times():
        stream.add(NOW + t, NOW + t)
    return stream


def publishes(topic, kind, node="/driver", **qos):
    return Endpoint(EndpointRole.PUBLISHES, topic, kind, node, **qos)


def takes(topic, kind, node="/driver", **qos):
    return Endpoint(EndpointRole.SUBSCRIBES, topic, kind, node, **qos)


def seen(endpoints, *streams, **more):
    settings = {"machine": MACHINE, **more}
    return Observation(5.0, tuple(endpoints), {each.topic: each for each in streams}, **settings)


TORQUE_ENDS = (publishes(STATES, JOINT_STATE), takes(EFFORTS, ARRAY), publishes(IMU_TOPIC, IMU))
VELOCITY_ENDS = (publishes(ODOM, ODOMETRY), takes(CMD_VEL, TWISTS[0]))


def torque_robot(ends=TORQUE_ENDS, states=None, **more):
    """A sound robot that takes torques, with a gyro."""
    return seen(ends, wheel_states() if states is None else states, gyro(), **more)


def velocity_robot(ends=VELOCITY_ENDS, odom=None, **more):
    """A sound robot that takes velocities and says after how long it stops by itself."""
    settings = {"timeouts": {"/driver cmd_vel_timeout": 0.5}, **more}
    return seen(ends, odometry() if odom is None else odom, **settings)


def swing(t):
    """Angles of wheels that are pushed back and forth and turned, rad."""
    return 1.5 * math.sin(2.0 * t), 0.8 * math.sin(3.0 * t + 1.0)


def with_machine(**fields):
    return replace(MACHINE, **fields)
