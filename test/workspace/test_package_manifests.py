# SPDX-License-Identifier: Apache-2.0
"""Each package names what its files use, and no more, in package.xml, setup.py and CMakeLists.txt.

What a package uses is read from its files: imports of Python (also those inside functions), ROS
packages that launch files and lists of packages name, types in messages. A made-up package shows
that each kind of finding is found.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]

# Python modules that are no ROS packages: (key of rosdep, name on the Python package index). rosdep
# has no key for those with None; they are left to the user, so setup.py names them as extras. Those
# whose key ends with -pip are extras, too: only TOP names these keys, as bloom refuses them.
PYTHON = {
    "backports": (None, "backports-zstd"),
    "catkin_pkg": ("python3-catkin-pkg", "catkin-pkg"),
    "filterpy": (None, "filterpy"),
    "hatchling": (None, "hatchling"),
    "hypothesis": ("python3-hypothesis", "hypothesis"),
    "lz4": (None, "lz4"),
    "matplotlib": ("python3-matplotlib", "matplotlib"),
    "mujoco": ("python3-mujoco-pip", "mujoco"),
    "numpy": ("python3-numpy", "numpy"),
    "PIL": ("python3-pil", "pillow"),
    "padasip": (None, "padasip"),
    "packaging": ("python3-packaging", "packaging"),
    "pytest": ("python3-pytest", "pytest"),
    "plotly": (None, "plotly"),
    "rich": ("python3-rich", "rich"),
    "rosbags": ("python3-rosbags-pip", "rosbags"),
    "dask": (None, "dask"),
    "distributed": (None, "distributed"),
    "pyarrow": (None, "pyarrow"),
    "scipy": ("python3-scipy", "scipy"),
    "small_gicp": (None, "small_gicp"),
    "statsmodels": (None, "statsmodels"),
    # ROS distributions up to 2024 have one that is too old.
    "websockets": (None, "websockets"),
    "yaml": ("python3-yaml", "pyyaml"),
}
PIP = "-pip"
TOP = "diffbot_bringup"
"""The package that needs all others; it names the keys that pip installs for all of them."""
# What `ros2 launch PACKAGE FILE.launch.xml` takes.
LAUNCH = ("launch_xml", "ros2launch")
# Used, and not to be named: (package, what it uses) -> why.
KNOWN = {
    ("diffbot_sim", "diffbot_bringup"): "reads files of config/ for sim:=gz, and says what to do "
    "where they are missing; diffbot_bringup needs diffbot_sim, so naming it would be a circle",
    (
        "diffbot_bringup",
        "setuptools",
    ): "of the set-up of a checkout, which installs it or has colcon's",
    ("diffbot_recordings", "compression"): "of Python itself from 3.14 on",
    ("diffbot_bringup", "xdist"): "of ./diffbot test, which does without it",
    **dict.fromkeys(
        [("diffbot_export", client) for client in ("can", "dynamixel_sdk", "pyvesc")],
        "of the examples of docs/write_to_drivers.md, which are run where they are",
    ),
    ("diffbot_bringup", "faults"): "a package of the tests: ./diffbot faults runs in a checkout",
}
# Functions whose texts are names of ROS packages, and in which of their arguments.
NAMING = {
    "executable": slice(0, 1),
    "get_package_prefix": slice(0, 1),
    "get_package_share_directory": slice(0, 1),
    "require_packages": slice(1, None),
}
IMPORTING = ("importorskip", "import_module", "find_spec", "_of_tool", "_joining")
IN_LAUNCH = re.compile(r"""\bpkg="(\w+)"|\$\(find-pkg-(?:share|prefix) (\w+)\)|package://(\w+)/""")
FIELD = re.compile(r"^(?:(\w+)/)?([A-Z]\w*)\S*\s+\w+", re.MULTILINE)
RUNTIME = ("depend", "exec_depend")
BUILD = ("buildtool_depend", "build_depend", "depend")

Uses = dict[str, str]
"""Module or ROS package -> the first place that uses it."""


@dataclass
class Manifest:
    """The parts of package.xml and setup.py that are compared."""

    name: str
    build_type: str
    versions: set[str]
    named: list[tuple[str, str]]
    """(tag, name) of each dependency of package.xml, in its order."""
    requires: set[str] = field(default_factory=set)
    """setup.py's install_requires, names of the Python package index."""
    extras: dict[str, set[str]] = field(default_factory=dict)
    """setup.py's extras_require."""

    def dependencies(self, *tags: str) -> set[str]:
        """Return the names in the elements with these tags."""
        return {name for tag, name in self.named if tag in tags}


