# SPDX-License-Identifier: Apache-2.0
"""The bill of materials lists what is installed, with versions and licences."""

import gzip
import json

import pytest

from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace.sbom import taken_from, write_bill


def package(site, name, version, more=""):
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{more}"
    )


def test_packages_of_python_and_debian_are_listed(tmp_path):
    site, debian = tmp_path / "site", tmp_path / "prefix"
    package(site, "One_pure", "1.0", "License-Expression: MIT\n")
    package(
        site, "many", "2.0", f"License: {'a whole text ' * 20}\nClassifier: License :: OSI :: BSD\n"
    )
    package(site, "unpinned", "3")
    docs = debian / "usr/share/doc/gazebo11"
    docs.mkdir(parents=True)
    with gzip.open(docs / "changelog.Debian.gz", "wt") as file:
        file.write("gazebo (11.1.0+dfsg-6) unstable; urgency=medium\n")
    target = tmp_path / "sbom.json"
    assert write_bill(target, [site, tmp_path / "none"], debian) == 4
    bill = json.loads(target.read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    results = {each["name"]: each for each in bill["components"]}
    assert len({each["bom-ref"] for each in bill["components"]}) == len(results) == 4
    assert results["one-pure"]["purl"] == "pkg:pypi/one-pure@1.0"
    assert results["one-pure"]["licenses"] == [{"expression": "MIT"}]
    assert results["many"]["licenses"] == [{"license": {"name": "BSD"}}]
    assert results["gazebo11"]["purl"] == "pkg:deb/debian/gazebo11@11.1.0%2Bdfsg-6"


def test_the_option_is_taken_out_of_the_words(tmp_path):
    assert taken_from(["study", "--sbom", "a.json", "gazebo"])[0] == ["study", "gazebo"]
    assert taken_from(["study"]) == (["study"], None)
    for words in (["--sbom"], ["--sbom", "--x"]):
        with pytest.raises(UsageError, match="needs a FILE"):
            taken_from(words)
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write_bill(tmp_path / "no" / "folder.json", [])
