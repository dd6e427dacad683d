# SPDX-License-Identifier: Apache-2.0
"""Types of ``<param>`` values; the expected ones are those of launch_ros."""

from typing import Any

import pytest
import yaml

from diffbot_bringup.xml_launch.document import LaunchError


def parameters(prefix: Any, inside: str, **arguments: str) -> dict[str, Any]:
    declared = "".join(f"<arg name='{name}'/>" for name in arguments)
    text = f'{declared}<node pkg="robots" exec="node">{inside}</node>'
    (process,) = prefix.resolve(text, **arguments)
    results: dict[str, Any] = {}
    for word in prefix.words(process):
        if word.startswith("/**"):
            results.update(yaml.safe_load(word)["/**"]["ros__parameters"])
    return results


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("1.0", 1.0), ("-5", -5), ("true", True), ("yes", True), ("a b", "a b"),
        ("'5'", "5"), ("", ""), ("[1, 2]", [1, 2]), ("[1.5, 2.5]", [1.5, 2.5]),
        ("[a, b]", ["a", "b"]), ("[true, false]", [True, False]), ("0x10", 16), ("-0.5", -0.5),
        ("1e-3", "1e-3"), ("1.0e-3", 0.001), ("/tmp/a.yaml", "/tmp/a.yaml"), ("[]", []),
    ],
)  # fmt: skip
def test_literal_and_substituted_values_have_the_type_yaml_gives(
    prefix: Any, text: str, value: Any
) -> None:
    given = {"x": text} if text else {}
    literal = parameters(prefix, f'<param name="p" value="{text}"/>')["p"]
    assert (literal, type(literal)) == (value, type(value))
    if given:
        result = parameters(prefix, '<param name="p" value="$(var x)"/>', **given)["p"]
        assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("str", "1", "1"), ("str", "null", "null"), ("float", "1", 1.0), ("int", "7", 7),
        ("bool", "1", True), ("bool", "false", False), ("yaml", "5", 5),
    ],
)  # fmt: skip
def test_type_attribute(prefix: Any, kind: str, text: str, value: Any) -> None:
    for written in (text, "$(var x)"):
        inside = f'<param name="p" value="{written}" type="{kind}"/>'
        result = parameters(prefix, inside, x=text)["p"]
        assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "items"),
    [("float", [1.0, 2.0]), ("str", ["a", "b"]), ("int", [1, 2]), ("bool", [True, False])],
)
def test_type_attribute_of_lists(prefix: Any, kind: str, items: list) -> None:
    text = f"[{items[0]}, $(var x)]"
    inside = f'<param name="p" value="{text}" type="list_of_{kind}"/>'
    assert parameters(prefix, inside, x=str(items[1]))["p"] == items
    with pytest.raises(LaunchError, match=f"is not a list of {kind}"):  # as in launch_ros
        parameters(prefix, f'<param name="p" value="$(var x)" type="list_of_{kind}"/>', x=text)


def test_substitution_in_a_list_and_in_a_name(prefix: Any) -> None:
    inside = '<param name="p$(var x)" value="[$(var x), 2]"/>'
    assert parameters(prefix, inside, x="1") == {"p1": [1, 2]}
    with pytest.raises(LaunchError, match=r"parameter 'pa' .*not of one type"):
        parameters(prefix, inside, x="a")


def test_value_that_does_not_fit_its_type_is_refused_with_its_line(prefix: Any) -> None:
    with pytest.raises(LaunchError, match=r"parameter 'p' \(line 2\): 'a' is not of type int"):
        parameters(prefix, '<param name="p" value="$(var x)" type="int"/>', x="a")


def test_nested_parameters_get_dotted_names(prefix: Any) -> None:
    inside = (
        '<param name="a"><param name="b" value="1"/>'
        '<param name="c"><param name="d" value="x"/></param></param>'
    )
    assert parameters(prefix, inside) == {"a.b": 1, "a.c.d": "x"}


def test_from_and_values_keep_their_order(prefix: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = prefix.files / "p.yaml"
    file.write_text("/**:\n  ros__parameters:\n    a: 1\n")
    (process,) = prefix.resolve(
        '<node pkg="robots" exec="node"><param name="a" value="0"/>'
        f'<param from="{file}"/><param from="/no/such.yaml"/></node>'
    )
    inline = "/**:\n  ros__parameters:\n    a: 0\n"
    assert prefix.words(process)[1:] == ["--params-file", inline, "--params-file", str(file)]
    assert "parameter file '/no/such.yaml' is not a file" in capsys.readouterr().err
