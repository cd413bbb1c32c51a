"""Draws configs of each family in which keys are left out, null, or what the class takes anyway, and what transformers
computes with them: `drawn.py OUT NUMBER SEED` writes a folder for each, `drawn.py --exports OUT EXPORTS` holds what was
exported of them to the originals, and `drawn.py --table` the table of defaults to the classes."""
import copy
import dataclasses
import json
import pathlib
import random
import shutil
import sys
import warnings

import torch
import transformers as T
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

TABLE = json.loads((pathlib.Path(__file__).parents[2] / "internal/hfclass/defaults.json").read_text())
SMALL = dict(vocab_size=11, hidden_size=64, intermediate_size=6, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             max_position_embeddings=32, rms_norm_eps=1e-5)
BASES = {
    "llama": {**SMALL, "head_dim": 6, "attention_bias": False, "mlp_bias": False, "hidden_act": "silu", "tie_word_embeddings": False},
    "mistral": {**SMALL, "head_dim": 6, "hidden_act": "silu", "tie_word_embeddings": False, "sliding_window": 3},
    "mixtral": {**SMALL, "head_dim": 6, "hidden_act": "silu", "tie_word_embeddings": False, "sliding_window": 3, "num_local_experts": 3,
                "num_experts_per_tok": 2},
    "qwen2": {**SMALL, "hidden_act": "silu", "tie_word_embeddings": False, "use_sliding_window": False, "sliding_window": 3, "max_window_layers": 1},
    "qwen3": {**SMALL, "head_dim": 6, "attention_bias": False, "hidden_act": "silu", "tie_word_embeddings": False, "use_sliding_window": False,
              "sliding_window": 3, "max_window_layers": 1},
    "gemma2": {**SMALL, "head_dim": 6, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True, "attention_bias": False,
               "query_pre_attn_scalar": 5, "sliding_window": 3, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0},
    "gpt2": dict(vocab_size=11, n_embd=48, n_layer=2, n_head=2, n_positions=32, n_inner=6, layer_norm_epsilon=1e-4, activation_function="gelu_new",
                 scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, tie_word_embeddings=True, add_cross_attention=False),
}
# Values besides those of the bases, and whether a model of std.models computes them.
OTHERS = {
    "num_attention_heads": [(4, True), (8, True), (32, True)], "num_key_value_heads": [(2, True)], "head_dim": [(8, True), (2, True)],
    "rms_norm_eps": [(1e-3, True)], "tie_word_embeddings": [(True, None), (False, None)], "attention_bias": [(True, None)], "mlp_bias": [(True, False)],
    "hidden_act": [("swish", True), ("gelu", False)], "hidden_activation": [("gelu_new", True), ("gelu", False)],
    "activation_function": [("gelu_pytorch_tanh", True), ("relu", False)], "sliding_window": [(2, True), (5, True)],
    "use_sliding_window": [(True, None)], "max_window_layers": [(2, True), (0, None)], "layer_types": [(["full_attention"] * 2, None)],
    "query_pre_attn_scalar": [(9, True)], "attn_logit_softcapping": [(1.5, True)], "final_logit_softcapping": [(1.0, True)],
    "use_bidirectional_attention": [(False, True), (True, False)], "num_experts_per_tok": [(1, True), (3, True)], "num_local_experts": [(4, True)],
    "n_inner": [(10, True)], "n_head": [(4, True)], "layer_norm_epsilon": [(1e-3, True)], "scale_attn_weights": [(False, False)],
    "scale_attn_by_inverse_layer_idx": [(True, False)], "num_hidden_layers": [(4, True)], "n_layer": [(3, True)],
}
# Keys whose default is large, so that they are left out seldom.
LARGE = {"vocab_size", "hidden_size", "intermediate_size", "n_embd", "num_hidden_layers", "n_layer"}


