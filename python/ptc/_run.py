"""Runs of a plan: events as they happen, callbacks, progress."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

from . import _call
from ._progress import Progress
from ._stream import Server, Source

Path = Union[str, "os.PathLike[str]"]
# An object of "ptc run --log json"; its field "event" is start, step, validation, checkpoint, warning or end.
Event = Dict[str, Any]


class Run:
    """A run of a plan, and an iterator over its events.

    The run starts with the first event that is asked for. ``latest`` has the latest event of
    each kind: ``run.latest["step"]["loss"]``. Whoever takes no more events, by ``break``,
    ``close()`` or the end of a ``with``, ends the run after the step that is under way;
    with ``checkpoint=`` that step is saved.
    """

    def __init__(self, plan: Path, options: Dict[str, Any]) -> None:
        self.plan = os.fspath(plan)
        self.latest: Dict[str, Event] = {}
        self._running: List[subprocess.Popen[str]] = []  # the process, until it is told to end
        self._stopped = False
        # The generator must not hold this object: a cycle would keep a run alive that nobody wants.
        self._events = _fed(plan, options, self.latest, self._running)

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self.latest:
            return "<ptc.Run of %s: starts when its events are read>" % self.plan
        step = self.latest.get("step") or {}
        saved = self.latest.get("checkpoint")
        return "<ptc.Run of %s: %s%s%s>" % (
            self.plan,
            "step %s, loss %s" % (step["step"], step["loss"]) if step else "no step yet",
            ", saved in %s" % saved["dir"] if saved else "",
            ", ended" if "end" in self.latest else "",
        )

    def stop(self) -> None:
        """Ends the run after the step that is under way. The events that are left, such as
        that of the checkpoint, still come."""
        if self._running and not self._stopped:
            self._stopped = True
            self._running.pop().send_signal(signal.SIGINT)

    def close(self) -> None:
        """Ends the run after the step that is under way, and waits for it."""
        self._events.close()


def run(
    plan: Path,
    *,
    on_step: Optional[Callable[[Event], Any]] = None,
    on_event: Optional[Callable[[Event], Any]] = None,
    progress: bool = False,
    **flags: Any,
) -> Run:
    """Trains by a plan. Keywords are the flags of "ptc run": ``steps=200``,
    ``checkpoint="ckpt"``, ``resume=True``, ``log=["csv:run.csv"]``, ``set={"lr": 1e-3}``. For a
    plan whose data is a stream, ``data`` may be a function that gives batches, as for
    ``ptc.data.serve``: it runs in this process.

    Without callbacks the events come as they happen:

    >>> for event in ptc.run("model.bin", steps=200, save="trained.safetensors"):
    ...     print(event)

    With ``on_step``, ``on_event`` or ``progress`` this call trains to the end. ``on_step`` is
    called with each step's metrics and ends the run by returning False; ``on_event`` is
    called with every event; ``progress=True`` shows one line that changes.

    >>> losses = []
    >>> def watch(step):
    ...     losses.append(step["loss"])
    ...     return step["loss"] > 2.0
    >>> run = ptc.run("model.bin", on_step=watch, progress=True, checkpoint="ckpt")
    >>> run.latest["step"]["loss"]

    KeyboardInterrupt ends the run after its step, saved where there is a checkpoint, and
    is raised then; a second one ends it at once.
    """
    session = Run(plan, flags)
    if on_step is None and on_event is None and not progress:
        return session
    shown = Progress() if progress else None
    try:
        for event in session:
            if shown is not None:
                shown(event)
            if on_event is not None:
                on_event(event)
            if on_step is not None and event["event"] == "step" and not session._stopped and on_step(event) is False:
                session.stop()
    finally:
        session.close()
        if shown is not None:
            shown.close()
    return session


def _fed(plan: Path, options: Dict[str, Any], latest: Dict[str, Event], running: List[subprocess.Popen[str]]) -> Iterator[Event]:
    """The events of a run. Its data may be a function of this process, which it connects to then."""
    data = options.get("data")
    if data is None or isinstance(data, (str, os.PathLike)):
        yield from _events(_call.arguments("run --log=json", [plan], options), latest, running)
        return
    source = data if isinstance(data, Source) else Source(data, None, getattr(data, "__qualname__", ""), True)
    with Server(source) as server:
        line = _call.arguments("run --log=json", [plan], {**options, "data": server.at})
        try:
            yield from _events(line, latest, running)
        except _call.Error as error:
            raise error from server.error


def _events(line: List[str], latest: Dict[str, Event], running: List[subprocess.Popen[str]]) -> Iterator[Event]:
    # A pipe that nobody empties would stop the command once it is full; a file does not.
    with tempfile.TemporaryFile("w+", **_call.TEXT) as said:
        with _call.start(line, stdout=subprocess.PIPE, stderr=said) as process:
            running.append(process)
            whole = False
            try:
                for text in process.stdout or ():
                    yield _note(text, latest)
                whole = True
            finally:
                if not whole:
                    _finish(process, latest, running)
                    if process.returncode not in (0, 130):  # an exception is on its way already, so this is a warning
                        said.seek(0)
                        _call.warn("the run did not end well: %s" % _call.failure(process.returncode, said.read()))
                running.clear()
        said.seek(0)
        _call.check(process.returncode, said.read())


def _note(text: str, latest: Dict[str, Event]) -> Event:
    event: Event = json.loads(text)
    latest[event["event"]] = event
    return event


def _finish(process: subprocess.Popen[str], latest: Dict[str, Event], running: List[subprocess.Popen[str]]) -> None:
    """Has a run end and save that nobody follows any more. It goes on writing events, which
    are read: to a pipe that is closed it could neither tell nor save."""
    if running:  # told twice, it would end at once
        process.send_signal(signal.SIGINT)
    try:
        for text in process.stdout or ():
            _note(text, latest)
        process.wait()
    except BaseException:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # the second one ends it at once
        raise
