# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for ./diffbot docs: pages as GitHub has them, formulas, the library.

The pages of the library are written from the packages' public names. Nothing is fetched, neither
when the site is built nor when it is read.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx.pycode import ModuleAnalyzer

ROOT = Path(__file__).resolve().parents[1]
SUITE = ROOT / "pyproject.toml"
LIBRARY = "docs/library"
LONGEST_VALUE = 80  # characters
# Packages whose public names are the library; their names load without ROS.
PACKAGES = [
    "diffbot_description",
    "diffbot_ident",
    "diffbot_recordings",
    "diffbot_calibration",
    "diffbot_controllers",
    "arc_odometry",
    "pose2d_trajectories",
    "diffbot_sim",
    "diffbot_sim.engines",
    "diffbot_export",
    "diffbot_study",
]


def _files(package: str) -> Path:
    """Return the folder of an installed package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ConfigError(f"{package} is not installed: ./diffbot setup docs")
    return Path(spec.origin).parent


project = "diffbot"
copyright = "diffbot maintainers, Apache-2.0"
version = release = SUITE.read_text("utf-8").partition('version = "')[2].partition('"')[0]
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/**/*.md",
    "benchmarks/README.md",
    "examples/README.md",
]
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
myst_links_external_new_tab = True
html_theme = "furo"
html_title = f"diffbot {release}"
html_show_sphinx = False
html_domain_indices = False  # nothing links to it: the library has its list
# One file draws all formulas, without fonts, so that pages opened from a folder show them, too.
html_static_path = [str(_files("sphinx-mathjax-offline") / "static/mathjax/tex-svg.js")]
mathjax_path = "tex-svg.js"
html_theme_options = {"navigation_with_keys": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
default_role = "literal"  # docstrings quote as Markdown does
napoleon_use_ivar = True
suppress_warnings = ["myst.header"]


def write_library(app: Sphinx) -> None:
    """Write a page for each package with its public names, and one that lists them."""
    folder = ROOT / LIBRARY
    folder.mkdir(exist_ok=True)
    listed = "\n".join(PACKAGES)
    pages = {"index": f"# Library\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"}
    # viewcode links a module's sources to one name of a thing: what two packages have is described
    # by the first.
    first: dict[object, str] = {}
    for name in PACKAGES:
        package = importlib.import_module(name)
        things = "\n".join(_described(name, each, first) for each in package.__all__)
        pages[name] = f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n\n{things}\n```\n"
    for page, text in pages.items():
        file = folder / f"{page}.md"
        if not file.is_file() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def _described(package: str, name: str, first: dict[object, str]) -> str:
    """Return the directive for a public name; a later name of a thing links to its first."""
    thing, full_name = getattr(importlib.import_module(package), name), f"{package}.{name}"
    if not callable(thing):
        return _described_value(package, name, thing)
    if first.setdefault(thing, full_name) != full_name:
        return f"``{name}`` is :py:obj:`{first[thing]}`.\n"
    if inspect.isclass(thing):
        return f".. autoclass:: {full_name}\n   :members:\n"
    return f".. autofunction:: {full_name}\n"


def _described_value(package: str, name: str, value: object) -> str:
    """Return the directive for a value: its comment, and what it is if that is short.

    autodata finds the comment only under the name of the module that has the value.
    """
    comments = ModuleAnalyzer.for_module(_place(package)[name]).find_attr_docs()
    lines = [f".. py:data:: {name}", f"   :type: {type(value).__name__}"]
    if len(repr(value)) < LONGEST_VALUE:
        lines.append(f"   :value: {value!r}")
    lines += ["", *(f"   {line}" for line in comments.get(("", name), [])), ""]
    return "\n".join(lines)


def _place(package: str) -> dict[str, str]:
    """Return the modules from which a package takes its public names."""
    file = importlib.import_module(package).__file__
    tree = ast.parse(Path(str(file)).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    places = {alias.name: str(node.module) for node in imports for alias in node.names}
    return dict.fromkeys(importlib.import_module(package).__all__, package) | places


def read_as_text(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Take the signs of formulas in a docstring, such as |v|, as they are; examples are code."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[number] = re.sub(r"(?<![\\`])([|*])|(?<=\w)_(?=\W|$)", r"\\\g<0>", line)


def folders_as_text(app: Sphinx, page: nodes.document) -> None:
    """Let links to folders of the repository, which a site does not have, be their text."""
    folder = Path(str(page["source"])).parent
    for node in list(page.findall(addnodes.pending_xref)):
        if (folder / str(node["reftarget"])).is_dir():
            node.replace_self(node.children)


def remove_sources(app: Sphinx) -> None:
    """Have all sources' pages written: viewcode keeps one whose links back are to old names."""
    shutil.rmtree(Path(app.outdir, "_modules"), ignore_errors=True)


def write_start(app: Sphinx, error: Exception | None) -> None:
    """Let the site's folder open with its first page."""
    text = f'<meta charset="utf-8"><meta http-equiv="refresh" content="0; url={root_doc}.html">'
    Path(app.outdir, "index.html").write_text(text, "utf-8")
    # No page links to viewcode's list, which names modules without a page, such as builtins.
    Path(app.outdir, "_modules", "index.html").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Add what is above to Sphinx."""
    app.connect("builder-inited", write_library)
    app.connect("builder-inited", remove_sources)
    # Before napoleon, which reads the sections.
    app.connect("autodoc-process-docstring", read_as_text, priority=1)
    app.connect("doctree-read", folders_as_text)
    app.connect("build-finished", write_start)
