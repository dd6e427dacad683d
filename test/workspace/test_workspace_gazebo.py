# SPDX-License-Identifier: Apache-2.0
"""Gazebo for a checkout: the machine's own or Debian 11's packages; all tools are fakes here."""

import os
from pathlib import Path

import pytest

from diffbot_bringup.workspace import gazebo
from diffbot_bringup.workspace.gazebo import GazeboSetup, own_mirror, unpack, wants_gazebo
from diffbot_bringup.workspace.process import SetupError
from diffbot_bringup.workspace.wheels import wanted_part

MIRROR = "http://deb.example/debian"
PACKAGES = ("gazebo", "libc6", "dpkg", "libtbb2")

# Writes down its words after the options; $FAIL names the subcommand that fails.
APT = """#!/bin/sh
all="$*"
while [ "$1" = --quiet ] || [ "$1" = -o ]; do
  case "$1" in --quiet) shift;; *) shift; shift;; esac
done
echo "$@" >> "$CALLS"
if [ "$1" = "$FAIL" ]; then echo "reading"; echo "E: no route to the archive"; exit 100; fi
case "$1" in
  update) printf '%s\\n' "$all" > "$CALLS.options";;
  install) for name in $PACKAGES; do echo "Inst $name (1 Debian:11 [amd64])"; done;;
  download) shift; n=0; for name in "$@"; do
      n=$((n + 1)); echo "Get:$n http://x bullseye/main amd64 $name amd64 1 [1 kB]"
      touch "${name}_1_amd64.deb"
    done;;
  indextargets) printf "$TARGETS";;
esac
"""
DPKG = """#!/bin/sh
echo "dpkg-deb $@" >> "$CALLS"
name=$(basename "$2")
if [ "$name" = "$FAIL" ]; then echo "no end of archive" >&2; exit 2; fi
mkdir -p "$3/usr/bin" && touch "$3/usr/bin/gzserver"
mkdir -p "$3/usr/share/doc" "$3/unpacked" && touch "$3/usr/share/doc/$name" "$3/unpacked/$name"
"""
# Finds a Gazebo of the machine ($OWN) or in the prefix; $FAIL=compile is a compiler that fails.
BUILDER = """#!/bin/sh
echo "builder ${*#-m diffbot_sim.gazebo.installation}" >> "$CALLS"
if [ "$FAIL" = builder ]; then echo "no module named diffbot_sim"; exit 1; fi
if [ -z "$OWN" ] && [ ! -d "$DIFFBOT_GAZEBO/prefix" ]; then echo "no Gazebo"; exit 3; fi
if [ "$3" = --find ]; then exit 0; fi
if [ "$FAIL" = compile ]; then echo "error: expected ;"; exit 1; fi
touch "$DIFFBOT_GAZEBO/plugin"
"""


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A checkout on a machine with apt, dpkg and Debian's keys, and without Gazebo."""
    for name, text in (("apt-get", APT), ("dpkg-deb", DPKG), ("python", BUILDER)):
        put(tmp_path / "bin" / name, text)
    (tmp_path / "keys.gpg").touch()
    monkeypatch.setattr(gazebo, "_KEYRING", tmp_path / "keys.gpg")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("PACKAGES", " ".join(PACKAGES))
    monkeypatch.setenv(gazebo.MIRROR_VARIABLE, MIRROR)
    for name in ("FAIL", "OWN", "TARGETS", gazebo.FOLDER_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    put(tmp_path / "diffbot_sim/diffbot_sim/gazebo/plugin/plugin.cc", "// source")
    return tmp_path


def setup(root):
    return GazeboSetup(root, root / "bin" / "python", dict(os.environ))


def calls():
    """What was called since the last time: the first two words of each call."""
    path = Path(os.environ["CALLS"])
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [" ".join(line.split()[:2]) for line in lines]


def test_gets_gazebo_and_builds_the_plugin_once(root):
    setup(root).prepare(-1)
    done = calls()
    assert done[:5] == [
        "builder --find",
        "update -o",
        "install --simulate",
        f"download {PACKAGES[0]}",
        "dpkg-deb -x",
    ]
    assert done[-1] == "builder"
    folder = root / ".diffbot" / "gazebo"
    assert sorted(path.name for path in folder.iterdir()) == ["plugin", "prefix"]
    assert setup(root).is_ready()
    setup(root).prepare(-1)
    assert calls() == []


def test_what_belongs_to_the_machine_is_not_fetched_and_documents_not_kept(root):
    setup(root).prepare(-1)
    unpacked = {path.name for path in (root / ".diffbot/gazebo/prefix/unpacked").iterdir()}
    assert {"gazebo_1_amd64.deb", "libtbb2_1_amd64.deb", "libgazebo-dev_1_amd64.deb"} <= unpacked
    assert not {"libc6_1_amd64.deb", "dpkg_1_amd64.deb"} & unpacked
    assert not (root / ".diffbot/gazebo/prefix/usr/share/doc").exists()


def test_apt_works_in_its_own_folder_with_its_own_source(root, monkeypatch):
    monkeypatch.setenv("FAIL", "install")
    with pytest.raises(SetupError):
        setup(root).prepare(-1)
    state = root / ".diffbot" / "gazebo" / "apt"
    options = (root / "calls.options").read_text()
    for option in ("Dir::State", "Dir::Cache"):
        assert f"-o {option}={state} " in options
    source = (state / "sources.list").read_text()
    assert source == f"deb [signed-by={root / 'keys.gpg'}] {MIRROR} bullseye main\n"


def test_a_gazebo_of_the_machine_is_used_and_nothing_fetched(root, monkeypatch):
    monkeypatch.setenv("OWN", "yes")
    put(root / "bin" / "gzserver", "")
    monkeypatch.delenv(gazebo.MIRROR_VARIABLE)
    setup(root).prepare(-1)
    assert calls() == ["builder --find", "builder"]
    assert setup(root).is_ready()


def test_other_packages_replace_those_that_are_there(root, monkeypatch):
    setup(root).prepare(-1)
    calls()
    monkeypatch.setattr(gazebo, "_HEADERS", ("libgazebo-dev", "libnew-dev"))
    setup(root).prepare(-1)
    unpacked = {path.name for path in (root / ".diffbot/gazebo/prefix/unpacked").iterdir()}
    assert "libnew-dev_1_amd64.deb" in unpacked and "libtbb-dev_1_amd64.deb" not in unpacked


def test_another_source_of_the_plugin_is_built_and_nothing_fetched_again(root):
    setup(root).prepare(-1)
    calls()
    put(root / "diffbot_sim/diffbot_sim/gazebo/plugin/plugin.cc", "// another")
    assert not setup(root).is_ready()
    setup(root).prepare(-1)
    assert calls() == ["builder --find", "builder"]
    assert setup(root).is_ready()


def test_a_removed_folder_is_made_again(root):
    setup(root).prepare(-1)
    calls()
    gazebo.shutil.rmtree(root / ".diffbot" / "gazebo")
    assert not setup(root).is_ready()
    setup(root).prepare(-1)
    assert "download gazebo" in calls()


@pytest.mark.parametrize("step", ["update", "install", "download"])
def test_apt_that_fails_is_explained_in_one_line_with_the_variable(root, monkeypatch, step):
    monkeypatch.setenv("FAIL", step)
    with pytest.raises(SetupError) as error:
        setup(root).prepare(-1)
    text = str(error.value)
    assert "\n" not in text and "E: no route to the archive" in text
    assert MIRROR in text and f"set {gazebo.MIRROR_VARIABLE}" in text
    assert "no route" in (root / ".diffbot/log/gazebo.log").read_text()
    assert not (root / ".diffbot/gazebo/prefix").exists() and not setup(root).is_ready()
    monkeypatch.delenv("FAIL")
    setup(root).prepare(-1)
    assert setup(root).is_ready()


def test_a_bad_package_leaves_no_prefix_and_the_next_run_makes_it(root, monkeypatch):
    monkeypatch.setenv("FAIL", "libtbb2_1_amd64.deb")
    with pytest.raises(SetupError, match="cannot unpack libtbb2_1.*no end of archive"):
        setup(root).prepare(-1)
    assert not (root / ".diffbot/gazebo/prefix").exists() and not setup(root).is_ready()
    monkeypatch.delenv("FAIL")
    setup(root).prepare(-1)
    assert (root / ".diffbot/gazebo/prefix/unpacked/libtbb2_1_amd64.deb").exists()


def test_an_interrupted_unpack_leaves_no_prefix(root, monkeypatch):
    def interrupted(files, prefix, watch):
        unpack(files[:2], prefix, watch)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(gazebo, "unpack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            setup(root).prepare(-1)
    assert not (root / ".diffbot/gazebo/prefix").exists() and not setup(root).is_ready()
    setup(root).prepare(-1)
    folder = root / ".diffbot" / "gazebo"
    assert sorted(path.name for path in folder.iterdir()) == ["plugin", "prefix"]
    assert (folder / "prefix/unpacked/gazebo_1_amd64.deb").exists()


def test_a_plugin_that_is_not_built_is_said_with_the_compilers_words(root, monkeypatch):
    monkeypatch.setenv("FAIL", "compile")
    with pytest.raises(SetupError, match=r"(?s)not built:.*expected ;.*gazebo\.log"):
        setup(root).prepare(-1)
    assert not setup(root).is_ready()
    calls()
    monkeypatch.delenv("FAIL")
    setup(root).prepare(-1)
    assert calls() == ["builder --find", "builder"]


def test_a_builder_that_does_not_run_fetches_nothing(root, monkeypatch):
    monkeypatch.setenv("FAIL", "builder")
    with pytest.raises(SetupError, match="no module named"):
        setup(root).prepare(-1)
    assert calls() == ["builder --find"]


def test_missing_tools_are_named(root, monkeypatch):
    monkeypatch.setenv("PATH", str(root / "nothing"))
    monkeypatch.setattr(gazebo, "_KEYRING", root / "no.gpg")
    monkeypatch.setattr(GazeboSetup, "_has_gazebo", lambda self, lock: False)
    with pytest.raises(SetupError) as error:
        setup(root).prepare(-1)
    text = str(error.value)
    for word in ("apt-get", "dpkg-deb", "no.gpg", "debian-archive-keyring", "sim:=mujoco"):
        assert word in text
    assert "\n" not in text


def test_a_full_disk_is_said_before_anything_is_fetched(root, monkeypatch):
    monkeypatch.setattr(gazebo, "_SPACE", 10**18)
    with pytest.raises(SetupError, match="disk"):
        setup(root).prepare(-1)
    assert calls() == ["builder --find"]


def test_nothing_is_fetched_for_another_processor(root, monkeypatch):
    monkeypatch.setattr(gazebo.platform, "machine", lambda: "aarch64")
    with pytest.raises(SetupError, match="x86-64 only; here use sim:=mujoco"):
        setup(root).prepare(-1)
    assert calls() == ["builder --find"]


OTHER = "http://other.example/debian"


@pytest.fixture
def system(root, monkeypatch):
    """Sets what the machine is, and its apt's archives."""
    monkeypatch.delenv(gazebo.MIRROR_VARIABLE)

    def be(targets, **release):
        monkeypatch.setattr(gazebo.platform, "freedesktop_os_release", lambda: release)
        monkeypatch.setenv("TARGETS", targets)

    return be


def test_the_archive_is_that_of_the_machines_own_release(system):
    targets = (
        "main bookworm-security http://security.example\\n"
        "contrib bookworm http://contrib.example\\n"
        f"main bookworm {OTHER}\\n"
        "main bookworm http://second.example\\n"
    )
    system(targets, ID="debian", VERSION_CODENAME="bookworm")
    assert own_mirror() == OTHER
    # Without this option apt says nothing before its first update.
    assert calls() == ["indextargets --no-release-info"]


@pytest.mark.parametrize("release", ["bookworm", "stable", "oldstable"])
def test_the_release_may_be_named_by_its_state(system, release):
    system(f"main {release} {OTHER}\\n", ID="debian", VERSION_CODENAME="bookworm")
    assert own_mirror() == OTHER


@pytest.mark.parametrize(
    ("targets", "release"),
    [
        (f"main jammy {OTHER}\\n", {"ID": "ubuntu", "VERSION_CODENAME": "jammy"}),
        (f"main bookworm {OTHER}\\n", {"ID": "debian", "VERSION_CODENAME": "trixie"}),
        ("", {"ID": "debian", "VERSION_CODENAME": "bookworm"}),
        ("", {"ID": "debian"}),
        ("", {}),
    ],
)
def test_without_an_archive_of_its_own_the_variable_is_asked_for(root, system, targets, release):
    system(targets, **release)
    assert own_mirror() is None
    with pytest.raises(SetupError, match=f"set {gazebo.MIRROR_VARIABLE}.*sim:=mujoco"):
        setup(root).prepare(-1)


def test_apt_that_cannot_say_its_archives_has_none(system, monkeypatch):
    system(f"main bookworm {OTHER}\\n", ID="debian", VERSION_CODENAME="bookworm")
    monkeypatch.setenv("FAIL", "indextargets")
    assert own_mirror() is None


@pytest.mark.parametrize("variable", [None, MIRROR])
def test_the_variable_wins_over_the_machines_archive(root, system, monkeypatch, variable):
    system(f"main bookworm {OTHER}\\n", ID="debian", VERSION_CODENAME="bookworm")
    if variable:
        monkeypatch.setenv(gazebo.MIRROR_VARIABLE, variable)
    monkeypatch.setenv("FAIL", "install")
    with pytest.raises(SetupError, match=variable or OTHER):
        setup(root).prepare(-1)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("launch ident sim:=gazebo", True),
        ("launch ident sim:=gazebo duration:=5.0", True),
        ("launch ident sim:=mujoco", False),
        ("launch ident", False),
        ("launch gz sim:=gz", False),
        ("launch ident sim:=gazebo_ros", False),
        ("launch ident results:=runs/gazebo", False),
        ("run diffbot_sim simulator --ros-args -p engine:=gazebo", True),
        ("run diffbot_sim simulator --ros-args -p engine:=ideal", False),
        ("setup gazebo", True),
        ("setup", False),
        ("python benchmarks/contact_settings.py --engine gazebo", True),
        ("python benchmarks/contact_settings.py --engine=gazebo", True),
        ("python benchmarks/driving.py", False),
        ("test", True),
        ("test diffbot_sim", True),
        ("test arc_odometry diffbot_bringup -- -q", True),
        ("test arc_odometry", False),
        ("test arc_odometry -- -k diffbot_sim", False),
        ("test -- -q", True),
        ("test --kernels", True),
        ("test --no-types", True),
        ("test --no-types arc_odometry", False),
    ],
)
def test_which_commands_want_gazebo(line, wanted):
    command, *words = line.split()
    assert wants_gazebo(command, words) is wanted


@pytest.mark.parametrize("words", [[], ["--kernels"], ["--no-types", "--", "-q"]])
def test_options_of_all_tests_leave_no_part_out(words):
    part, needed = wanted_part("test", words)
    assert part is not None and needed
