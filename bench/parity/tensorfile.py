"""Reads and writes safetensors files: a little-endian u64 with the size of a
JSON header, the header, and the elements of all tensors one after another.

Parsed here, and strictly, so that what ptc writes is held to the format and not
to what one library tolerates.
"""

import json
import struct

import ml_dtypes
import numpy as np

DTYPES = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
NAMES = {d: n for n, d in DTYPES.items()}


def load(path):
    """Returns the tensors of a file by name. Raises ValueError where the file
    is not whole: sizes that disagree, overlaps, gaps, trailing bytes."""
    with open(path, "rb") as f:
        blob = f.read()
    if len(blob) < 8:
        raise ValueError(f"{path}: {len(blob)} bytes are too few for a header")
    (n,) = struct.unpack_from("<Q", blob)
    if n > len(blob) - 8:
        raise ValueError(f"{path}: the header is cut")
    header = json.loads(blob[8 : 8 + n])
    header.pop("__metadata__", None)
    data = memoryview(blob)[8 + n :]
    out, at = {}, 0
    for name, e in sorted(header.items(), key=lambda kv: kv[1]["data_offsets"]):
        start, end = e["data_offsets"]
        dtype, shape = DTYPES[e["dtype"]], tuple(e["shape"])
        want = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        if start != at or end - start != want or end > len(data):
            raise ValueError(f"{path}: {name} should have {want} bytes from {at} on, has {start}..{end}")
        out[name] = np.frombuffer(data[start:end], dtype).reshape(shape)
        at = end
    if at != len(data):
        raise ValueError(f"{path}: {len(data) - at} bytes belong to no tensor")
    return out


def save(path, tensors):
    """Writes tensors in the order of their names."""
    header, parts, at = {}, [], 0
    for name in sorted(tensors):
        t = np.ascontiguousarray(tensors[name])
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        parts.append(t.tobytes())
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.writelines(parts)
