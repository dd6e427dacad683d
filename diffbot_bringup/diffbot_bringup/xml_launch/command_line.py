"""Splits ``cmd``, ``args`` and ``ros_args`` into the words of a command line."""

from __future__ import annotations

import shlex

from diffbot_bringup.xml_launch.grammar import Template, Text


def split(template: Template) -> list[Template]:
    """Split a template at the spaces of its plain text, as launch does.

    Each piece of plain text is split by the shell's quoting rules on its own; what a substitution
    gives is never split. Quotes therefore cannot reach around a substitution. Blank text between
    two words gives an empty word where nothing stands before it: ``args=""`` is one empty word.
    Raises ValueError for unbalanced quotes.
    """
    words: list[Template] = []
    word: list[object] = []

    def finish() -> None:
        words.append(tuple(word))  # type: ignore[arg-type]
        word.clear()

    for part in template:
        if not isinstance(part, Text):
            word.append(part)
            continue
        try:
            tokens = shlex.split(part.value)
        except ValueError as error:
            raise ValueError(
                f"{error} in {part.value!r} (quotes cannot hold a substitution here)"
            ) from None
        if not tokens:
            finish()
            continue
        if part.value[0].isspace() and word:
            finish()
        for token in tokens[:-1]:
            word.append(Text(token))
            finish()
        word.append(Text(tokens[-1]))
        if part.value[-1].isspace():
            finish()
    if word:
        finish()
    return words
