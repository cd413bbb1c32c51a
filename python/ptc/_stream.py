"""Gives examples to a run: arrays of NumPy's format, or Arrow, behind a line of JSON (docs/data.md)."""

from __future__ import annotations

import array
import inspect
import json
import os
import socket
import struct
import sys
import tempfile
import threading
from typing import Any, BinaryIO, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

VERSION = 1
VARIABLE = "PTC_STREAM"

# An encoded array: NumPy's name of its type, its shape, its bytes in C's order.
Encoded = Tuple[str, Tuple[int, ...], Any]


class Ask:
    """What a run wants: ``fields``, the type and the shape of a row by name; ``batch`` examples in a
    step; the ``seed``; ``split``, "train" or "valid"; ``first``, the number of the first example to
    give, from 0 in the ``epoch``; ``count`` examples in all, or None.
    """

    def __init__(self, said: Mapping[str, Any], examples: Optional[int] = None) -> None:
        self.fields: Dict[str, Tuple[str, Tuple[int, ...]]] = {
            f["name"]: (f["dtype"], tuple(f["shape"])) for f in said.get("fields") or []
        }
        self.batch: int = said.get("batch", 0)
        self.seed: int = said.get("seed", 0)
        self.split: str = said.get("split", "train")
        self.count: Optional[int] = said.get("count") or None
        first = said.get("first", 0)
        self.epoch, self.first = divmod(first, examples) if examples else (0, first)

    def __repr__(self) -> str:
        return "<ptc.data.Ask of %s: %s, from example %d of epoch %d on>" % (self.split, ", ".join(self.fields), self.first, self.epoch)


Batches = Union[Iterable[Any], Callable[..., Iterable[Any]]]


class Source:
    """Examples, and how a run is answered."""

    def __init__(self, batches: Batches, examples: Optional[int], id: str, resumable: bool) -> None:
        if examples is not None and examples < 1:
            raise ValueError("examples is %d, and must be at least 1" % examples)
        self.batches, self.examples, self.id, self.resumable = batches, examples, id, resumable
        self.asks = callable(batches) and bool(inspect.signature(batches).parameters)
        if examples is not None and not callable(batches):
            raise ValueError("examples is for a function, which is called for each epoch")

    def give(self, said: Optional[Mapping[str, Any]], out: BinaryIO) -> None:
        """Answers, and writes all examples. Without an ask the first batch says which fields there are."""
        ask = Ask(said or {}, self.examples)
        if ask.split != "train" and not self.asks:
            raise ValueError("the examples are given by no function of an argument, so that none are held out: valid = 0")
        first = (said or {}).get("first", 0) if self.resumable else 0
        answer: Dict[str, Any] = {"ptc_stream": VERSION, "first": first, "split": ask.split, "resumable": self.resumable}
        if self.id:
            answer["id"] = self.id
        if self.examples:
            answer["examples"] = self.examples
        if not self.resumable:
            ask.first = ask.epoch = 0
        rows = self._rows(ask)
        if said is None:
            head = next(rows, None)
            if head is None:
                raise ValueError("there are no examples")
            answer["fields"] = list(_names(head[0]))
            rows = _chain(head, rows)
        else:
            answer["fields"] = list(ask.fields)
        out.write(json.dumps(answer).encode() + b"\n")
        out.flush()
        write = _Writer(answer["fields"], out)
        for batch, skip in rows:
            write(batch, skip)
        write.end()

    def _rows(self, ask: Ask) -> Iterator[Tuple[Any, int]]:
        """Batches, and how many examples at the start of each were given before."""
        while True:
            skip = 0 if self.asks else ask.first
            given = ask.first - skip
            made = self.batches(ask) if self.asks else self.batches() if callable(self.batches) else self.batches  # type: ignore[operator]
            for batch in made:
                n = _count(batch)
                given += n
                if self.examples and ask.split == "train" and given > self.examples:
                    raise ValueError("an epoch has more than the %d examples that were said" % self.examples)
                if skip < n:
                    yield batch, skip
                skip = max(0, skip - n)
            if not self.examples or ask.split != "train":
                return
            if given != self.examples:
                raise ValueError("an epoch has %d examples, and %d were said" % (given, self.examples))
            ask.epoch, ask.first = ask.epoch + 1, 0


