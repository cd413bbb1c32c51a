"""Calls of the command."""

import json
import os
import subprocess
import tempfile

# What the command writes is UTF-8, whatever the locale is.
_TEXT = {"encoding": "utf-8", "errors": "replace"}


class Error(Exception):
    """What ptc refused: ``code`` is its exit code, and ``diagnostics`` are the
    mistakes in a source, as "ptc compile --diagnostics json" writes them."""

    def __init__(self, code, message, diagnostics=()):
        super().__init__(message)
        self.code = code
        self.diagnostics = list(diagnostics)


def binary():
    """The path of the command: $PTC_BINARY, or that of this package."""
    return os.environ.get("PTC_BINARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ptc")


def version():
    """What "ptc version" says."""
    return _output(["version"]).strip()


def compile(source, output=None, *, layout=None, target=None, set=None, port=None):
    """Compiles a source to the file output, by default its name with .bin in
    the current folder, and gives the path. set replaces entries of the config, port
    is a list of those that run(plan, set=…) may give other values."""
    if output is None:
        output = os.path.splitext(os.path.basename(os.fspath(source)))[0] + ".bin"
    args = ["compile", "-o", os.fspath(output), "--quiet", "--diagnostics", "json"]
    args += _flags(layout=layout, target=target, set=set, port=port)
    _output(args + ["--", os.fspath(source)])
    return os.fspath(output)


def run(plan, **options):
    """Trains by a plan, and yields each event of "ptc run --log json" as it happens.
    Options are the command's: steps=200, checkpoint="ckpt", resume=True, save="file". One
    that may be given again takes a list, log=["csv:run.csv"], and set a dictionary.
    A caller that takes no more events ends the run after the step that is under way, which
    is saved where there is a checkpoint."""
    args = [binary(), "run", "--log", "json", *_flags(**options), "--", os.fspath(plan)]
    # A pipe that nobody empties would stop the command once it is full; a file does not.
    # In a session of its own Ctrl-C is Python's alone, so that the command is told to end once.
    with tempfile.TemporaryFile("w+", **_TEXT) as said:
        with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=said, start_new_session=True, **_TEXT) as process:
            try:
                for line in process.stdout:
                    yield json.loads(line)
            finally:
                if process.poll() is None:
                    process.terminate()
                    for _ in process.stdout:  # to a pipe that is closed the command could tell, and save, nothing more
                        pass
        if process.returncode:
            said.seek(0)
            raise _error(process.returncode, said.read())


def explain(plan):
    """What a plan does, as "ptc explain --json" has it."""
    return json.loads(_output(["explain", "--json", "--", os.fspath(plan)]))


def _output(args):
    done = subprocess.run([binary(), *args], capture_output=True, **_TEXT)
    if done.returncode:
        raise _error(done.returncode, done.stderr)
    return done.stdout


def _error(code, text):
    diagnostics, lines = [], []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            diagnostics.append(value)
            where = ("%(file)s:%(line)s:%(column)s: " if value["file"] else "") + ("%(code)s: " if value["code"] else "")
            lines.append((where + "%(message)s") % value)
        else:
            lines.append(line)
    return Error(code, "\n".join(lines) or "ptc ended with %d" % code, diagnostics)


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flags(**options):
    out = []
    for name, value in options.items():
        if isinstance(value, dict):
            value = ["%s=%s" % (key, _word(v)) for key, v in value.items()]
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is not None:
                out.append("--%s=%s" % (name.replace("_", "-"), _word(v)))
    return out
