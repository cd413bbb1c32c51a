"""Reads safetensors: the length of a header, the header as JSON, the bytes."""

import json
import os
import re
import struct

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}
_LONGEST = 100_000_000  # bytes of a header, the limit of the format


def load(path):
    """Gives the tensors of a safetensors file by name, as arrays of numpy. bf16, which
    numpy lacks, becomes float32 of the same value."""
    import numpy

    with open(path, "rb") as file:
        head = file.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
        if not 2 <= size <= _LONGEST:
            raise ValueError("%s is no safetensors file" % path)
        text = file.read(size)
        data = file.read()
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        return {name: _tensor(numpy, entry, data) for name, entry in header.items()}
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError) as e:
        raise ValueError("%s is no safetensors file: %s" % (path, e)) from e


def _tensor(numpy, entry, data):
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(data):
        raise ValueError("a tensor is outside of the file")
    if any(size < 0 for size in entry["shape"]):  # numpy would take -1 for whatever fits
        raise ValueError("a size is negative")
    if entry["dtype"] == "BF16":
        halves = numpy.frombuffer(data[begin:end], "<u2").astype("<u4")
        return (halves << 16).view("<f4").reshape(entry["shape"])
    if entry["dtype"] not in _TYPES:
        raise ValueError("numpy has no %s" % entry["dtype"])
    return numpy.frombuffer(data[begin:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])


def checkpoint(folder):
    """The path of the parameters in the checkpoint that was saved last, by the numbers
    that manifests give to saves. Hashes are not compared; "ptc run --resume" does."""
    best, found = -1, None
    for name in sorted(os.listdir(folder)):
        manifest = os.path.join(folder, name, "manifest.json")
        if not re.fullmatch(r"step-\d+(\.\d+)?", name) or not os.path.exists(manifest):
            continue
        with open(manifest, encoding="utf-8") as file:
            sequence = json.load(file)["sequence"]
        if sequence > best:
            best, found = sequence, os.path.join(folder, name, "model.safetensors")
    if found is None:
        raise FileNotFoundError("%s has no checkpoint" % folder)
    return found
