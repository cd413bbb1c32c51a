"""Reads safetensors: the length of a header, the header as JSON, the bytes; and checkpoints in parts,
of which each file has slices of tensors."""

import json
import os
import re
import struct

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}
_LONGEST = 100_000_000  # bytes of a header, the limit of the format


def load(path):
    """Gives the tensors of a safetensors file by name, as arrays of numpy, or the parameters
    of a checkpoint, which is a folder. bf16, which numpy lacks, becomes float32 of the same
    value."""
    import numpy

    if os.path.isdir(path):
        return _parameters(numpy, path)
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


def _parameters(numpy, folder):
    """Puts the parameters of a checkpoint together. Each part has at most one slice of a
    tensor: all cells, between the places where slices begin, that have the part's number."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    parts = manifest.get("parts", 0)
    if not parts:
        return load(os.path.join(folder, "model.safetensors"))
    files = [load(os.path.join(folder, "model-%05d-of-%05d.safetensors" % (part, parts)))
             for part in range(1, parts + 1)]
    tensors = {}
    for entry in manifest["tensors"]:
        name, shape = entry["name"], entry["shape"]
        if "/" in name:
            continue
        starts = entry.get("starts") or [[0]] * len(shape)
        cells = numpy.array(entry["parts"]).reshape([len(along) for along in starts])
        for part in numpy.unique(cells):
            value = files[part - 1][name]
            if name not in tensors:
                tensors[name] = numpy.empty(shape, value.dtype)
            place = tuple(slice(starts[axis][at], starts[axis][at] + value.shape[axis])
                          for axis, at in enumerate(numpy.argwhere(cells == part)[0]))
            tensors[name][place] = value
    return tensors


def checkpoint(folder):
    """The path of the parameters in the checkpoint that was saved last, by the numbers
    that manifests give to saves: a file, or the checkpoint's folder where several processes
    saved it, in parts. Hashes are not compared; "ptc run --resume" does."""
    best, found = -1, None
    for name in sorted(os.listdir(folder)):
        manifest = os.path.join(folder, name, "manifest.json")
        if not re.fullmatch(r"step-\d+(\.\d+)?", name) or not os.path.exists(manifest):
            continue
        with open(manifest, encoding="utf-8") as file:
            saved = json.load(file)
        if saved["sequence"] > best:
            best, found = saved["sequence"], os.path.join(folder, name)
            if not saved.get("parts"):
                found = os.path.join(found, "model.safetensors")
    if found is None:
        raise FileNotFoundError("%s has no checkpoint" % folder)
    return found