def _chain(head: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield head
    yield from rest


class _Writer:
    """Writes batches in the form that the first one has."""

    def __init__(self, fields: Sequence[str], out: BinaryIO) -> None:
        self.fields, self.out = list(fields), out
        self.arrow: Any = None

    def __call__(self, batch: Any, skip: int) -> None:
        if _is_arrow(batch):
            self._arrow(batch, skip)
        else:
            if not isinstance(batch, Mapping):
                raise TypeError("a batch is a dictionary of arrays, and this is of type %s" % type(batch).__name__)
            for name in self.fields:
                if name not in batch:
                    raise ValueError("a batch has no field %r; it has %s" % (name, ", ".join(map(str, batch))))
            for array in [encode(batch[name]) for name in self.fields]:  # what is wrong is found before anything is sent
                self._array(array, skip)
        self.out.flush()

    def _array(self, encoded: Encoded, skip: int) -> None:
        kind, shape, data = encoded
        head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d, " % n for n in (shape[0] - skip, *shape[1:])))
        head += " " * (-(len(head) + 11) % 64) + "\n"
        self.out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        self.out.write(data[skip * (len(data) // shape[0]) :] if skip else data)

    def _arrow(self, batch: Any, skip: int) -> None:
        import pyarrow

        if self.arrow is None:
            self.arrow = pyarrow.ipc.new_stream(self.out, batch.schema)
        self.arrow.write(batch.slice(skip) if skip else batch)

    def end(self) -> None:
        if self.arrow is not None:
            self.arrow.close()
        self.out.write(b'{"end": true}\n')
        self.out.flush()


def _is_arrow(batch: Any) -> bool:
    return type(batch).__module__.split(".")[0] == "pyarrow"


def _names(batch: Any) -> List[str]:
    return list(batch.schema.names) if _is_arrow(batch) else list(batch)


def _count(batch: Any) -> int:
    if _is_arrow(batch):
        return int(batch.num_rows)
    if not isinstance(batch, Mapping) or not batch:
        raise TypeError("a batch is a dictionary of arrays, and this is %s" % ("empty" if batch == {} else "of type " + type(batch).__name__))
    return len(next(iter(batch.values())))


def encode(value: Any) -> Encoded:
    """An array of any library that has Python's buffers, or nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        return _of_lists(value)
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach().cpu().numpy()
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        if not hasattr(value, "__array__"):
            raise TypeError("an array is needed, and this is of type %s" % type(value).__name__) from None
        view = memoryview(value.__array__())
    if view.ndim == 0 or view.shape is None or view.shape[0] == 0:
        raise ValueError("the array has the shape %s, and no rows" % (view.shape,))
    return _kind(view.format), tuple(view.shape), view.cast("B") if view.c_contiguous else view.tobytes()


def _kind(code: str) -> str:
    order = ">" if code[:1] in (">", "!") or code[:1] not in "<=@" and sys.byteorder == "big" else "<"
    letter = code.lstrip("@=<>!")
    for letters, name in (("?", "b"), ("bhilqn", "i"), ("BHILQN", "u"), ("efd", "f")):
        if len(letter) == 1 and letter in letters:
            size = struct.calcsize(letter if code[:1] not in "=<>!" else "<" + letter)
            return "%s%s%d" % ("|" if size == 1 else order, name, size)
    raise TypeError("elements of the format %r are no numbers that are read" % code)


def _of_lists(value: Sequence[Any]) -> Encoded:
    shape, flat = [], list(value)
    shape.append(len(flat))
    while flat and isinstance(flat[0], (list, tuple)):
        n = len(flat[0])
        if any(not isinstance(x, (list, tuple)) or len(x) != n for x in flat):
            raise ValueError("the lists are not of equal lengths")
        shape.append(n)
        flat = [y for x in flat for y in x]
    if not flat:
        raise ValueError("the list has no numbers")
    whole = all(isinstance(x, int) for x in flat)
    numbers = array.array("q" if whole else "d", flat)
    return _kind(numbers.typecode), tuple(shape), memoryview(numbers).cast("B")


def serve(batches: Batches, *, examples: Optional[int] = None, id: str = "", resumable: bool = True, at: str = "") -> None:
    """Gives examples to the run that has started this program, or to whoever reads its output.

    ``batches`` gives dictionaries of arrays by the name of the field, rows first, any number at
    once; or record batches of pyarrow. A function of an argument, an ``Ask``, begins at the
    example ``ask.first``; of a function without one, what was given before is left out here.
    With ``examples``, the number in an epoch, the function is called for each epoch. ``id`` says
    which examples these are, so that a run goes on with another program that says the same.
    ``resumable=False`` is for examples that are others each time. With ``at``, "unix:PATH" or
    "tcp:HOST:PORT", runs connect to this program, as often as they like.

    >>> def squares(ask):
    ...     for n in range(ask.first, 10000):
    ...         yield {"x": [[n]], "y": [[n * n]]}
    >>> ptc.data.serve(squares, examples=10000)
    """
    source = Source(batches, examples, id, resumable)
    if at:
        with Server(source, at) as server:
            server.thread.join()
        return
    if sys.stdout.isatty():
        raise RuntimeError('the examples go to the standard output, which is a terminal: ptc run --data "python3 %s"' % sys.argv[0])
    # What the program prints, or has printed and not yet written, must not come between the arrays.
    with os.fdopen(os.dup(1), "wb") as out:
        os.dup2(2, 1)
        sys.stdout.flush()
        said = os.environ.get(VARIABLE)
        try:
            source.give(json.loads(said) if said else None, out)
        except BrokenPipeError:  # the run has enough
            os._exit(0)


class Server:
    """Listens at a socket, in a thread, and gives each run that connects its examples."""

    def __init__(self, source: Source, at: str = "") -> None:
        self.source = source
        self.error: Optional[BaseException] = None
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        self._conns: List[socket.socket] = []
        if not at:
            self._folder = tempfile.TemporaryDirectory(prefix="ptc-")
            at = "unix:" + os.path.join(self._folder.name, "data")
        kind, _, place = at.partition(":")
        if kind == "unix" and place:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.bind(place)
        elif kind == "tcp" and place.rpartition(":")[0]:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_server((host.strip("[]"), int(port)))
        else:
            raise ValueError("%r is no place such as unix:PATH or tcp:HOST:PORT" % at)
        self.at = at
        self.socket.listen()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self) -> None:
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:  # closed
                return
            self._conns.append(conn)
            threading.Thread(target=self._give, args=(conn,), daemon=True).start()

    def _give(self, conn: socket.socket) -> None:
        try:
            with conn, conn.makefile("rwb") as out:
                self._answer(out)  # type: ignore[arg-type]
        except OSError:  # the run has enough
            pass

    def _answer(self, out: BinaryIO) -> None:
        try:
            self.source.give(json.loads(out.readline() or b"{}"), out)
        except OSError:
            raise
        except Exception as error:
            self.error = error
            out.write(json.dumps({"ptc_stream": VERSION, "error": "%s: %s" % (type(error).__name__, error)}).encode() + b"\n")

    def close(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # close alone does not wake the thread
        except OSError:
            pass
        self.socket.close()
        self.thread.join()
        for conn in self._conns:
            try:
                conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
