# SPDX-License-Identifier: Apache-2.0
"""Files of a split recording without metadata.yaml are taken in their order of time."""

import pytest

from diffbot_recordings.bag import StorageFiles


@pytest.mark.parametrize(
    "name",
    [
        "rosbag2_2026_11_28-00_00_00_{}.mcap",
        # Lyrical: number, prefix, time.
        "{}_rosbag2_2026_11_28-00_00_00.mcap",
        "{}_bag_20261128.db3",
        "{}_7.mcap",
    ],
)
def test_parts_are_in_the_order_of_their_numbers(tmp_path, name):
    for number in (10, 2, 0, 11, 1):
        (tmp_path / name.format(number)).touch()
    results = [file.name for file in StorageFiles.of(tmp_path).files]
    assert results == [name.format(number) for number in (0, 1, 2, 10, 11)]
