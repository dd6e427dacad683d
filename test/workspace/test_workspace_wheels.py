# SPDX-License-Identifier: Apache-2.0
"""Wheels are repaired, and what a killed installer left is found."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from diffbot_bringup.workspace import process, wheels
from diffbot_bringup.workspace.process import SetupError, SetupStep
from diffbot_bringup.workspace.uv import Uv
from diffbot_bringup.workspace.wheels import WheelsEnvironment

EXPORT = (
    'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include;'
    "/opt/python/cp311-cp311/include/python3.11;"
    '/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"\n'
)


@pytest.fixture
def prefix(tmp_path):
    folder = tmp_path / "share" / "some_msgs" / "cmake"
    folder.mkdir(parents=True)
    (folder / "pyExport.cmake").write_text(EXPORT)
    (folder / "other.cmake").write_text("nothing to do\n")
    (tmp_path / "site" / "numpy" / "_core" / "include").mkdir(parents=True)
    return tmp_path


def test_paths_of_the_builder_become_those_of_this_machine(prefix):
    site = prefix / "site"
    include = prefix / "python"
    assert wheels.rewrite(prefix, include, site) == 1
    text = (prefix / "share/some_msgs/cmake/pyExport.cmake").read_text()
    assert text == (
        'INTERFACE_INCLUDE_DIRECTORIES "${_IMPORT_PREFIX}/include;'
        f'{include};{site}/numpy/_core/include"\n'
    )
    assert wheels.rewrite(prefix, include, site) == 0  # a second time changes nothing


def test_paths_with_umlauts_are_read_whole(prefix):
    path = prefix / "share/some_msgs/cmake/other.cmake"
    path.write_text('file(STRINGS "${output}" tuples)\n')
    assert wheels.rewrite(prefix, prefix, prefix / "site") == 2
    assert path.read_text() == 'file(STRINGS "${output}" tuples ENCODING UTF-8)\n'
    assert wheels.rewrite(prefix, prefix, prefix / "site") == 0


def test_who_is_killed_leaves_the_old_file(prefix, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        wheels.rewrite(prefix, prefix / "python", prefix / "site")
    assert (prefix / "share/some_msgs/cmake/pyExport.cmake").read_text() == EXPORT


def test_an_unknown_path_of_the_builder_is_an_error(prefix):
    path = prefix / "share/some_msgs/cmake/pyExport.cmake"
    path.write_text("/opt/python/cp311-cp311/lib/libpython3.11.so")
    with pytest.raises(SetupError, match=r"pyExport\.cmake"):
        wheels.rewrite(prefix, prefix, prefix / "site")


def make_distribution(site, name, files, record=True):
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("")
    if record:
        rows = [*files, f"{info.name}/METADATA", f"{name}/__pycache__/a.pyc"]
        (info / "RECORD").write_text("".join(f'"{row}",sha256=x,1\n' for row in rows))
    for file in files:
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_text("")
    return info


def test_half_installed_distributions_are_removed(tmp_path):
    good = make_distribution(tmp_path, "good", ["good/a.py"])
    unrecorded = make_distribution(tmp_path, "unrecorded", ["unrecorded/a.py"], record=False)
    torn = make_distribution(tmp_path, "torn", ["torn/a.py", "torn/b.py"])
    (tmp_path / "torn" / "b.py").unlink()
    (tmp_path / "~orn").mkdir()
    assert wheels.incomplete(tmp_path) == [torn, unrecorded]
    wheels.remove_incomplete(tmp_path)
    assert sorted(tmp_path.glob("*.dist-info")) == [good]
    assert not (tmp_path / "~orn").exists()
    assert wheels.incomplete(tmp_path) == []


def test_a_step_prints_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(process, "_PLAIN_TICK", 0.05)
    printed = ""
    with SetupStep("Working") as step:
        step.update(50, 100, "numpy")
        deadline = time.monotonic() + 10.0
        while printed.count("50%") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            printed += capsys.readouterr().err
    lines = (printed + capsys.readouterr().err).splitlines()
    assert lines[0] == "diffbot: Working ..."
    assert lines[1].startswith("diffbot: Working 0 s  50%") and lines[1].endswith("numpy")
    assert lines[-1].startswith("diffbot: Working: done (")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A checkout, where uv installs nothing; the function returns the environment of a Python."""
    for distro in wheels.DISTROS:
        (tmp_path / f"constraints-{distro}.txt").write_text("a==1\n")
    monkeypatch.setattr(wheels, "check_machine", lambda: None)
    monkeypatch.setattr(wheels, "rewrite", lambda *_: None)
    monkeypatch.setattr(Uv, "prepare", lambda *_: None)
    monkeypatch.setattr(Uv, "install", lambda *_: None)

    def make(_uv, prefix, *_rest):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "python").touch()
        version = ".".join(map(str, sys.version_info[:2]))
        (prefix / "lib" / f"python{version}" / "site-packages").mkdir(parents=True)

    monkeypatch.setattr(Uv, "make_environment", make)

    def environment(base_prefix=None, distro=wheels.DISTROS[0]):
        with monkeypatch.context() as other:
            if base_prefix:
                other.setattr(sys, "base_prefix", base_prefix)
            return WheelsEnvironment(tmp_path, distro)

    return environment


@pytest.mark.parametrize("left", [0, 15, 17, 40])
def test_every_python_of_the_environment_compiles_a_cut_module_anew(machine, left):
    """The first module of a process as well, before code of the suite could do it."""
    (environment := machine()).prepare(-1)
    (site,) = environment.sites
    (site / "cut.py").write_text("print([*range(3)])")
    unset = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    variables = {name: text for name, text in os.environ.items() if name not in unset}
    import_it = f"import site; site.addsitedir({str(site)!r}); import cut"

    def run():
        command = [sys.executable, "-S", "-c", import_it]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
        return done.stdout, done.stderr

    assert run() == ("[0, 1, 2]\n", "")
    (compiled,) = (site / "__pycache__").iterdir()
    whole = compiled.read_bytes()
    os.truncate(compiled, left)
    assert run() == run() == ("[0, 1, 2]\n", "")
    assert compiled.read_bytes() == whole


def test_each_distribution_has_an_environment_of_its_own(machine):
    first, second = machine(distro="jazzy"), machine(distro="kilted")
    assert first.directory != second.directory and first.key() != second.key()
    first.prepare(-1)
    second.prepare(-1)
    assert first.is_ready() and second.is_ready()


def test_each_python_has_an_environment_of_its_own(machine, tmp_path):
    first, second = machine(), machine("/another/of/the/same/version")
    assert first.directory != second.directory
    assert first.directory.parent == second.directory.parent == tmp_path / ".diffbot"
    assert machine().directory == first.directory
    first.prepare(-1)
    made = first.python.stat().st_mtime_ns
    assert first.is_ready() and not second.is_ready()
    assert (tmp_path / ".diffbot" / "venv").resolve() == first.prefix
    second.prepare(-1)
    assert first.is_ready() and second.is_ready()
    assert first.python.stat().st_mtime_ns == made
    assert (tmp_path / ".diffbot" / "venv").resolve() == second.prefix
    shutil.rmtree(second.directory)
    assert not first.is_ready()  # the link leads nowhere
    first.prepare(-1)
    assert first.is_ready() and first.python.stat().st_mtime_ns == made
    assert (tmp_path / ".diffbot" / "venv").resolve() == first.prefix
