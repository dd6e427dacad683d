"""Full contact physics of a robot's URDF in MuJoCo; mujoco_model says how exact it is."""

from __future__ import annotations

import math

import numpy as np

from diffbot_description import DynamicParameters, Robot, RobotModel, closed_form, urdf
from diffbot_sim.simulator import check_duration, check_payload, check_pose, check_torque

try:
    import mujoco

    from diffbot_sim.engines import mujoco_model
    from diffbot_sim.engines.mujoco_model import ContactSettings
except ImportError as error:
    raise ImportError(
        f"sim:=mujoco needs the Python package mujoco ({error}): "
        "install it with 'pip install mujoco', or use sim:=ideal"
    ) from error

SETTLING_TIME = 0.5
# A robot that has leaned over by this much since it was put down is falling.
LARGEST_TILT = math.radians(3.0)
# Least part of the weight on each wheel for the robot to count as driven.
LEAST_LOAD = 0.01


class MujocoSimulator:
    """A robot with contacts, pitch and roll; see Simulator for the interface.

    Runs are bit-identical: nothing in it is random, and reset clears the solver's memory.

    Args:
        robot: its URDF gives masses, joints and collision shapes.
        settings: contact settings, for measurements; the defaults are the best known.

    Raises:
        ValueError: the robot cannot stand on its wheels and casters.
    """

    def __init__(self, robot: Robot, settings: ContactSettings | None = None) -> None:
        self._robot = robot
        self._settings = settings or ContactSettings()
        left, right = robot.joints.left, robot.joints.right
        text = urdf(robot)
        self._bare = RobotModel.from_urdf(text, left=left, right=right)
        self._payload = (0.0, 0.0, 0.0, 0.0)
        self._model = mujoco_model.build_model(robot, text, self._settings)
        self._data = mujoco.MjData(self._model)
        joints = [self._model.joint(name) for name in (left, right)]
        self._angle = [int(joint.qposadr[0]) for joint in joints]
        self._speed = [int(joint.dofadr[0]) for joint in joints]
        self._wheels = [int(joint.bodyid[0]) for joint in joints]
        self._stand = self._settled()
        self.paused = False
        self.reset()

    def reset(self, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        """See Simulator.reset."""
        x, y, theta = check_pose(pose)
        mujoco.mj_resetData(self._model, self._data)
        turn = np.array([math.cos(theta / 2), 0.0, 0.0, math.sin(theta / 2)])
        mujoco.mju_mulQuat(self._data.qpos[3:7], turn, self._stand[3:7])
        self._data.qpos[:3] = x, y, self._stand[2]
        mujoco.mj_forward(self._model, self._data)
        self.time = 0.0
        self._theta = theta

    def step(self, torque: tuple[float, float], duration: float) -> None:
        """See Simulator.step; the inner step divides duration evenly."""
        left, right = check_torque(torque)
        duration = check_duration(duration)
        count = max(1, math.ceil(duration / self._settings.inner_step - 1e-9))
        mujoco_model.set_inner_step(self._model, duration / count, self._settings)
        self._data.qfrc_applied[self._speed[0]] = left
        self._data.qfrc_applied[self._speed[1]] = right
        mujoco.mj_step(self._model, self._data, nstep=count)
        if self._data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise FloatingPointError(
                f"MuJoCo lost the motion at torque ({left}, {right}) N m, t = {self.time:.3f} s; "
                "lower the torque"
            )
        self._theta += math.remainder(self._yaw() - self._theta, math.tau)
        self.time += duration

    def wheel_angles(self) -> tuple[float, float]:
        """See Simulator.wheel_angles.

        MuJoCo advances angles by the velocity at the end of each inner step, so they are half an
        inner step ahead of the velocities; identified from them K6 was 0.8 % off.
        """
        half_step = 0.5 * self._model.opt.timestep
        left, right = (
            float(self._data.qpos[angle] - half_step * self._data.qvel[speed])
            for angle, speed in zip(self._angle, self._speed, strict=True)
        )
        return left, right

    def wheel_velocities(self) -> tuple[float, float]:
        """See Simulator.wheel_velocities; relative to the body, as encoders see them."""
        qvel = self._data.qvel
        return float(qvel[self._speed[0]]), float(qvel[self._speed[1]])

    def pose(self) -> tuple[float, float, float]:
        """See Simulator.pose; at the time of the velocities, as the wheels' angles."""
        half_step = 0.5 * self._model.opt.timestep
        x, y = (self._data.qpos[:2] - half_step * self._data.qvel[:2]).tolist()
        return x, y, self._theta - half_step * self.velocity()[1]

    def velocity(self) -> tuple[float, float]:
        """See Simulator.velocity; v lies along the heading, omega about the vertical."""
        vx, vy, _, *spin = self._data.qvel[:6].tolist()
        w, x, y, z = self._data.qpos[3:7].tolist()
        # Last row of the rotation matrix: the body's spin about the vertical.
        up = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
        v = vx * math.cos(self._theta) + vy * math.sin(self._theta)
        return v, sum(a * b for a, b in zip(up, spin, strict=True))

    def parameters(self) -> DynamicParameters:
        """See Simulator.parameters."""
        mass, x, _, yaw_inertia = self._payload
        return closed_form(self._bare.with_payload(mass, x, yaw_inertia))

    def close(self) -> None:
        """See Simulator.close."""

    def set_payload(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        """See Simulator.set_payload."""
        check_payload(mass, x, z, yaw_inertia)
        before, self._payload = self._payload, (mass, x, z, yaw_inertia)
        mujoco_model.set_payload_mass(self._model, *self._payload)
        try:
            self._settled()
        except ValueError:
            self._payload = before
            mujoco_model.set_payload_mass(self._model, *before)
            raise

    def contact_loads(self) -> tuple[float, float, float]:
        """Normal forces of the floor on the left wheel, the right wheel and all else, N."""
        return _contact_loads(self._model, self._data, self._wheels)

    def attitude(self) -> tuple[float, float, float]:
        """Height of the axle's midpoint above the floor (m), roll and pitch (rad) of the body."""
        w, x, y, z = self._data.qpos[3:7].tolist()
        roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
        pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
        return float(self._data.qpos[2]), roll, pitch

    def _yaw(self) -> float:
        w, x, y, z = self._data.qpos[3:7].tolist()
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    def _settled(self) -> np.ndarray:
        """Positions after SETTLING_TIME on the floor without torque, from level; checked."""
        data = mujoco.MjData(self._model)
        mujoco_model.set_inner_step(self._model, self._settings.inner_step, self._settings)
        data.qpos[2] = self._bare.wheel_radius
        mujoco.mj_step(self._model, data, nstep=round(SETTLING_TIME / self._model.opt.timestep))
        tilt = 2.0 * math.hypot(data.qpos[4], data.qpos[5])
        *wheels, _ = _contact_loads(self._model, data, self._wheels)
        weight = -self._model.opt.gravity[2] * self._model.body_mass.sum()
        if not (tilt < LARGEST_TILT and min(wheels) > LEAST_LOAD * weight):
            raise ValueError(
                f"{self._robot.name} cannot stand: put on its wheels with payload "
                f"(mass, x, z) = {self._payload[:3]} (kg, m, m) it leans {math.degrees(tilt):.1f} "
                f"degrees after {SETTLING_TIME} s and its wheels carry {wheels[0]:.3g} and "
                f"{wheels[1]:.3g} of {weight:.3g} N; bring the centre of mass between wheels and "
                "casters, and the casters' lowest points to the height of the wheels'"
            )
        return data.qpos.copy()


def _contact_loads(
    model: mujoco.MjModel, data: mujoco.MjData, wheels: list[int]
) -> tuple[float, float, float]:
    """Normal forces of the floor on the bodies of the two wheels and on the rest, N."""
    loads = [0.0, 0.0, 0.0]
    force = np.zeros(6)
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        body = int(model.geom_bodyid[max(data.contact[i].geom)])
        loads[wheels.index(body) if body in wheels else 2] += float(force[0])
    return loads[0], loads[1], loads[2]