def read_manifest(folder: Path) -> Manifest:
    """Read package.xml and, of a Python package, setup.py, which is not run."""
    root = ElementTree.parse(folder / "package.xml").getroot()
    named = [(e.tag, (e.text or "").strip()) for e in root if e.tag.endswith("depend")]
    name, version = root.findtext("name") or "", root.findtext("version") or ""
    manifest = Manifest(name, root.findtext("export/build_type") or "", {version}, named)
    if (folder / "setup.py").exists():
        keywords = _setup_keywords(folder / "setup.py")
        manifest.versions.add(keywords["version"])
        manifest.requires = set(keywords["install_requires"]) - {"setuptools"}  # colcon brings it
        extras = keywords.get("extras_require", {})
        manifest.extras = {extra: set(names) for extra, names in extras.items()}
    return manifest


def _setup_keywords(file: Path) -> dict[str, Any]:
    """Return the arguments of the call of setup that are literals."""
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    (call,) = (c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "setup")
    wanted = ("version", "install_requires", "extras_require")
    return {k.arg: ast.literal_eval(k.value) for k in call.keywords if k.arg in wanted}


def uses_of_code(folder: Path, name: str) -> Uses:
    """Return what the package's modules and launch files use, without itself."""
    uses: Uses = {}
    for file in sorted((folder / name).rglob("*.py")):
        for line, used in (*imports(file), *named_packages(file)):
            uses.setdefault(used, f"{file.relative_to(folder)}:{line}")
    for file in sorted(folder.glob("launch/*.launch.xml")):
        place = f"{file.relative_to(folder)}"
        for used in (*LAUNCH, *_matches(IN_LAUNCH, file)):
            uses.setdefault(used, place)
    uses.pop(name, None)
    return uses


def uses_of_tests(folder: Path, name: str) -> Uses:
    """Return what the tests import, without the package itself and the helpers beside the tests."""
    uses: Uses = {}
    tests = (folder / "test").resolve()  # a link, in diffbot_bringup
    others = (folder.glob("*.py") for folder in (ROOT / "benchmarks", ROOT / "test"))
    beside = {file.stem for file in (*tests.rglob("*.py"), *chain(*others))}
    # Packages in the top level's test/ are on the path of all tests: pytest's `pythonpath`.
    places = (tests, ROOT / "test")
    beside |= {file.parent.name for place in places for file in place.rglob("__init__.py")}
    for file in sorted(tests.rglob("*.py")):
        for line, used in imports(file):
            if used not in beside | {name}:
                uses.setdefault(used, f"test/{file.relative_to(tests)}:{line}")
    return uses


@functools.lru_cache(maxsize=1)  # all files have a million nodes, which garbage collection visits
def _nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text())))


@functools.cache
def imports(file: Path) -> list[tuple[int, str]]:
    """Return (line, top-level module) of all imports that are not of the standard library."""
    results: list[tuple[int, str]] = []
    for node in _nodes(file):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        elif isinstance(node, ast.Call) and _called(node) in IMPORTING:
            modules = _texts(node.args[:1])
        for module in modules:
            top = module.partition(".")[0]
            if top and top not in sys.stdlib_module_names:
                results.append((node.lineno, top))
    return results


@functools.cache
def named_packages(file: Path) -> list[tuple[int, str]]:
    """Return (line, ROS package) of what a module starts or looks for by the package's name.

    These are texts, up to a dot, in calls of `NAMING` and in collections called ...PACKAGES.
    """
    results: list[tuple[int, str]] = []
    for node in _nodes(file):
        texts: list[str] = []
        if isinstance(node, ast.Call) and _called(node) in NAMING:
            texts = _texts(node.args[NAMING[_called(node)]])
        elif isinstance(node, ast.Assign) and _ends_with_packages(node.targets[0]):
            texts = _texts(_members(node.value))
        results += [(node.lineno, text.partition(".")[0]) for text in texts]
    return results


