"""Configurations that are Python, without what they import: recipes of Megatron-Bridge and functions of torchtitan's
config_registry.py run with stand-ins that record what is called and set.

Modules of a few packages are the real ones, such as those of the recipes and of mixed precision; all others are
stand-ins. What a configuration leaves to the defaults of a class is not recorded.
"""
import dataclasses
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import pathlib
import sys
import types


class Named:
    """Something that is imported: a class, a function or a constant."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(f"{self._name}.{name}")

    def __call__(self, *args, **fields):
        if args and not fields and callable(args[0]) and not isinstance(args[0], Named):
            return args[0]  # a decorator
        return Called(self._name, args, fields)

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __getitem__(self, key):
        return self

    def __mro_entries__(self, bases):
        return ()

    def __contains__(self, key):
        return False


class Called:
    """What a class or a function that is imported was called with, and the fields set since."""

    def __init__(self, name, args, fields):
        self.__dict__.update(fields)
        self.__dict__["_name"], self.__dict__["_args"] = name, args

    def __getattr__(self, name):  # what was never set: a section of a configuration, or a default, mostly None or False
        if name.startswith("__"):
            raise AttributeError(name)
        if self._name.endswith((".ConfigContainer", ".Trainer.Config")):
            self.__dict__[name] = Called(f"{self._name}.{name}", (), {})
            return self.__dict__[name]
        return None

    def __iter__(self):  # of a function that returns several values
        return iter((Called(self._name, (), {}), Called(self._name, (), {})))


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the real modules below some prefixes from a folder, and stand-ins below others."""

    def __init__(self, folder, real, standins):
        self.folder, self.real, self.standins = pathlib.Path(folder), real, standins

    def find_spec(self, name, path=None, target=None):
        if any(name == r or name.startswith(r + ".") for r in self.real):
            file = self.folder / name.replace(".", "/")
            for f, package in ((file / "__init__.py", True), (file.with_suffix(".py"), False)):
                if f.is_file():
                    return importlib.util.spec_from_file_location(name, f, submodule_search_locations=[str(file)] if package else None)
        if any(name == s or name.startswith(s + ".") for s in self.standins):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: standin(spec.name, name)
        return module

    def exec_module(self, module):
        pass


def standin(module, name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "AutoBridge":
        return AutoBridge
    return Named(f"{module}.{name}")


class AutoBridge:
    """Megatron-Bridge's models by their name at Hugging Face."""

    def __init__(self, name):
        self.name = name

    @classmethod
    def from_hf_pretrained(cls, name, **_):
        return cls(name)

    def get_model_config(self, **_):
        return Called("AutoBridge", (self.name,), {})

    to_megatron_provider = get_model_config


def value(v):
    """A value as run_config.yaml has it."""
    import torch
    if isinstance(v, Named):
        return {"_target_": v._name, "_call_": False}
    if isinstance(v, torch.dtype):
        return {"_target_": str(v), "_call_": False}
    if isinstance(v, Called):
        return {k: value(x) for k, x in vars(v).items() if not k.startswith("_")}
    if dataclasses.is_dataclass(v):
        return {f.name: value(getattr(v, f.name)) for f in dataclasses.fields(v)}
    if isinstance(v, dict):
        return {str(k): value(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [value(x) for x in v]
    if callable(v):
        return {"_target_": f"{v.__module__}.{v.__qualname__}", "_call_": False}
    return v


def functions(module, suffix):
    """The functions of a module that make a configuration, with those that cannot run without what they import."""
    for name, f in sorted(vars(module).items()):
        if name.startswith("_") or not name.endswith(suffix) or not inspect.isfunction(f) or f.__module__ != module.__name__:
            continue
        try:
            yield name, f()
        except Exception as e:  # it asks a stand-in for a value
            yield name, e


def bridge(sources):
    """Recipes of Megatron-Bridge: name, name of the model at Hugging Face or None, and the tree of its fields."""
    folder = pathlib.Path(sources) / "bridge/src"
    own = "megatron.bridge."
    finder = StandIns(folder, (own + "recipes", own + "perf_recipes", own + "training.mixed_precision"), ("megatron", "transformers", "nemo_run", "transformer_engine"))
    sys.meta_path.insert(0, finder)
    try:
        for file in sorted(folder.glob("megatron/bridge/*recipes/*/*/*.py")):
            if file.name == "__init__.py" or file.parts[-3] not in ("gpt", "llama", "qwen"):
                continue
            module = importlib.import_module(".".join(file.relative_to(folder).with_suffix("").parts))
            for name, config in functions(module, "_config"):
                if "pretrain" not in name:
                    continue
                label = f"{file.parts[-4]}/{name}"
                if isinstance(config, Exception):
                    yield label, None, config
                    continue
                model = config.model
                yield label, model._args[0] if model._name == "AutoBridge" else None, value(config)
    finally:
        sys.meta_path.remove(finder)


def torchtitan(sources):
    """Functions of torchtitan's config_registry.py: module, name, and the configuration."""
    folder = pathlib.Path(sources) / "torchtitan-python"
    finder = StandIns(folder, ("torchtitan.models.llama3.config_registry", "torchtitan.models.qwen3.config_registry", "torchtitan.config.configs"), ("torchtitan",))
    sys.meta_path.insert(0, finder)
    try:
        configs = importlib.import_module("torchtitan.config.configs")
        vars(sys.modules["torchtitan.config"]).update({k: v for k, v in vars(configs).items() if k.endswith("Config")})
        for kind in ("llama3", "qwen3"):
            module = importlib.import_module(f"torchtitan.models.{kind}.config_registry")
            for name, config in functions(module, ""):
                yield kind, name, config
    finally:
        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n == "torchtitan" or n.startswith("torchtitan.")]:
            del sys.modules[name]