def rope(r):
    """Keys about rope, in one of the forms of old and new files."""
    theta = r.choice([10000.0, 1000000.0, 777, 500000.0])
    three = dict(factor=r.choice([8.0, 2, 1.0]), low_freq_factor=r.choice([1, 1.5]), high_freq_factor=4.0)
    if r.random() < 0.7:
        three["original_max_position_embeddings"] = r.choice([8, 16])
    kind = r.choice(["rope_type", "type"])
    stretched = {kind: "llama3", **three}
    outside = {"original_max_position_embeddings": 12} if r.random() < 0.2 else {}
    return r.choice([
        {}, {}, {"rope_theta": theta}, {"rope_theta": theta, "rope_scaling": None}, {"rope_parameters": None}, {"rope_scaling": {}, "rope_theta": theta},
        {"rope_parameters": {"rope_type": "default", "rope_theta": theta}}, {"rope_parameters": {"rope_type": "default"}},
        {"rope_parameters": {"rope_theta": theta}}, {"rope_theta": 55.0, "rope_parameters": {"rope_theta": theta, "rope_type": "default"}},
        {"rope_theta": theta, "rope_scaling": {kind: "default"}}, {"rope_scaling": {kind: "default", "factor": 4.0}},
        {"rope_theta": theta, "rope_parameters": {"rope_type": "default"}}, {"rope_scaling": {kind: "default"}, "rope_parameters": {"rope_theta": 3.0}},
        {"rope_theta": theta, "rope_scaling": stretched, **outside}, {"rope_scaling": stretched, **outside}, {"rope_parameters": {**stretched, "rope_theta": theta}, **outside},
        {"rope_theta": theta, "rope_scaling": {kind: "linear", "factor": 2.0}}, {"rope_theta": theta, "partial_rotary_factor": 0.5},
    ])


def draw(r, family):
    """A config, and whether a model of std.models is meant to compute it: None where it depends."""
    config, meant = copy.deepcopy(BASES[family]), True
    keys = TABLE["classes"][family]["keys"]
    for name, key in keys.items():
        what = r.random()
        many = r.choice([0.1, 0.5])  # of the keys; some configs are nearly whole, and others nearly empty
        if name in LARGE:
            many = 0.03
        if what < many * 0.5:
            config.pop(name, None)
        elif what < many * 0.7 and ("null" in key or r.random() < 0.1):
            config[name] = None
            meant = meant if "null" in key else False
        elif what < many and name not in LARGE:
            if (d := key.get("default")) is not None:
                config[name] = d
        elif what < many + 0.15 and name in OTHERS:
            config[name], fine = r.choice(OTHERS[name])
            meant = meant and fine
    if family == "gpt2":
        config.update(r.choice([{}, {}, {}, {"hidden_size": 24}, {"num_attention_heads": 4}, {"n_ctx": 16}]))
    else:
        config.update(rope(r))
        meant = None if any(k in str(config.get("rope_scaling")) + str(config.get("rope_parameters")) for k in ("llama3", "linear")) and meant and family != "llama" \
            else False if "linear" in str(config.get("rope_scaling")) else meant
        if family == "mixtral":
            config.update(r.choice([{}, {}, {}, {"num_experts": 2}]))
    config.update(r.choice([{}, {}, {}, {}, {"attention_dropout": 0.1}, {"use_cache": False}, {"is_causal": True}, {"is_causal": False}, {"not_a_number": float("nan")}]))
    meant = meant if config.get("is_causal", True) else False
    return {"model_type": family, **config}, meant


def load(folder):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager",
                                                **({"experts_implementation": "eager"} if "mixtral" in str(folder) else {})).eval()


def far(model):
    """Parameters far from what they start as, so that each matters."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * (0.5 * (8 / max(p.shape[-1], 8)) ** 0.5 * 2 if p.ndim > 1 else 0.3))


def write(folder, config, meant, seed):
    """One folder: config.json as it was drawn, parameters, and logits or why there are none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    raw = json.dumps(config, indent=1)
    (folder / "config.json").write_text(raw)
    about = {"meant": meant}
    try:
        torch.manual_seed(seed)
        made = AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_config(made)
        if sum(p.numel() for p in model.parameters()) > 20_000_000:
            raise MemoryError("too large to be drawn")
        far(model)
        model.save_pretrained(folder)
        (folder / "config.json").write_text(raw)
        (folder / "generation_config.json").unlink(missing_ok=True)
        model = load(folder)
        vocab = model.config.vocab_size
        tokens = torch.randint(vocab, (1, 3 if vocab > 1000 else 7))
        with torch.no_grad():
            logits = model(tokens).logits
        if not torch.isfinite(logits).all():
            raise ValueError("logits that are not finite")
        about |= {"tokens": tokens.flatten().tolist(), "batch": 1, "seq": tokens.shape[1], "logits": [round(x, 7) for x in logits.flatten().tolist()]}
    except Exception as e:  # what the class refuses is the answer
        about |= {"refused": f"{type(e).__name__}: {str(e)[:200]}"}
    (folder / "logits.json").write_text(json.dumps(about) + "\n")


