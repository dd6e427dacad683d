"""Reading of YAML without silent surprises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


class _UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML keeps the last of two equal keys without a word; a robot file must not."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            key = key_node.value
            if key in seen:
                line = key_node.start_mark.line + 1
                raise ValueError(f"line {line}: the key '{key}' is there twice. Remove one.")
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises ValueError naming the file when it cannot be read, is no YAML or repeats a key.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is no text file (UTF-8).") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: is no valid YAML: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
