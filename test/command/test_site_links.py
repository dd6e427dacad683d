# SPDX-License-Identifier: Apache-2.0
"""Broken links of a site are found: pages, pictures and anchors that are not there."""

from pathlib import Path

import pytest

from diffbot_bringup.site_links import broken_links

START = '<meta http-equiv="refresh" content="0; url=docs/index.html">'
WHOLE = """<html><head><meta name="viewport" content="width=device-width">
<link href="../style.css"></head><body><h1 id="top">Top</h1>
<a name="old"></a><a href="#top">up</a><a href="#old">old</a><a href="#">start of page</a>
<a href="other.html">page</a><a href="other.html#a%20b">anchor</a><a href="../folder">folder</a>
<a href="other.html?q=1">search</a><a href="../folder/">folder</a><a href="..">start</a>
<a href="https://example.org/nowhere#x">other site</a>
<a href="mailto:a@example.org">mail</a><img src="data:image/png;base64,UE5H">
<svg><use href="#top"/></svg><script>var text = '<a href="nowhere.html">';</script></body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site whose links all lead somewhere."""
    texts = {
        "index.html": START,
        "style.css": "",
        "folder/index.html": "<p>folder</p>",
        "docs/index.html": WHOLE,
        "docs/other.html": '<p id="a b"><a href="index.html#old">back</a></p>',
        "docs/left_by_an_older_build.html": '<a href="nowhere.html">no page leads here</a>',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_whole_site_has_none(site):
    assert broken_links(site) == []


@pytest.mark.parametrize(
    ("tag", "line"),
    [
        ('<a href="nowhere.html">', "nowhere.html: no such file"),
        ('<img src="../picture.png">', "../picture.png: no such file"),
        ('<a href="#nowhere">', "#nowhere: no such anchor"),
        ('<a href="index.html#Top">', "index.html#Top: no such anchor"),
        ('<a href="index.html#viewport">', "index.html#viewport: no such anchor"),
        ('<a href="../folder/#nowhere">', "../folder/#nowhere: no such anchor"),
        ('<a href="../../docs/index.html">', "../../docs/index.html: outside of the site"),
        ('<a href="/docs/index.html">', "/docs/index.html: outside of the site"),
    ],
)
def test_a_broken_one_is_said_with_its_page_and_reason(site, tag, line):
    with (site / "docs/other.html").open("a", encoding="utf-8") as page:
        page.write(tag)
    assert [str(link) for link in broken_links(site)] == [f"docs/other.html: {line}"]


def test_a_page_that_only_a_page_links_to_is_read(site):
    (site / "folder/index.html").write_text('<a href="deep.html">', encoding="utf-8")
    (site / "folder/deep.html").write_text('<a href="gone.html">', encoding="utf-8")
    assert [str(link) for link in broken_links(site)] == [
        "folder/deep.html: gone.html: no such file"
    ]


def test_a_page_with_two_broken_ones_names_both_once(site):
    text = '<a href="#b"></a><a href="#a"></a><a href="#a"></a>'
    (site / "folder/index.html").write_text(text, encoding="utf-8")
    assert [link.link for link in broken_links(site)] == ["#a", "#b"]
