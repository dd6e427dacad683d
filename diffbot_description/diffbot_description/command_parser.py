# SPDX-License-Identifier: Apache-2.0
"""The parser of all commands. Standard library only: ./diffbot needs it before its set-up."""

from __future__ import annotations

import argparse
from typing import NoReturn

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

    def error(self, message: str) -> NoReturn:
        super().error(printable_lines(message))
