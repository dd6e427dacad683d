# SPDX-License-Identifier: Apache-2.0
"""`identify` as its tests run it."""

import json

from diffbot_ident.recording.identify import main


def identify(tmp_path, *arguments, pictures=False):
    """Exit status and summary.json of `identify`, if there is one; None without."""
    output = tmp_path / "out"
    quick = () if pictures else ("--no-pictures",)
    status = main([*map(str, arguments), *quick, "--output", str(output)])
    path = output / "summary.json"
    return status, json.loads(path.read_text()) if path.exists() else None
