"""What wheel_test.go does with the module: the example of its documentation, and mistakes."""

import json
import math
import os
import random
import struct
import subprocess
import sys

import ptc

SMALL = {"batch": 4, "hidden": 8, "corpus": os.path.abspath("*.txt")}


def train():
    for name in "a.txt", "b.txt":
        with open(name, "w") as file:
            file.write("a text of some lines\n" * 50)
    subprocess.run([ptc.binary(), "new", "p"], check=True, stdout=subprocess.DEVNULL)
    plan = ptc.compile("p/model.ptl", target="ref", set=SMALL)
    assert plan == "model.bin", plan
    described = ptc.explain(plan)
    assert described["target"] == "ref:f32" and described["devices"] == 1, described
    events = list(ptc.run(plan, steps=3, checkpoint="ckpt", save="trained.safetensors"))
    assert [e["event"] for e in events] == ["start", "step", "step", "step", "checkpoint", "end"], events
    assert abs(events[1]["loss"] - math.log(256)) < 1, events[1]

    steps = 0
    for event in ptc.run(plan, steps=1_000_000, checkpoint="seen"):  # a caller that has seen enough
        steps += event["event"] == "step"
        if steps == 5:
            break
    assert os.path.exists(ptc.checkpoint("seen")), "what was trained is not saved"

    ptc.run(plan, steps=3, checkpoint="called", on_step=lambda step: step["step"] < 2, progress=True)
    assert ptc.eval(plan, checkpoint="called")["loss"] > 0
    assert len(ptc.sample(plan, "a text of some lines", checkpoint="called", max_tokens=2)["tokens"]) == 2
    assert "srcdoc" in ptc.report(plan)._repr_html_()
    assert os.path.exists(os.path.join(os.path.dirname(ptc.__file__), "py.typed")), "type checkers do not read the hints"

    ported = ptc.compile("p/model.ptl", "ported.bin", target="ref", set=SMALL, port=["lr"])
    logs = ["csv:run \u00e9.csv", "json:run.jsonl"]
    last = list(ptc.run(ported, steps=2, set={"lr": 0.5}, log=logs))[-1]
    assert last["event"] == "end" and all(os.path.exists(x.split(":")[1]) for x in logs), last
    assert '"lr":0.5' in open("run.jsonl").read(), "the port has another value"
    error = refused(lambda: ptc.compile("p/model.ptl", set={"none": 1}))
    assert str(error).startswith("E0214: --set none"), error

    with open("wrong.ptl", "w") as file:
        file.write(open("p/model.ptl").read().replace("(seq, embed))", "(seq, embedd))"))
    error = refused(lambda: ptc.compile("wrong.ptl", target="ref", set=SMALL))
    assert error.exit_code == 1 and error.code == "E0203" and error.line > 1 and error.file == "wrong.ptl", error.diagnostics
    assert "unknown axis" in str(error), error
    assert not os.path.exists("wrong.bin")
    error = refused(lambda: list(ptc.run("none.bin")))
    assert error.exit_code == 3 and "none.bin" in str(error), error


def read():
    import numpy

    trained, saved = ptc.load("trained.safetensors"), ptc.load(ptc.checkpoint("ckpt"))
    assert sorted(trained) == ["b", "out", "table", "w"], sorted(trained)
    for name, value in trained.items():
        assert value.dtype == numpy.float32 and numpy.isfinite(value).all(), name
        assert numpy.array_equal(value, saved[name]), name
    assert trained["table"].shape == (256, 16), trained["table"].shape

    def file(header, data):
        text = json.dumps(header).encode()
        with open("x.safetensors", "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + data)
        return "x.safetensors"

    halves = ptc.load(file({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, b"\x80\x3f\x20\xc0"))["x"]
    assert halves.tolist() == [1.0, -2.5], halves
    whole = {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]}
    assert ptc.load(file({"x": whole}, b"\x05" + bytes(7)))["x"].tolist() == [5]
    for header, data in (
        ({"x": whole}, b"short"),
        ({"x": {**whole, "shape": [2]}}, bytes(8)),
        ({"x": {**whole, "data_offsets": [-8, 0]}}, bytes(8)),
        ({"x": {**whole, "dtype": "F8_E4M3"}}, bytes(8)),
        ({"x": {**whole, "shape": [-1]}}, bytes(8)),
        ({"x": {**whole, "shape": [1 << 70]}}, bytes(8)),
        ({"x": 5}, b""),
        ([1], b""),
    ):
        refused(lambda: ptc.load(file(header, data)), ValueError)
    for text in (struct.pack("<Q", 1 << 40), struct.pack("<Q", 100_000) + b"[" * 100_000, b""):
        write("x.safetensors", text)
        refused(lambda: ptc.load("x.safetensors"), ValueError)

    # Damaged files are refused or read, and nothing else happens.
    with open("trained.safetensors", "rb") as source:
        sound = source.read()
    chance = random.Random(1)
    refusals = 0
    for _ in range(500):
        damaged = bytearray(sound[: chance.choice([len(sound), chance.randrange(1, len(sound))])])
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(min(len(damaged), 300))] = chance.randrange(256)
        write("x.safetensors", damaged)
        try:
            ptc.load("x.safetensors")
        except ValueError:
            refusals += 1
    assert refusals > 100, refusals


def write(name, data):
    with open(name, "wb") as out:
        out.write(data)


def refused(call, kind=None):
    try:
        call()
    except kind or ptc.Error as error:
        return error
    raise AssertionError("nothing was refused")


{"train": train, "read": read}[sys.argv[1]]()
print("ok")
