"""The page of "ptc report", in a notebook."""

from __future__ import annotations

import html
import os
from typing import Union


class Report:
    """A page about a plan. A notebook shows it inline; ``html`` is its text, and ``save``
    writes it to a file for a browser."""

    def __init__(self, text: str, height: int = 800) -> None:
        self.html = text
        self.height = height

    def save(self, path: Union[str, "os.PathLike[str]"]) -> str:
        """Writes the page, and gives the path.

        >>> ptc.report("model.bin").save("model.html")
        """
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.html)
        return os.fspath(path)

    def _repr_html_(self) -> str:
        # In a frame its styles and scripts are its own; the sandbox keeps the notebook out of their reach.
        return '<iframe sandbox="allow-scripts" style="width:100%%;height:%dpx;border:0" srcdoc="%s"></iframe>' % (
            self.height,
            html.escape(self.html, quote=True),
        )

    def __repr__(self) -> str:
        return "<ptc.Report of %d bytes: a notebook shows it, save() writes it>" % len(self.html.encode())
