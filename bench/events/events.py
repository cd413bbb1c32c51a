"""Holds the scalars of an event file to the JSON lines of the same run: events.py DIR FILE."""

import json
import math
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

TAGS = {"loss": "loss", "grad_norm": "grad_norm", "lr": "lr", "ms": "ms", "tokens_per_second": "tokens_per_s"}


def main() -> None:
    folder, log = sys.argv[1:]
    events = EventAccumulator(folder)
    events.Reload()
    with open(log) as f:
        lines = [json.loads(line) for line in f]
    steps = [x for x in lines if x["event"] == "step"]
    assert steps, "the run has no step"
    for tag, key in TAGS.items():
        hold(tag, events.Scalars(tag), [(x["step"], x[key]) for x in steps])
    validations = {x["step"]: x["val_loss"] for x in lines if x["event"] == "validation"}
    for x in lines:
        if x["event"] == "end" and x["val_loss"] is not None:
            validations.setdefault(x["steps"], x["val_loss"])
    hold("validation", events.Scalars("validation"), sorted(validations.items()))
    print(f"events: TensorBoard reads {len(steps)} steps and {len(validations)} validations as they were")


def hold(tag, scalars, want) -> None:
    """Steps are equal, and values to the precision of a float."""
    got = [(x.step, x.value) for x in scalars]
    assert [s for s, _ in got] == [s for s, _ in want], (tag, got, want)
    for (_, a), (_, b) in zip(got, want):
        assert math.isclose(a, b, rel_tol=1e-6), (tag, a, b)


main()
