"""One line that says how far a run is."""

from __future__ import annotations

import sys
import time
from typing import Any, Dict, Optional, TextIO


class Progress:
    """Shows a run's events: on a terminal and in a notebook one line that changes at most
    five times a second; elsewhere, as in a file, a line each ten seconds at most. Validations,
    checkpoints, warnings and the end are always shown."""

    def __init__(self, file: Optional[TextIO] = None) -> None:
        self.file = file if file is not None else sys.stderr
        notebook = type(self.file).__module__.startswith("ipykernel")
        self.changes = notebook or self.file.isatty()
        self.interval = 0.2 if self.changes else 10.0
        self.next = 0.0
        self.width = 0
        self.total = 0
        self.pending: Optional[str] = None

    def __call__(self, event: Dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "start":
            self.total = event["last_step"]
        elif kind == "step":
            self.pending = self._step(event)
            now = time.monotonic()
            if now >= self.next:
                self.next = now + self.interval
                self._show()
        else:
            text = self._other(event)
            if text:
                self._show()
                self._write(text, end=True)

    def close(self) -> None:
        """Shows the last step, and ends the line."""
        self._show()
        if self.width:
            self._write("", end=True)

    def _show(self) -> None:
        if self.pending is not None:
            self._write(self.pending, end=not self.changes)
            self.pending = None

    def _write(self, text: str, end: bool) -> None:
        if self.changes:
            self.file.write("%s%s%s" % ("\r" if text else "", text.ljust(self.width), "\n" if end else ""))
            self.width = 0 if end else len(text)
        else:
            self.file.write(text + "\n")
        self.file.flush()

    def _step(self, event: Dict[str, Any]) -> str:
        return "step %d of %d  loss %s  %s tokens/s" % (event["step"], self.total, _number(event["loss"]), _number(event.get("tokens_per_s"), "%.0f"))

    def _other(self, event: Dict[str, Any]) -> str:
        kind = event["event"]
        if kind == "validation":
            return "step %d of %d  validation loss %s" % (event["step"], self.total, _number(event["val_loss"]))
        if kind == "checkpoint":
            return "step %d of %d  saved in %s" % (event["step"], self.total, event["dir"])
        if kind == "warning":
            return "warning: %s" % event["message"]
        return ""


def _number(value: Optional[float], form: str = "%.4f") -> str:
    return "nan" if value is None else form % value  # JSON has null for what is not finite
