# SPDX-License-Identifier: Apache-2.0
"""Pages that were written, as tests read them: from the file, and as a browser has drawn them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest


def data_of(page: Path):
    text = page.read_text(encoding="utf-8")
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(match[1])


def numbers(packed):
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


def charts_of(page):
    return {chart["key"]: chart for chart in data_of(page)["charts"]}


def verdict_of(page):
    text = page.read_text(encoding="utf-8")
    tone = re.search(r'<header class="(\w+)">', text)[1]
    return tone, re.search(r'<p class="verdict">(.*?)</p>', text)[1]


def assert_drawn(tab, page: Path):
    """The page that a browser shows asked for nothing, complained of nothing, and all is drawn."""
    asked = [url for url in tab.requests if not url.startswith(("data:", "blob:"))]
    assert asked == [page.as_uri()]
    assert tab.complaints == [], tab.complaints
    for key, chart in charts_of(page).items():
        of = f"document.getElementById({json.dumps(key)})"
        if chart["kind"] == "chart":
            shown = tab.value(
                f"{of}.data.filter(t => t.name).map(t => Array.from(t.y).slice(-1)[0])"
            )
            kept = [float(numbers(curve["y"])[-1]) for curve in chart["curves"]]
            # JSON has no NaN, with which a curve of readings may end.
            kept = [None if np.isnan(value) else pytest.approx(value) for value in kept]
            assert shown == kept, key
            drawn = f"{of}.querySelectorAll('.scatterlayer path').length"
            assert tab.value(drawn) >= 1, key
        elif chart["kind"] == "intervals":
            assert tab.value(f"Array.from({of}.data[0].x)") == chart["values"], key
            assert tab.value(f"{of}.querySelectorAll('.scatterlayer .point').length") >= 1, key
        elif chart["kind"] == "scene":
            count = (
                f"(() => {{ const c = {of}.querySelector('canvas');"
                "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()"
            )
            assert tab.value(count) > 1000, key
        else:
            assert tab.value(f"{of}.querySelectorAll('.heatmaplayer image').length") == 1, key
