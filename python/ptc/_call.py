"""Starts the command, and turns its flags, messages and exit codes into Python's."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import warnings
from typing import Any, Iterable, Mapping, Sequence

# What the command writes is UTF-8, whatever the locale is.
TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "replace"}


class Error(Exception):
    """A command failed.

    ``message`` says why. A mistake in a source also has its ``code`` (``"E0203"``, else
    ``""``), its position in ``file``, ``line`` and ``column`` (from 1, else 0), and a
    ``hint`` where there is one. ``exit_code`` is that of the command, and ``diagnostics``
    has every mistake as "ptc compile --diagnostics json" writes it; the attributes
    are those of the first.

    >>> try:
    ...     ptc.compile("model.ptl")
    ... except ptc.Error as error:
    ...     print(error.code, error.position, error.message, error.hint)
    E0203 model.ptl:31:27 unknown axis `embedd`: neither operand has it did you mean `embed`?
    """

    def __init__(self, message: str, exit_code: int = 1, diagnostics: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(message, exit_code, list(diagnostics))
        self.exit_code = exit_code
        self.diagnostics: list[dict[str, Any]] = [dict(d) for d in diagnostics]
        first = self.diagnostics[0] if self.diagnostics else {}
        self.message: str = first.get("message") or message
        self.code: str = first.get("code", "")
        self.file: str = first.get("file", "")
        self.line: int = first.get("line", 0)
        self.column: int = first.get("column", 0)
        self.expected: str = first.get("expected", "")
        self.hint: str = first.get("suggestion", "")

    @property
    def position(self) -> str:
        """``file:line:column``, or as much of it as is known."""
        return _position(self.__dict__)

    def __str__(self) -> str:
        return str(self.args[0])


class Notice(UserWarning):
    """A warning or a note of the command."""


def binary() -> str:
    """The path of the command: $PTC_BINARY, or the one in this package."""
    return os.environ.get("PTC_BINARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ptc")


def arguments(command: str, positional: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
    """The command line. Messages are JSON from the first flag on, also those about flags."""
    words = ["--diagnostics=json", *command.split(), *flags(options)]
    return [binary(), *words, "--", *(os.fspath(p) if isinstance(p, os.PathLike) else str(p) for p in positional)]


def flags(options: Mapping[str, Any]) -> list[str]:
    """Keywords as flags: ``eval_every=5`` is --eval-every=5, ``from_=9`` is --from=9, which
    Python reserves. None leaves a flag out, a list gives it again, a dictionary gives it
    as key=value."""
    out = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            value = ["%s=%s" % (key, _word(v)) for key, v in value.items()]
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is not None:
                out.append("--%s=%s" % (name.rstrip("_").replace("_", "-"), _word(v)))
    return out


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.timedelta):
        return "%gs" % value.total_seconds()
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    return str(value)


def call(command: str, positional: Sequence[Any], options: Mapping[str, Any], stdin: str = "") -> str:
    """Runs a command to its end, and gives what it printed. On an interrupt the command
    ends as it does on Ctrl-C, and keeps what it has done."""
    line = arguments(command, positional, options)
    with start(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, said = process.communicate(stdin)
        except BaseException:
            interrupt(process)
            raise
    check(process.returncode, said)
    return out


def start(line: Sequence[str], **streams: Any) -> subprocess.Popen[str]:
    """Starts a command in a session of its own, where Ctrl-C does not reach it: it is told
    once, by interrupt."""
    return subprocess.Popen(line, start_new_session=True, **streams, **TEXT)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Has the command end and waits for it; a second interrupt ends it at once."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.communicate()
    except BaseException:
        process.kill()
        raise


def check(exit_code: int, said: str) -> None:
    """Raises what went wrong, and warns of what a command that went well warned of."""
    found, _ = _parts(said)
    for d in found:
        if d.get("severity") != "error":
            warn(_line(d))
    if exit_code:
        raise failure(exit_code, said)


def failure(exit_code: int, said: str) -> Error:
    """The error that a command told, as JSON or, where it broke down, as text."""
    found, lines = _parts(said)
    errors = [d for d in found if d.get("severity") == "error"]
    text = "\n".join(_line(d) for d in errors) or "\n".join(lines).strip() or "ptc ended with %d" % exit_code
    return Error(text, exit_code, errors)


def _parts(said: str) -> tuple[list[dict[str, Any]], list[str]]:
    found, lines = [], []
    for line in said.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict) and "message" in value:
            found.append(value)
        else:
            lines.append(line)
    return found, lines


def warn(text: str) -> None:
    """Warns of a text, at the line that called this package."""
    here, level, frame = os.path.dirname(__file__), 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, Notice, stacklevel=level)


def _position(d: Mapping[str, Any]) -> str:
    return ":".join(str(d[key]) for key in ("file", "line", "column") if d.get(key))


def _line(d: Mapping[str, Any]) -> str:
    parts = [_position(d), d.get("code"), d["message"]]
    tail = [d["expected"] and "expected " + d["expected"]] if d.get("expected") else []
    tail += [d["suggestion"]] if d.get("suggestion") else []
    return ": ".join(p for p in parts if p) + "".join("; " + t for t in tail)
