# SPDX-License-Identifier: Apache-2.0
"""Excite a MuJoCo model of a robot and log it as a table that `diffbot identify` reads.

Needs MuJoCo and NumPy only. The model is from `diffbot export --to mjcf`, or your own with the same
names: motors left_motor and right_motor at the joints of the wheels. Torques change at random every
0.2 s, up to 0.6 N m here; a wheel that is faster than 8 rad/s is braked.

    python examples/mujoco_log.py MODEL.xml LOG.csv 0.6 8
    ./diffbot identify LOG.csv --robot NAME
"""

import sys

import mujoco
import numpy as np

PERIOD, HOLD = 0.01, 20  # s, and periods
HEADER = "time,left_position,right_position,left_velocity,right_velocity,left_effort,right_effort"


def log(model, torque, speed, seconds=30.0, seed=3):
    """Return the rows of HEADER, shape (n, 7), of a run from rest with these torques, N m."""
    data, random = mujoco.MjData(model), np.random.default_rng(seed)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    motors = [model.actuator(f"{side}_motor") for side in ("left", "right")]
    joints = [int(motor.trnid[0]) for motor in motors]
    angles, speeds = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    rows, effort = [], np.zeros(2)
    for count in range(round(seconds / PERIOD) + 1):
        velocity = data.qvel[speeds]
        # MuJoCo moves by the new speed: angles are half a step ahead of speeds.
        position = data.qpos[angles] - 0.5 * model.opt.timestep * velocity
        rows.append((count * PERIOD, *position, *velocity, *effort))
        if count % HOLD == 0:
            effort = torque * random.choice([-1.0, -0.5, 0.5, 1.0], 2)
        fast = np.abs(velocity) > speed
        effort = np.where(fast, -torque * np.sign(velocity), effort)
        data.ctrl[[motor.id for motor in motors]] = effort
        mujoco.mj_step(model, data, nstep=round(PERIOD / model.opt.timestep))
    return np.array(rows)


def main():
    """Write the table."""
    if len(sys.argv) != 5:
        sys.exit("usage: mujoco_log.py MODEL.xml LOG.csv TORQUE_IN_NM SPEED_IN_RAD_PER_S")
    source, table, torque, speed = sys.argv[1:]
    rows = log(mujoco.MjModel.from_xml_path(source), float(torque), float(speed))
    np.savetxt(table, rows, fmt="%.9g", delimiter=",", header=HEADER, comments="")


if __name__ == "__main__":
    main()
