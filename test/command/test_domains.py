# SPDX-License-Identifier: Apache-2.0
"""A DDS domain is one run's only, until its last process has ended; and the list of the runs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diffbot_bringup import domains

# Claims, says which domain, and holds it until its standard input ends.
HOLDER = """
import sys
from diffbot_bringup import domains
domains._FIRST_PORT, domains._PORTS, domains.DOMAINS = int(sys.argv[1]), 10, range(1, 6)
with domains.claim(sys.argv[2], launch=True) as own:
    own.move("/results")
    print(own.domain, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def first_port(domain, monkeypatch, tmp_path):
    """Five small domains, 1 to 5, whose ports lie in the test's own domain, and a list of its own.

    So that they are free, whatever else this machine does.
    """
    first = 7400 + 250 * domain + 100
    monkeypatch.setattr(domains, "_FIRST_PORT", first)
    monkeypatch.setattr(domains, "_PORTS", 10)
    monkeypatch.setattr(domains, "DOMAINS", range(1, 6))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return first


@pytest.fixture
def start(first_port):
    """Start processes that claim."""
    made = []

    def start(name="ident", **variables):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(first_port), name],
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        made.append(process)
        return process

    yield start
    for process in made:
        process.kill()
        process.communicate()


def number(process):
    return int(process.stdout.readline())


def test_processes_that_claim_at_once_get_different_domains(start):
    processes = [start() for _ in range(5)]
    assert sorted(map(number, processes)) == [1, 2, 3, 4, 5]
    with pytest.raises(domains.DomainError, match="1 to 5 are all in use"):
        domains.claim("one too many")


def test_who_has_another_list_gets_another_domain_too(start, tmp_path):
    """As another user has."""
    (tmp_path / "other").mkdir()
    taken = [number(start(XDG_RUNTIME_DIR=str(tmp_path / "other"))) for _ in range(4)]
    assert {*taken, domains.claim("last").domain} == {1, 2, 3, 4, 5}


def test_a_killed_holder_frees_its_domain(start):
    processes = [start() for _ in range(5)]
    victim = processes[2]
    taken = number(victim)
    for process in processes[:2] + processes[3:]:
        number(process)
    victim.kill()
    victim.wait()
    assert domains.claim("next").domain == taken


def test_a_domain_in_which_somebody_is_already_is_left_to_him(first_port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(("", first_port + 10 * 3))  # multicast discovery of domain 3
        taken = [domains.claim("run") for _ in range(4)]
        assert sorted(own.domain for own in taken) == [1, 2, 4, 5]
        with pytest.raises(domains.DomainError):
            domains.claim("one too many")
    assert domains.claim("run").domain == 3


def test_the_domain_that_has_rested_longest_comes_first(first_port):
    order = [domains.claim("run") for _ in range(5)]
    when = time.time() - 100.0
    for age, own in enumerate(order):
        own.release()
        os.utime(Path(domains._folder(), str(own.domain)), (when + age, when + age))
    for own in order:
        with domains.claim("again") as again:
            assert again.domain == own.domain


def test_a_fork_keeps_the_domain_and_not_the_place_in_the_list(first_port, monkeypatch):
    """The runner's guard is one: it ends the processes of a runner that was killed."""
    monkeypatch.setattr(domains, "DOMAINS", range(1, 2))
    own = domains.claim("run")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    own.release()
    assert domains.runs() == []
    with pytest.raises(domains.DomainError):
        domains.claim("too early")
    os.write(writing, b".")
    os.waitpid(child, 0)
    assert domains.claim("run").domain == 1
    os.close(reading)
    os.close(writing)


def test_runs_are_listed_as_long_as_they_live(start, tmp_path):
    process = start("backstepping")
    taken = number(process)
    real = domains.announce(0, "ident", "/robot", launch=True)
    there = domains.runs()
    assert [(run.domain, run.name, run.where) for run in there] == [
        (0, "ident", "/robot"),
        (taken, "backstepping", "/results"),
    ]
    assert there[1].pid == process.pid and abs(there[1].started - time.time()) < 60.0
    assert f"domain {taken}: backstepping, since " in str(there[1])
    process.send_signal(signal.SIGKILL)
    process.wait()
    real.release()
    assert domains.runs() == []
    assert sorted(path.name for path in (tmp_path / "diffbot").iterdir()) == [str(taken)]


def test_a_file_that_is_no_list_entry_is_passed_over(first_port, tmp_path):
    with domains.claim("run") as own:
        record = tmp_path / "diffbot" / str(own.domain)
        for text in ("", "{", json.dumps({"domain": 1}), "[]"):
            record.write_text(text)
            assert domains.runs() == []


def test_one_run_simulates_a_robot_of_a_namespace_in_a_domain(first_port):
    with domains.simulate(7, "ident", "/there"):
        with pytest.raises(domains.DomainError, match="another run simulates a robot in .*=7"):
            domains.simulate(7, "pose", "/here")
        for domain, namespace in ((8, ""), (7, "first"), (7, "second/robot")):
            domains.simulate(domain, "pose", "/here", namespace).release()
    domains.simulate(7, "pose", "/here").release()
    assert domains.runs() == []


def test_joining(first_port):
    environment = {"ROS_DOMAIN_ID": ""}  # as good as unset
    with domains.claim("tests"):
        assert domains.join(environment) is None
    with domains.announce(0, "ident", launch=True):
        assert domains.join(environment) is None
    assert environment == {"ROS_DOMAIN_ID": ""}
    with domains.claim("ident", launch=True) as own:
        chosen = {"ROS_DOMAIN_ID": "77"}
        assert domains.join(chosen) is None and chosen == {"ROS_DOMAIN_ID": "77"}
        assert domains.join(environment) == own.run
        assert environment == {"ROS_DOMAIN_ID": str(own.domain)}
        environment.clear()
        with domains.claim("pose", launch=True) as other:
            with pytest.raises(domains.DomainError, match="several runs are active") as error:
                domains.join(environment)
            for run in (own, other):
                assert f"\n  domain {run.domain}: {run.run.name}, since" in str(error.value)
        assert environment == {}


@pytest.mark.parametrize("kind", ["link", "open to all", "file"])
def test_a_folder_to_which_others_can_write_is_refused(first_port, tmp_path, kind):
    folder = tmp_path / "diffbot"
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        folder.touch()
    else:
        folder.mkdir()
        folder.chmod(0o777)
    assert domains.runs() == []
    with pytest.raises(domains.DomainError, match="diffbot"):
        domains.claim("run")


def test_without_a_runtime_folder_it_is_in_the_temporary_one(first_port, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    monkeypatch.setattr(domains.tempfile, "gettempdir", lambda: str(tmp_path))
    with domains.claim("run") as own:
        folder = tmp_path / f"diffbot-{os.getuid()}"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / str(own.domain)).exists()


def test_all_domains_lie_below_the_ports_that_linux_lends():
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if lowest < 32768:
        pytest.skip("this machine lends more ports than Linux does by itself")
    assert 7400 + 250 * (domains.DOMAINS[-1] + 1) <= lowest
    assert domains.DOMAINS[0] > 0
