# SPDX-License-Identifier: Apache-2.0
"""Recordings of robots: bags, tables and logs, and identification from them.

`bag` and `table` read files, `segments` divides their samples, `torque_analysis`,
`velocity_analysis`, `voltage_analysis` and `motor_analysis` identify from them, `identify` is the
command.
"""
