"""The package with a command that is given by PTC_BINARY, and no other package.

Models are those of "ptc new", on the reference.
"""

import ast
import datetime
import inspect
import io
import json
import operator
import os
import pathlib
import pickle
import re
import shutil
import signal
import tempfile
import threading
import unittest
import warnings

import ptc
from ptc import _call
from ptc._progress import Progress

SMALL = {"batch": 4, "hidden": 8, "corpus": "*.txt"}


def setUpModule():
    global folder, plan
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)
    for name in "a.txt", "b.txt":
        pathlib.Path(name).write_text("a text of some lines\n" * 50)
    ptc.command("new", "p")
    plan = ptc.compile("p/model.ptl", target="ref", set={**SMALL, "corpus": os.path.abspath("*.txt")})


def tearDownModule():
    os.chdir("/")
    folder.cleanup()


class Rule(unittest.TestCase):
    def test_keywords_are_flags(self):
        for options, want in (
            ({"eval_every": 5}, ["--eval-every=5"]),
            ({"from_": 9}, ["--from=9"]),
            ({"resume": True, "keep_best": False}, ["--resume=true", "--keep-best=false"]),
            ({"resume": "auto"}, ["--resume=auto"]),
            ({"log": ["csv:a", "json:b"]}, ["--log=csv:a", "--log=json:b"]),
            ({"set": {"lr": 1e-05, "tied": True}}, ["--set=lr=1e-05", "--set=tied=true"]),
            ({"save": pathlib.Path("x y")}, ["--save=x y"]),
            ({"grace": datetime.timedelta(minutes=1.5)}, ["--grace=90s"]),
            ({"layout": None, "data": []}, []),
        ):
            self.assertEqual(_call.flags(options), want)

    def test_every_command_has_messages_for_programs(self):
        """A flag that no command has is an error with its text, whatever the command is."""
        for name in "compile", "run", "eval", "sample", "import", "export", "data prepare", "data show", "report", "explain", "doctor":
            with self.assertRaises(ptc.Error) as caught:
                ptc.command(name, nonsense=1)
            self.assertEqual(caught.exception.exit_code, 2, name)
            self.assertEqual(caught.exception.message, "unknown flag: --nonsense", name)


