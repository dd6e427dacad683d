# SPDX-License-Identifier: Apache-2.0
"""Packages are found as colcon finds them, and a build is due only when one is needed."""

import pytest

from diffbot_bringup.workspace.packages import find_packages


def make_package(folder, name, build_type="ament_python"):
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(
        f"<package><name>{name}</name><export><build_type>{build_type}</build_type></export>"
        "</package>"
    )
    (folder / "config").mkdir()
    (folder / "config" / "a.yaml").write_text("x: 1")
    (folder / "msg").mkdir()
    (folder / "msg" / "A.msg").write_text("float64 x")
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("")
    (folder / name / "module.py").write_text("x = 1")
    (folder / "test").mkdir()
    return folder


def fingerprint(root):
    (package,) = find_packages(root)
    return package.fingerprint()


def test_finds_packages_and_skips_what_colcon_ignores(tmp_path):
    make_package(tmp_path / "b", "b", "ament_cmake")
    make_package(tmp_path / "group" / "a", "a")
    make_package(tmp_path / "ignored" / "c", "c")
    make_package(tmp_path / ".diffbot" / "d", "d")
    (tmp_path / "ignored" / "COLCON_IGNORE").touch()
    assert [(p.name, p.build_type) for p in find_packages(tmp_path)] == [
        ("a", "ament_python"),
        ("b", "ament_cmake"),
    ]
    # Named itself, an ignored folder is searched: this is how the fallbacks are found.
    assert [p.name for p in find_packages(tmp_path / "ignored")] == ["c"]


@pytest.mark.parametrize("name", ["p/module.py", "config/a.yaml"])
def test_edits_of_linked_files_need_no_build(tmp_path, name):
    folder = make_package(tmp_path / "p", "p")
    before = fingerprint(tmp_path)
    (folder / name).write_text("y: 2")
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize("name", ["package.xml", "msg/A.msg"])
def test_edits_of_compiled_files_need_a_build(tmp_path, name):
    folder = make_package(tmp_path / "p", "p")
    before = fingerprint(tmp_path)
    with (folder / name).open("a") as file:
        file.write("\n")
    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("config/b.yaml", True),  # has to be linked into the install folder
        ("p/sub/__init__.py", True),
        ("p/other.py", False),  # its folder is linked
        ("test/test_p.py", False),
        ("p/__pycache__/module.pyc", False),
        ("config/.a.yaml.swp", False),
        ("config/a.yaml~", False),
    ],
)
def test_new_files_need_a_build_when_they_are_installed(tmp_path, name, needed):
    folder = make_package(tmp_path / "p", "p")
    before = fingerprint(tmp_path)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("")
    assert (fingerprint(tmp_path) != before) is needed


def test_files_behind_a_link_count(tmp_path):
    make_package(tmp_path / "p", "p")
    (tmp_path / "launch").mkdir()
    (tmp_path / "p" / "launch").symlink_to("../launch")
    before = fingerprint(tmp_path)
    (tmp_path / "launch" / "new.launch.xml").write_text("<launch/>")
    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize("text", ["<package>", "<package/>"])
def test_a_broken_manifest_is_named(tmp_path, text):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "package.xml").write_text(text)
    with pytest.raises(ValueError, match=r"p/package\.xml"):
        find_packages(tmp_path)