def normal(config):
    """What the model depends on, in one form."""
    c, out = config.to_dict(), {}
    for name in TABLE["classes"][config.model_type]["keys"]:
        out[name] = c.get(name)
    if not out.get("use_sliding_window", True):
        out["sliding_window"] = out["max_window_layers"] = None
    if out.get("layer_types") and "sliding_attention" not in out["layer_types"]:
        out["sliding_window"] = out["max_window_layers"] = out["use_sliding_window"] = None
    if "head_dim" in out:
        out["head_dim"] = out["head_dim"] or out["hidden_size"] // out["num_attention_heads"]
    if "n_inner" in out:
        out["n_inner"] = out["n_inner"] or 4 * out["n_embd"]
    out["spelled"] = [c.get(k) for k in ("hidden_act", "hidden_activation", "activation_function")]
    for k in ("hidden_act", "hidden_activation", "activation_function"):
        for group in TABLE["same"]:
            out[k] = group[0] if out.get(k) in group else out.get(k)
    out["use_bidirectional_attention"] = bool(out.get("use_bidirectional_attention"))
    rope = dict(c.get("rope_parameters") or {})
    if rope.get("rope_type") == "default" or rope.get("factor") == 1:
        rope = {"rope_type": "default", "rope_theta": rope["rope_theta"]}
    out["rope"] = {k: v for k, v in rope.items() if k not in ("type", "partial_rotary_factor")}
    return out


def exports(cases, folder):
    """What was exported loads, computes the same to the bit, and has the same config."""
    bad = 0
    done = sorted(folder.iterdir())
    for out in done:
        case = cases / out.name
        about = json.loads((case / "logits.json").read_text())
        tokens = torch.tensor(about["tokens"])[None]
        try:
            a, (b, info) = load(case), AutoModelForCausalLM.from_pretrained(
                out, dtype=torch.float64, attn_implementation="eager", output_loading_info=True,
                **({"experts_implementation": "eager"} if "mixtral" in str(out) else {}))
            p, q = normal(a.config), normal(b.config)
            with torch.no_grad():
                x, y = a(tokens).logits, b.eval()(tokens).logits
            near = torch.equal if p["spelled"] == q["spelled"] else torch.allclose  # another name of an activation is another order of sums
            problem = "" if near(x, y) else f"logits differ by {(x - y).abs().max().item():g}"
            if info["missing_keys"] or info["unexpected_keys"]:
                problem += f" tensors {info}"
            if differ := [(k, p[k], q[k]) for k in p if p[k] != q[k] and k != "spelled"]:
                problem += f" config {differ}"
        except Exception as e:
            problem = f"{type(e).__name__}: {str(e)[:200]}"
        if problem:
            bad += 1
            print(f"{out.name}: {problem}\n  {(case / 'config.json').read_text()!r}\n  {(out / 'config.json').read_text()!r}")
    print(f"{len(done)} exports, {bad} of them wrong")
    return bad or not done


def table():
    """The defaults of the table are those of the classes, and null is refused where the table says so."""
    bad = []
    for family, row in TABLE["classes"].items():
        kind = CONFIG_MAPPING[family]
        if kind.__name__ != row["class"] or "rope_theta" in row and kind.default_theta != row["rope_theta"]:
            bad.append((family, kind.__name__, kind.default_theta))
        fields = {f.name: f.default for f in dataclasses.fields(kind)}
        also = {v: [k for k, x in kind.attribute_map.items() if x == v] for v in kind.attribute_map.values()}
        for name, key in row["keys"].items():
            if "missing" in key:
                if name in fields:
                    bad.append((family, name, "is of the class"))
                continue
            if fields[name] != key.get("default") or type(fields[name]) is not type(key.get("default")):
                bad.append((family, name, fields[name], key.get("default")))
            if sorted(also.get(name, [])) != sorted(key.get("also", [])):
                bad.append((family, name, also.get(name)))
            try:
                kind(**{name: None})
                accepts = True
            except Exception:
                accepts = False
            if accepts and "null" not in key and (family, name) != ("gemma2", "sliding_window"):  # that its model refuses
                bad.append((family, name, "null", accepts))
        for name, want in row["tokens"].items():
            if fields[name] != want:
                bad.append((family, name, fields[name]))
    print(f"{len(TABLE['classes'])} classes of transformers {T.__version__}, {len(bad)} differences {bad or ''}")
    return bool(bad)


def main():
    warnings.filterwarnings("ignore")
    T.logging.set_verbosity_error()
    T.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    if sys.argv[1] == "--table":
        sys.exit(table())
    if sys.argv[1] == "--exports":
        sys.exit(exports(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
    out, number, seed = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for family in BASES:
        r = random.Random(f"{family} {seed}")
        for i in range(number):
            write(out / f"{family}_{i:04d}", *draw(r, family), i)


if __name__ == "__main__":
    main()
