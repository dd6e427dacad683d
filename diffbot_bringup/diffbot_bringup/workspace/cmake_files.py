"""Repair the paths in the CMake files of the ROS 2 wheels."""

import re
from pathlib import Path

from diffbot_bringup.workspace.failure import SetupError
from diffbot_bringup.workspace.stamps import write_atomically

_BUILDER = "/opt/python/"
_NUMPY = re.compile(r'/opt/python/[^";]*/site-packages/numpy/(?:_core|core)/include')
# Without its encoding CMake reads ASCII only, and cuts the path of a checkout at the first umlaut.
_STRINGS = re.compile(r'(file\(STRINGS "[^"]*" \w+)\)')
_PYTHON = re.compile(r'/opt/python/[^";/]+/include/python3\.\d+t?')


def rewrite(prefix: Path, python_include: Path, site: Path) -> int:
    """Replace the include folders of the wheels' builder by this machine's; read paths as UTF-8.

    prefix is where the wheels are installed, python_include holds Python.h and site is the
    site-packages folder that has NumPy. Returns the number of files changed; raises SetupError
    when a path of the builder is left, because a build would fail on it.
    """
    numpy_include = site / "numpy" / "_core" / "include"
    if not numpy_include.is_dir():
        numpy_include = site / "numpy" / "core" / "include"
    changed = 0
    for path in sorted((prefix / "share").glob("*/cmake/*.cmake")):
        found = path.read_text(encoding="utf-8")
        text = _NUMPY.sub(str(numpy_include), found)
        text = _PYTHON.sub(str(python_include), text)
        text = _STRINGS.sub(r"\1 ENCODING UTF-8)", text)
        if _BUILDER in text:
            raise SetupError(f"{path} names a folder of its builder that is not known here")
        if text != found:
            write_atomically(path, text)
            changed += 1
    return changed