def _members(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a literal collection holds, of a dictionary the values; of all else nothing."""
    if isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set):
        for member in node.values if isinstance(node, ast.Dict) else node.elts:
            yield member
            yield from _members(member)


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _ends_with_packages(target: ast.AST) -> bool:
    return isinstance(target, ast.Name) and target.id.endswith("PACKAGES")


def _texts(nodes: Any) -> list[str]:
    constants = (node.value for node in nodes if isinstance(node, ast.Constant))
    return [value for value in constants if isinstance(value, str)]


def _matches(pattern: re.Pattern[str], file: Path) -> list[str]:
    result = pattern.findall(file.read_text())
    return sorted({next(filter(None, groups)) for groups in result if any(groups)})


def findings(folder: Path) -> list[str]:
    """Return a sentence for each thing that a package's manifests should say otherwise."""
    manifest = read_manifest(folder)
    names = [name for _, name in manifest.named]
    results = [f"package.xml: {n} is named twice" for n in sorted(set(names)) if names.count(n) > 1]
    if len(manifest.versions) > 1:
        results.append(f"package.xml and setup.py differ in the version: {manifest.versions}")
    if manifest.build_type == "ament_cmake":
        return [*results, *_findings_of_interfaces(folder, manifest)]
    code, tests = (
        {used: place for used, place in uses.items() if (manifest.name, used) not in KNOWN}
        for uses in (uses_of_code(folder, manifest.name), uses_of_tests(folder, manifest.name))
    )
    return [
        *results,
        *_findings_of_keys(manifest, code, tests),
        *_findings_of_setup(manifest, code, tests),
    ]


def _key(used: str) -> str | None:
    """Return the key of a Debian or ROS package, or None if there is none."""
    key = PYTHON[used][0] if used in PYTHON else used
    return None if key and key.endswith(PIP) else key


def _findings_of_keys(manifest: Manifest, code: Uses, tests: Uses) -> Iterator[str]:
    needed = {key: place for used, place in code.items() if (key := _key(used))}
    tested = {key: place for used, place in tests.items() if (key := _key(used))}
    run = {key for key in manifest.dependencies(*RUNTIME) if not key.endswith(PIP)}
    test = manifest.dependencies("test_depend")
    yield from _compared("package.xml", "exec_depend", needed, run)
    also = {key: place for key, place in tested.items() if key not in run | needed.keys()}
    yield from _compared("package.xml", "test_depend", also, test)


def _findings_of_setup(manifest: Manifest, code: Uses, tests: Uses) -> Iterator[str]:
    """Compare with setup.py; colcon test runs pytest only where the extra `test` names it."""
    python = {used: place for used, place in code.items() if used in PYTHON}
    must = {PYTHON[used][1]: place for used, place in python.items() if _key(used)}
    may = {PYTHON[used][1]: place for used, place in python.items() if not _key(used)}
    extras = {
        name for extra in manifest.extras if extra != "test" for name in manifest.extras[extra]
    }
    yield from _compared("setup.py", "install_requires", must, manifest.requires)
    yield from _compared("setup.py", "extras_require", may, extras)
    also = {PYTHON[used][1]: place for used, place in tests.items() if used in PYTHON}
    also = {name: place for name, place in also.items() if name not in must | may}
    yield from _compared(
        "setup.py", 'extras_require["test"]', also, manifest.extras.get("test", set())
    )


def _compared(file: str, where: str, needed: Uses, named: set[str]) -> Iterator[str]:
    for name in sorted(needed.keys() - named):
        yield f"{file}: add {name} to {where}; {needed[name]} uses it"
    for name in sorted(named - needed.keys()):
        yield f"{file}: remove {name} from {where}; nothing uses it"


def _findings_of_interfaces(folder: Path, manifest: Manifest) -> Iterator[str]:
    cmake = (folder / "CMakeLists.txt").read_text()
    result = re.findall(r"find_package\((\w+)", cmake)
    yield from _compared(
        "package.xml",
        "buildtool_depend or depend",
        dict.fromkeys(result, "CMakeLists.txt"),
        manifest.dependencies(*BUILD),
    )
    listed = re.search(r"DEPENDENCIES ([\w\s]*)\)", cmake)
    types: Uses = {}
    for file in sorted((*folder.glob("msg/*.msg"), *folder.glob("srv/*.srv"))):
        for package, kind in FIELD.findall(re.sub("#.*", "", file.read_text())):
            used = package or ("std_msgs" if kind == "Header" else manifest.name)
            types.setdefault(used, f"{file.relative_to(folder)}")
    types.pop(manifest.name, None)
    named = set(listed.group(1).split()) if listed else set()
    yield from _compared("CMakeLists.txt", "DEPENDENCIES", types, named)
    yield from _compared("package.xml", "depend", types, manifest.dependencies("depend"))
    exported = re.findall(r"ament_export_dependencies\((\w+)", cmake)
    yield from _compared(
        "package.xml",
        "exec_depend",
        dict.fromkeys(exported, "CMakeLists.txt"),
        manifest.dependencies("exec_depend"),
    )


PACKAGES = [*find_packages(ROOT), *find_packages(ROOT / "fallback")]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_package_names_what_it_uses_and_no_more(package):
    assert findings(package.path) == []


def test_only_the_top_package_names_keys_that_pip_installs():
    """So bloom, which refuses such keys, can release all others; none of them needs the top one."""
    used = {
        key
        for package in PACKAGES
        for module in uses_of_code(package.path, package.name)
        if (key := PYTHON.get(module, (None,))[0]) and key.endswith(PIP)
    }
    assert used == {"python3-mujoco-pip", "python3-rosbags-pip"}
    for package in PACKAGES:
        names = {name for _, name in read_manifest(package.path).named}
        assert {n for n in names if n.endswith(PIP)} == (used if package.name == TOP else set())
        assert TOP not in names


def test_all_packages_and_the_changelog_have_one_version():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    versions = set(re.findall(r"^## \[([\d.]+)\]", changelog, re.MULTILINE)[:1])
    assert len(versions) == 1
    for package in PACKAGES:
        versions |= read_manifest(package.path).versions
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    versions |= set(re.findall(r"^version: ([\d.]+)$", citation, re.MULTILINE))
    assert len(versions) == 1


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_source_names_its_licence(package):
    for file in package.path.rglob("*.py"):
        head = file.read_text(encoding="utf-8").splitlines()[:2]
        assert not head or any("SPDX-License-Identifier: Apache-2.0" in line for line in head), file


def test_what_is_known_is_still_used():
    folders = {package.name: package.path for package in PACKAGES}
    for package, used in KNOWN:
        folder = folders[package]
        assert used in uses_of_code(folder, package) | uses_of_tests(folder, package)


def test_no_dependencies_go_in_a_circle():
    """Not even those of tests: colcon builds and tests in their order."""
    below = {p.name: {name for _, name in read_manifest(p.path).named} for p in PACKAGES}
    while below:
        free = [name for name, needed in below.items() if not needed & below.keys()]
        assert free, f"in a circle: {sorted(below)}"
        for name in free:
            del below[name]


@pytest.fixture
def made_up(tmp_path):
    """A package whose manifests are right."""
    files = {
        "package.xml": """<package format="3">
  <name>fork</name>
  <version>1.2.3</version>
  <exec_depend>launch_xml</exec_depend>
  <exec_depend>nav_msgs</exec_depend>
  <exec_depend>python3-yaml</exec_depend>
  <exec_depend>ros2launch</exec_depend>
  <exec_depend>spoon</exec_depend>
  <exec_depend condition="$ROS_DISTRO != humble">gz_cups</exec_depend>
  <test_depend>python3-pytest</test_depend>
  <test_depend>plates</test_depend>
  <export><build_type>ament_python</build_type></export>
</package>
""",
        "setup.py": """from setuptools import setup

setup(
    name="fork",
    version="1.2.3",
    install_requires=["setuptools", "pyyaml"],
    extras_require={"physics": ["mujoco"], "test": ["pytest"]},
)
""",
        "launch/eat.launch.xml": '<launch><node pkg="spoon" exec="eat"/></launch>\n',
        "fork/__init__.py": "",
        "fork/prong.py": """import math
from . import other


def load():
    import yaml.nodes
    from fork import prong
    from nav_msgs.msg import Odometry
    try:
        import mujoco
    except ImportError:
        pass
    return executable("gz_cups", "create")
""",
        "test/table.py": "",
        "test/test_fork.py": "import pytest\nimport table\nimport fork\nimport nav_msgs\n"
        'plates = pytest.importorskip("plates.msg")\n',
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_right_manifests_are_right(made_up):
    assert findings(made_up) == []


def change(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        ("package.xml", "<exec_depend>nav_msgs</exec_depend>", "",
         "package.xml: add nav_msgs to exec_depend; fork/prong.py:8 uses it"),
        ("package.xml", "python3-yaml", "python3-numpy",
         "package.xml: add python3-yaml to exec_depend; fork/prong.py:6 uses it"),
        ("package.xml", "python3-yaml", "python3-numpy",
         "package.xml: remove python3-numpy from exec_depend; nothing uses it"),
        ("package.xml", "<exec_depend>spoon</exec_depend>", "",
         "package.xml: add spoon to exec_depend; launch/eat.launch.xml uses it"),
        ("package.xml", "<exec_depend>ros2launch</exec_depend>", "",
         "package.xml: add ros2launch to exec_depend; launch/eat.launch.xml uses it"),
        ("package.xml", "gz_cups", "gz_pans",
         "package.xml: add gz_cups to exec_depend; fork/prong.py:13 uses it"),
        ("package.xml", "gz_cups", "gz_pans",
         "package.xml: remove gz_pans from exec_depend; nothing uses it"),
        ("package.xml", "<test_depend>plates</test_depend>", "",
         "package.xml: add plates to test_depend; test/test_fork.py:5 uses it"),
        ("package.xml", "plates", "nav_msgs", "package.xml: nav_msgs is named twice"),
        ("package.xml", "plates", "spoon_msgs",
         "package.xml: remove spoon_msgs from test_depend; nothing uses it"),
        ("setup.py", '"pyyaml"', "",
         "setup.py: add pyyaml to install_requires; fork/prong.py:6 uses it"),
        ("setup.py", '"pyyaml"', '"pyyaml", "numpy"',
         "setup.py: remove numpy from install_requires; nothing uses it"),
        ("setup.py", '"mujoco"', "",
         "setup.py: add mujoco to extras_require; fork/prong.py:10 uses it"),
        ("setup.py", '"pytest"', "",
         'setup.py: add pytest to extras_require["test"]; test/test_fork.py:1 uses it'),
        ("setup.py", '"pytest"', '"pytest", "scipy"',
         'setup.py: remove scipy from extras_require["test"]; nothing uses it'),
        ("test/test_fork.py", "import fork", "import spatula",
         "package.xml: add spatula to test_depend; test/test_fork.py:3 uses it"),
    ],
)  # fmt: skip
def test_a_wrong_manifest_is_found(made_up, file, old, new, finding):
    change(made_up, file, old, new)
    assert finding in findings(made_up)


def test_differing_versions_are_found(made_up):
    change(made_up, "setup.py", "1.2.3", "1.2.4")
    (finding,) = findings(made_up)
    assert "1.2.3" in finding and "1.2.4" in finding


@pytest.mark.parametrize(
    ("file", "old", "new", "finding"),
    [
        ("package.xml", "<depend>std_msgs</depend>", "",
         "package.xml: add std_msgs to depend; msg/Spoon.msg uses it"),
        ("msg/Spoon.msg", "std_msgs/Header", "Other",
         "CMakeLists.txt: remove std_msgs from DEPENDENCIES; nothing uses it"),
        ("msg/Spoon.msg", "std_msgs/Header", "nav_msgs/Path",
         "CMakeLists.txt: add nav_msgs to DEPENDENCIES; msg/Spoon.msg uses it"),
        ("package.xml", "<buildtool_depend>ament_cmake</buildtool_depend>", "",
         "package.xml: add ament_cmake to buildtool_depend or depend; CMakeLists.txt uses it"),
        ("CMakeLists.txt", "ament_export_dependencies(rosidl_default_runtime)", "",
         "package.xml: remove rosidl_default_runtime from exec_depend; nothing uses it"),
    ],
)  # fmt: skip
def test_a_wrong_manifest_of_interfaces_is_found(tmp_path, file, old, new, finding):
    for name in ("package.xml", "CMakeLists.txt"):
        (tmp_path / name).write_text((ROOT / "diffbot_msgs" / name).read_text())
    (tmp_path / "msg").mkdir()
    (tmp_path / "msg" / "Spoon.msg").write_text(
        "std_msgs/Header header  # nav_msgs/Path is a comment\nfloat64 size\nOther other\n"
    )
    assert findings(tmp_path) == []
    change(tmp_path, file, old, new)
    assert finding in findings(tmp_path)