class Documentation(unittest.TestCase):
    def test_examples_name_functions_and_flags(self):
        """Each call of an example takes parameters of its function, or flags of its command."""
        root = pathlib.Path(ptc.__file__).parent
        page = (root.parent.parent / "docs" / "python.md").read_text("utf-8")
        examples = [e.split("```")[0] for e in page.split("```python\n")[1:]]
        for source in sorted(root.glob("*.py")):
            lines = [x.strip()[4:] for x in source.read_text("utf-8").splitlines() if x.strip().startswith((">>> ", "... "))]
            examples.append("\n".join(lines))
        seen = set()
        for call in (n for e in examples for n in ast.walk(ast.parse(e)) if isinstance(n, ast.Call)):
            name = ast.unparse(call.func)
            if not re.fullmatch(r"ptc(\.\w+)+", name):
                continue
            seen.add(name[4:])
            function = operator.attrgetter(name[4:])(ptc)
            signature = inspect.signature(function)
            signature.bind(*call.args, **{k.arg: k.value for k in call.keywords})
            own = [p.name for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
            given = [k.arg for k in call.keywords if k.arg not in own]
            if given and function is not ptc.command:
                text = ptc.command("help", *name[4:].rstrip("_").split("."))
                for keyword in given:
                    self.assertRegex(text, "--%s[ \\[]" % keyword.rstrip("_").replace("_", "-"), name)
        for name in ptc.__all__:
            if callable(getattr(ptc, name)) and not isinstance(getattr(ptc, name), type):
                self.assertTrue(getattr(ptc, name).__doc__, name)
                self.assertIn("`%s(" % name, page, name)
        self.assertTrue({"run", "eval", "sample", "import_", "export", "data.prepare", "data.show", "report"} <= seen, seen)


class Errors(unittest.TestCase):
    def test_a_mistake_in_a_source(self):
        text = pathlib.Path("p/model.ptl").read_text().replace("(seq, embed))", "(seq, embedd))")
        pathlib.Path("wrong.ptl").write_text(text)
        with self.assertRaises(ptc.Error) as caught:
            ptc.compile("wrong.ptl", target="ref", set=SMALL)
        e = caught.exception
        self.assertEqual((e.exit_code, e.code, e.file), (1, "E0203", "wrong.ptl"))
        self.assertEqual(text.splitlines()[e.line - 1][e.column - 1 :].split(")")[0], "embedd")
        self.assertIn("unknown axis `embedd`", e.message)
        self.assertEqual(e.hint, "did you mean `embed`?")
        self.assertEqual(e.position, "wrong.ptl:%d:%d" % (e.line, e.column))
        for part in (e.position, e.code, e.message, e.hint):
            self.assertIn(part, str(e))
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((str(again), again.code, again.exit_code, again.diagnostics), (str(e), e.code, e.exit_code, e.diagnostics))
        self.assertFalse(os.path.exists("wrong.bin"))

    def test_others(self):
        for call, code, part in (
            (lambda: ptc.run("none.bin", progress=True), 3, "none.bin"),
            (lambda: list(ptc.run("none.bin")), 3, "none.bin"),
            (lambda: ptc.run(plan, steps=0, on_step=print), 2, "--steps is 0"),
            (lambda: ptc.eval(plan), 2, "init"),
            (lambda: ptc.sample(plan, "x", checkpoint="none"), 3, "none"),
            (lambda: ptc.import_("none", "x"), 3, "none"),
            (lambda: ptc.export("none", "x", plan=plan), 1, "no names for hf"),
            (lambda: ptc.data.show("none.bin"), 3, "none.bin"),
            (lambda: ptc.data.prepare("a.txt", "x", tokenizer="none.json"), 3, "none.json"),
            (lambda: ptc.report("none.bin"), 3, "none.bin"),
        ):
            with self.assertRaises(ptc.Error) as caught:
                call()
            e = caught.exception
            self.assertEqual((e.exit_code, e.code, e.position), (code, "", ""), str(e))
            self.assertIn(part, e.message)
            self.assertNotIn('{"', str(e))

    def test_what_goes_well_may_warn(self):
        warned = json.dumps({"severity": "warning", "code": "", "message": "slow", "notes": []})
        with self.assertWarnsRegex(ptc.Notice, "slow") as caught:
            _call.check(0, warned + "\na line for people\n")
        self.assertEqual(caught.filename, __file__)
        with self.assertRaises(ptc.Error) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _call.check(3, warned + "\nerror: as text\n")
        self.assertEqual(str(caught.exception), "error: as text")


class Runs(unittest.TestCase):
    def test_events(self):
        events = list(ptc.run(plan, steps=3, checkpoint="listed", save="trained.safetensors"))
        self.assertEqual([e["event"] for e in events], ["start", "step", "step", "step", "checkpoint", "end"])

    def test_callbacks(self):
        steps, kinds = [], []
        run = ptc.run(plan, steps=3, checkpoint="called", on_step=steps.append, on_event=lambda e: kinds.append(e["event"]))
        self.assertEqual([s["step"] for s in steps], [1, 2, 3])
        self.assertEqual(kinds, ["start", "step", "step", "step", "checkpoint", "end"])
        self.assertEqual(run.latest["step"], steps[-1])
        self.assertIn("step 3", repr(run))

    def test_a_callback_ends_the_run_saved(self):
        steps = []

        def watch(step):
            steps.append(step["step"])
            return len(steps) < 5

        run = ptc.run(plan, steps=1_000_000, checkpoint="stopped", on_step=watch)
        self.assertEqual(steps, [1, 2, 3, 4, 5])
        self.assertTrue(5 <= run.latest["checkpoint"]["step"] < 1_000_000)
        self.assertEqual(run.latest["end"]["steps"], run.latest["checkpoint"]["step"])
        self.assertTrue(os.path.exists(ptc.checkpoint("stopped")))

    def test_whatever_ends_a_loop_saves(self):
        def leave(run):
            for event in run:
                if event["event"] == "step":
                    break

        def fail(step):
            raise KeyError("of the caller")

        def closed(run):
            with run:
                leave(run)

        def told_twice(run):
            leave(run)
            run.stop()
            run.close()

        for name, call in (
            ("break", lambda **o: leave(ptc.run(plan, **o))),
            ("with", lambda **o: closed(ptc.run(plan, **o))),
            ("stop", lambda **o: told_twice(ptc.run(plan, **o))),
            ("raise", lambda **o: self.assertRaises(KeyError, ptc.run, plan, on_step=fail, **o)),
        ):
            call(steps=1_000_000, checkpoint=name)
            self.assertTrue(os.path.exists(ptc.checkpoint(name)), name)

    def test_a_failure_after_the_loop_is_a_warning(self):
        with self.assertWarnsRegex(ptc.Notice, "(?s)did not end well: .*lost"):
            for event in ptc.run(plan, steps=1_000_000, checkpoint="lost"):
                if event["event"] == "step" and event["step"] > 3:
                    shutil.rmtree("lost")
                    pathlib.Path("lost").write_text("no folder")
                    break

    def test_an_interrupt_saves(self):
        """A signal to Python, as Ctrl-C and a notebook's button send it, while it waits."""
        begun = threading.Event()

        def interrupt():
            begun.wait(60)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        with self.assertRaises(KeyboardInterrupt):
            ptc.run(plan, steps=1_000_000, checkpoint="interrupted", on_step=lambda e: begun.set())
        self.assertTrue(os.path.exists(ptc.checkpoint("interrupted")))

    def test_progress_does_not_flood(self):
        events = [{"event": "start", "last_step": 5000}]
        events += [{"event": "step", "step": i, "loss": None if i == 3 else 1.5, "tokens_per_s": 9.0} for i in range(1, 5001)]
        events += [{"event": "validation", "step": 5000, "val_loss": 1.25}, {"event": "end", "steps": 5000}]

        class Terminal(io.StringIO):
            def isatty(self):
                return True

        for file, most in (Terminal(), 30), (io.StringIO(), 3):
            shown = Progress(file)
            for event in events:
                shown(event)
            shown.close()
            text = file.getvalue()
            self.assertLess(len(text), most * 80, text)
            self.assertIn("step 5000 of 5000  loss 1.5000", text)
            self.assertTrue(text.rstrip().endswith("validation loss 1.2500"), text)


STREAM = """import std.nn
import std.optim
import std.data
config { batch = 4  inputs = 2  outputs = 1 }
model M {
  l : nn.Linear(inputs, outputs)
  fn apply(x: [batch, inputs]) { return l(x) }
}
train M {
  loss = nn.mse(M(x), y)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.stream_arrays(f32[batch, inputs], f32[batch, outputs])
  steps = 6
}
"""


def examples(ask):
    """Twelve examples an epoch, three at once."""
    for n in range(ask.first, 12, 3):
        rows = range(n, min(n + 3, 12))
        yield {"x": [[i / 12, (i * 5 % 7) / 7] for i in rows], "y": [[i % 3 / 3] for i in rows]}


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pathlib.Path("stream.ptl").write_text(STREAM)
        cls.plan = ptc.compile("stream.ptl", target="ref")
        root = os.path.dirname(os.path.dirname(os.path.abspath(ptc.__file__)))
        here = os.path.dirname(os.path.abspath(__file__))
        pathlib.Path("gen.py").write_text(
            "import sys\nsys.path[:0] = [%r, %r]\nimport ptc, test_ptc\n"
            "def loud(ask):\n  print('loading')\n  yield from test_ptc.examples(ask)\nptc.data.serve(loud, examples=12, id='twelve')\n" % (root, here)
        )

    def test_a_function_and_a_program_feed_the_same(self):
        here = list(ptc.run(self.plan, data=Streams.source(), save="here.safetensors"))
        list(ptc.run(self.plan, data="python3 gen.py", save="there.safetensors"))
        self.assertEqual(here[-1]["steps"], 6)
        self.assertEqual(pathlib.Path("here.safetensors").read_bytes(), pathlib.Path("there.safetensors").read_bytes())

    def test_a_run_goes_on_in_the_middle_of_an_epoch(self):
        list(ptc.run(self.plan, data="python3 gen.py", save="through.safetensors"))
        list(ptc.run(self.plan, data="python3 gen.py", steps=2, checkpoint="stream"))
        list(ptc.run(self.plan, data=Streams.source(), checkpoint="stream", resume=True, save="resumed.safetensors"))
        self.assertEqual(pathlib.Path("through.safetensors").read_bytes(), pathlib.Path("resumed.safetensors").read_bytes())

    def test_its_mistake_is_the_error(self):
        def broken(ask):
            yield {"x": [[1, 2]]}

        with self.assertRaisesRegex(ptc.Error, "has no field 'y'"):
            list(ptc.run(self.plan, data=broken))

    @staticmethod
    def source():
        from ptc._stream import Source

        return Source(examples, 12, "twelve", True)


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ptc.run(plan, steps=2, checkpoint="done", on_step=lambda e: None)

    def test_eval(self):
        value = ptc.eval(plan, checkpoint="done", data=["a.txt"], per_file=True)
        self.assertGreater(value["tokens"], 0)
        self.assertEqual(value["files"][0]["file"], "a.txt")

    def test_sample(self):
        one = ptc.sample(plan, "a text of some lines", checkpoint="done", max_tokens=4, greedy=True)
        self.assertEqual(len(one["tokens"]), 4)
        ids = list(b"a text of some lines")
        self.assertEqual(ptc.sample(plan, ids, checkpoint="done", max_tokens=4, greedy=True), one)
        two = ptc.sample(plan, ["a text of some lines", "lines of some text, a"], checkpoint="done", max_tokens=4, greedy=True)
        self.assertEqual((len(two), two[0]), (2, one))
        with self.assertRaises(ValueError):
            ptc.sample(plan, ["one\ntwo", "three"], checkpoint="done")

    def test_explain_and_report(self):
        self.assertEqual(ptc.explain(plan)["target"], "ref:f32")
        report = ptc.report(plan)
        self.assertFalse(os.path.exists("model.html"))
        self.assertTrue(report.html.lower().startswith("<!doctype html>"))
        self.assertEqual(pathlib.Path(report.save("saved.html")).read_text("utf-8"), report.html)
        shown = report._repr_html_()
        self.assertTrue(shown.startswith("<iframe ") and shown.endswith('"></iframe>'))
        self.assertNotIn("<", shown[1:-len("</iframe>")])
        ptc.report(plan, "there.html")
        self.assertEqual(pathlib.Path("there.html").read_text("utf-8"), report.html)

    def test_import_and_export(self):
        folder = pathlib.Path(__file__).resolve().parents[2] / "bench" / "hf" / "testdata" / "llama"
        self.assertEqual(ptc.import_(folder, "llama"), "llama")
        llama = ptc.compile("llama/model.ptl", "llama.bin", target="ref", set={"batch": 2, "seq": 8})
        with self.assertWarnsRegex(ptc.Notice, "no tokenizer is copied"):
            os.rename("llama", "moved")
            self.assertEqual(ptc.export("moved/init.safetensors", "same", plan=llama, dtype="f32"), "same")
        ptc.import_("same", "again")
        self.assertEqual(pathlib.Path("again/init.safetensors").read_bytes(), pathlib.Path("moved/init.safetensors").read_bytes())

    def test_ports(self):
        ported = ptc.compile("p/model.ptl", "ported.bin", target="ref", set={**SMALL, "corpus": os.path.abspath("*.txt")}, port=["lr"])
        ptc.run(ported, steps=1, set={"lr": 0.5}, log=["json:ran \u00e9.jsonl"], on_step=lambda e: None)
        self.assertIn('"lr":0.5', pathlib.Path("ran \u00e9.jsonl").read_text("utf-8"))

    def test_data(self):
        vocabulary = {"a": 0, " ": 1, "text": 2, "<unk>": 3}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"}
        pieces = {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated", "invert": False}
        tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": pieces, "post_processor": None, "decoder": {"type": "Fuse"}, "model": model}
        pathlib.Path("tokenizer.json").write_text(json.dumps(tokenizer))
        os.makedirs("texts")
        for i in range(2):
            pathlib.Path("texts/%d.txt" % i).write_text("a text a")
        self.assertEqual(ptc.data.prepare("texts/*.txt", pathlib.Path("tokens"), tokenizer="tokenizer.json"), "tokens")
        shown = ptc.data.show("tokens", tokenizer="tokenizer.json", from_=2, count=3)
        self.assertEqual(shown, {"total": 10, "from": 2, "tokens": [2, 1, 0], "text": "text a"})
        self.assertEqual(ptc.data.show(["tokens"], from_=10)["tokens"], [])


if __name__ == "__main__":
    unittest.main()
