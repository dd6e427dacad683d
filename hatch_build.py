# SPDX-License-Identifier: Apache-2.0
"""Puts the bill of materials into the wheel of diffbot-suite (PEP 770, CycloneDX 1.5).

It lists the dependencies that pyproject.toml declares, without versions, because a wheel does not
fix them; those of extras are optional. It has no date: equal sources give equal wheels.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_NAME = re.compile(r"[A-Za-z0-9._-]+")


class BillOfMaterialsHook(BuildHookInterface):
    """Adds the file sboms/diffbot-suite.cdx.json to the wheel's metadata."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the bill into a temporary folder, which `finalize` removes."""
        if self.target_name != "wheel":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="diffbot_bill_")
        file = Path(self._folder.name) / "diffbot-suite.cdx.json"
        file.write_text(json.dumps(self._bill(), indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(file))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if self.target_name == "wheel":
            self._folder.cleanup()

    def _bill(self) -> dict[str, Any]:
        core = self.metadata.core
        suite = {
            "type": "application",
            "bom-ref": "diffbot-suite",
            "name": core.raw_name,
            "version": self.metadata.version,
            "purl": f"pkg:pypi/{core.name}@{self.metadata.version}",
            "licenses": [{"expression": core.license_expression}],
        }
        extras = [text for extra in core.optional_dependencies.values() for text in extra]
        scopes = dict.fromkeys(map(_name, extras), "optional")
        scopes |= dict.fromkeys(map(_name, core.dependencies), "required")
        components = [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}",
                "name": name,
                "purl": f"pkg:pypi/{name}",
                "scope": scope,
            }
            for name, scope in sorted(scopes.items())
        ]
        return {
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {"component": suite},
            "components": components,
            "dependencies": [
                {"ref": "diffbot-suite", "dependsOn": [each["bom-ref"] for each in components]}
            ],
        }


def _name(requirement: str) -> str:
    """Return the normalized name of a requirement."""
    match = _NAME.match(requirement)
    assert match, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()
