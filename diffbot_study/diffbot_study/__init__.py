"""Whole runs in one process, without ROS: what benchmarks, papers and tests are made with."""
