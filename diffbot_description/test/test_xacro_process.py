# SPDX-License-Identifier: Apache-2.0
"""xacro files are programs within limits: none gets out, none lasts, and a .urdf is never run."""

import os
import time
from dataclasses import replace

import pytest
from foreign_urdfs import robot

from diffbot_description import load_robot, urdf, xacro_process
from diffbot_description.described_robot import described_from
from diffbot_description.limits import XACRO_TIME
from diffbot_description.urdf_files import read_urdf
from diffbot_description.xacro_child import check_expression

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'

# Each of these reached the modules of Python, or would if a part of it were allowed.
ESCAPES = [
    "(lambda: ().__class__)()",
    "[c for c in ().__class__.__base__.__subclasses__()]",
    "(x for x in [1]).gi_frame.f_back.f_globals",
    "[x.gi_frame for x in [python.enumerate([1])]]",
    "python.vars(python.type(xacro.load_yaml))['_' + '_globals_' + '_']",
    "python.type(python.type(1))('X', python.tuple([]), dict())",
    "('%c0.x%c' % (123, 125)).format(xacro.load_yaml)",
    "python.map(str.format, ['%c0.x%c' % (123, 125)], [1])",
    "(y := 1)",
    "python.type(1).mro()",
    "dict(__class__=1)",
    "xacro.load_yaml.__globals__",
]
EVALS = ["open('{0}', 'w')", "exec('import os')", "compile", "getattr", "eval"]


def xacro(folder, content):
    path = folder / "r.urdf.xacro"
    path.write_text(f"{HEAD}{content}</robot>")
    return path


def refused(path):
    """Return the sentence with which a file is refused."""
    with pytest.raises(ValueError) as caught:
        read_urdf(path)
    said = str(caught.value)
    assert "\n" not in said and str(path) in said
    return said


@pytest.mark.parametrize("expression", ESCAPES)
def test_no_expression_gets_out(expression, tmp_path):
    text = expression.replace("'", "&apos;").replace("<", "&lt;")
    said = refused(xacro(tmp_path, f'<link name="${{{text}}}"/>'))
    assert "allowed" in said or "has no key" in said or "not defined" in said


@pytest.mark.parametrize("expression", EVALS)
def test_eval_of_xacro_has_no_builtins(expression, tmp_path):
    target = tmp_path / "made"
    said = refused(xacro(tmp_path, f'<link name="$(eval {expression.format(target)})"/>'))
    assert "xacro cannot expand it" in said and not target.exists()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 * pi / 4", 3.141592653589793 / 2),
        ("[2 * x for x in [1, 2]][1]", 4),
        ("'%.2f' % 0.5", "0.50"),
        ("'a' if 1 &lt; 2 and not False else 'b'", "a"),
        ("max(1, *[2, 3])", 3),
        ("_own + 1", 2),
        ("python.isinstance(1, python.type(2))", True),
    ],
)
def test_usual_expressions_work(expression, value, tmp_path):
    own = '<xacro:property name="_own" value="1"/>'
    text = read_urdf(xacro(tmp_path, f'{own}<link name="${{{expression}}}"/>'))
    assert f'name="{value}"' in text


@pytest.mark.wall_time
@pytest.mark.parametrize(
    "content",
    [
        '<link name="${9**9**9}"/>',
        '<xacro:property name="p" value="${[0] * 10**10}"/><link name="${len(p)}"/>',
        "<link name=\"${'%1000000000d' % 1}\"/>",
        '<xacro:macro name="m" params="n"><xacro:m n="a"/><xacro:m n="b"/></xacro:macro>'
        '<xacro:m n="a"/>',
        '<link name="${xacro.load_yaml(&apos;/dev/zero&apos;)}"/>',
        f'<link name="${{{"1+" * 5000}1}}"/>',
    ],
)
def test_a_file_without_end_is_ended(content, tmp_path, monkeypatch):
    monkeypatch.setattr(xacro_process, "XACRO_TIME", replace(XACRO_TIME, value=2))
    begin = time.monotonic()
    said = refused(xacro(tmp_path, content))
    assert time.monotonic() - begin < 10.0
    assert "limit of" in said or "cannot expand" in said


def test_a_urdf_is_never_evaluated(tmp_path):
    made = tmp_path / "made"
    path = tmp_path / "r.urdf"
    path.write_text(robot().replace("</robot>", f"<!-- $(eval open('{made}', 'w')) --></robot>"))
    assert described_from(path).expanded is None
    path.write_text(f'{HEAD}<xacro:arg name="a" default="$(eval open(1))"/></robot>')
    said = refused(path)
    assert "a xacro is a program, like a launch file" in said and "r.urdf.xacro" in said
    assert not made.exists()


@pytest.mark.parametrize(
    "place",
    [
        '<xacro:include filename="$(find no_such)/{0}"/>',
        '<xacro:include filename="$(find no_such)/../../../..{0}"/>',
        "<link name=\"${{xacro.load_yaml('$(find no_such)/{0}')}}\"/>",
        "<link name=\"${{xacro.fatal('$(find no_such)/{0}')}}\"/>",
        "<link name=\"${{xacro.fatal('$(find no_such)/a\\0b')}}\"/>",
        "<link name=\"${{xacro.fatal('$(find no_such)/' + 'a' * 1500)}}\"/>",
    ],
)
def test_a_missing_file_is_never_replaced_outside_the_temporary_folder(place, tmp_path):
    made = tmp_path / "made"
    said = refused(xacro(tmp_path, place.format(made)))
    assert "without the packages no_such" in said and not made.exists()


@pytest.mark.parametrize(
    "place", ['<xacro:include filename="{}"/>', "<link name=\"${{xacro.load_yaml('{}')}}\"/>"]
)
def test_a_pipe_or_device_is_not_opened(place, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        assert "is not opened" in refused(xacro(tmp_path, place.format(path)))


def test_every_door_leads_through_the_process(tmp_path):
    """A robot by its xacro, and one whose shapes are in a xacro."""
    made = tmp_path / "made"
    body = robot().partition(">")[2].rpartition("</robot>")[0]
    evil = xacro(tmp_path, f"{body}<link name=\"$(eval open('{made}', 'w'))\"/>")
    with pytest.raises(ValueError, match="xacro cannot expand it"):
        load_robot(evil)
    text = load_robot("twil").path.read_text()
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace("appearance:", f"appearance:\n  urdf: {evil}"))
    with pytest.raises(ValueError, match=r"appearance\.urdf: .*xacro cannot expand it"):
        urdf(load_robot(file))
    assert not made.exists()


def test_it_uses_no_module_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'made')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    read_urdf(xacro(tmp_path, '<link name="a"/>'))
    assert not (tmp_path / "made").exists()
    assert os.getcwd() == str(tmp_path)


def test_the_checks_see_nested_code():
    for text in ("[[a for a in b.__c__] for b in d]", "f'{a.__b__}'", "{a: b.__c__ for a in d}"):
        with pytest.raises(ValueError, match="__"):
            check_expression(text, 100)
    with pytest.raises(ValueError, match="more than the limit of 10 characters"):
        check_expression("1 + 1 + 1 + 1", 10)
