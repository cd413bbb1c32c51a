"""Turns text into files of tokens, and shows them; gives the examples of a program to a run."""

from __future__ import annotations

import os
from typing import Any, Dict, Sequence, Union

from ._commands import Path, command, files
from ._stream import Ask, serve

__all__ = ["Ask", "prepare", "serve", "show"]


def prepare(texts: Union[Path, Sequence[Path]], output: Path, *, tokenizer: Path, **flags: Any) -> str:
    """Turns text into files of tokens in the folder ``output``, and gives its path. Keywords are
    the flags of "ptc data prepare": ``separator="<|endoftext|>"``, ``shard_size="64MiB"``. An
    interrupt keeps what is done, and the same call goes on from there.

    >>> ptc.data.prepare("corpus/**/*.txt", "tokens", tokenizer="tokenizer.json")
    'tokens'
    """
    command("data prepare", *files(texts), output=output, tokenizer=tokenizer, **flags)
    return os.fspath(output)


def show(tokens: Union[Path, Sequence[Path]], **flags: Any) -> Dict[str, Any]:
    """Tokens of files, as "ptc data show --json" has them: ``tokens``, the number ``from`` of
    the first, the ``total`` in all files, and their ``text`` with ``tokenizer=``.

    >>> ptc.data.show("tokens", from_=1000, count=20, tokenizer="tokenizer.json")["text"]
    """
    return dict(command("data show", *files(tokens), json=True, **flags))
