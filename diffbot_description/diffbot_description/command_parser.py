# SPDX-License-Identifier: Apache-2.0
"""The parser of all commands. Standard library only: ./diffbot needs it before its set-up."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from diffbot_description.terminal_text import printable_lines


class CommandParser(argparse.ArgumentParser):
    """Parser whose help shows description and epilog as they are; its errors are printable."""

    def __init__(
        self, prog: str, description: str, epilog: str = "", allow_abbrev: bool = True
    ) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=allow_abbrev,
        )

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        if action.type is Path and not arg_string.strip():
            raise argparse.ArgumentError(action, "the path is empty")
        return super()._get_value(action, arg_string)

    def error(self, message: str) -> NoReturn:
        super().error(printable_lines(message))
