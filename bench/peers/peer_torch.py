"""A training step in PyTorch: models as one writes them there, with one product
for q, k and v, scaled_dot_product_attention and fused AdamW; eager, or under
torch.compile."""

import math
import time

import torch
import torch.nn.functional as F

from workloads import decays, learning_rate, slots

VERSION = "PyTorch " + torch.__version__.split("+")[0]


def rope_tables(t, h):
    angle = torch.outer(torch.arange(t, dtype=torch.float64), 10000.0 ** (-torch.arange(0, h, 2, dtype=torch.float64) / h))
    return angle.cos().float()[:, None, :], angle.sin().float()[:, None, :]


def rope(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Model(torch.nn.Module):
    """A decoder with the parameters of a safetensors file; products have their
    weights as [out, in]."""

    def __init__(self, spec, params):
        super().__init__()
        self.c, self.kind = spec["config"], spec["model"]
        self.w = torch.nn.ParameterDict()
        for name, value in self.joined(params).items():
            self.w[name.replace(".", "/")] = torch.nn.Parameter(value.contiguous())
        if self.kind == "llama":
            cos, sin = rope_tables(self.c["seq"], self.c["head"])
            self.register_buffer("cos", cos)
            self.register_buffer("sin", sin)

    def joined(self, params):
        e = self.c["embed"]
        t = {k: torch.from_numpy(v.copy()) for k, v in params.items()}
        out = {}
        for name, v in t.items():
            base, _, last = name.rpartition(".")
            if last == "wq":
                parts = [t[f"{base}.{w}"].reshape(e, -1) for w in ("wq", "wk", "wv")]
                out[f"{base}.qkv"] = torch.cat(parts, dim=1).T
            elif last == "wo":
                out[name] = v.reshape(-1, e).T
            elif last in ("wk", "wv"):
                pass
            elif last in ("w", "w1", "w2", "w3", "router") and v.ndim == 2:
                out[name] = v.T
            else:
                out[name] = v
        return out

    def p(self, name):
        return self.w[name.replace(".", "/")]

    def norm(self, name, x):
        if self.kind == "llama":
            return F.rms_norm(x, (self.c["embed"],), self.p(f"{name}.gain"), eps=1e-5)
        return F.layer_norm(x, (self.c["embed"],), self.p(f"{name}.gain"), self.p(f"{name}.shift"), eps=1e-5)

    def attention(self, b, x):
        c, (n, t, _) = self.c, x.shape
        heads, kv = c["heads"], c.get("kv", c["heads"])
        q, k, v = F.linear(x, self.p(f"{b}.attn.qkv")).view(n, t, heads + 2 * kv, c["head"]).split((heads, kv, kv), dim=2)
        if self.kind == "llama":
            q, k = rope(q, self.cos, self.sin).to(v.dtype), rope(k, self.cos, self.sin).to(v.dtype)
        q, k, v = (z.transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=kv != heads)
        return F.linear(y.transpose(1, 2).reshape(n, t, -1), self.p(f"{b}.attn.wo"))

    def mlp(self, b, x):
        if self.kind == "llama":
            h = F.silu(F.linear(x, self.p(f"{b}.mlp.w1"))) * F.linear(x, self.p(f"{b}.mlp.w3"))
            return F.linear(h, self.p(f"{b}.mlp.w2"))
        h = F.gelu(F.linear(x, self.p(f"{b}.mlp.w1"), self.p(f"{b}.mlp.b1")))
        return F.linear(h, self.p(f"{b}.mlp.w2"), self.p(f"{b}.mlp.b2"))

    def moe(self, b, x):
        """The sum of the chosen experts, and what the router adds to the loss;
        see nn.MoE in the standard library."""
        c, (n, t, e) = self.c, x.shape
        count, k, room = c["experts"], c["chosen"], slots(self.c)
        logits = F.linear(x, self.p(f"{b}.moe.router")).float()
        p = torch.softmax(logits, dim=-1)
        weight, expert = torch.topk(p, k, dim=-1)
        chosen = F.one_hot(expert, count).sum(2)
        place = torch.gather(chosen.cumsum(1) - chosen, 2, expert)
        # What is over goes to one cell more, which is left out.
        cell = torch.where(place < room, expert * room + place, count * room).view(n, t * k)
        index = cell[..., None].expand(n, t * k, e)
        into = x.new_zeros(n, count * room + 1, e).scatter(1, index, x.repeat_interleave(k, dim=1))
        h = into[:, :-1].view(n, count, room, e).transpose(0, 1).reshape(count, n * room, e)
        h = F.gelu(torch.baddbmm(self.p(f"{b}.moe.b1")[:, None], h, self.p(f"{b}.moe.w1")))
        y = torch.baddbmm(self.p(f"{b}.moe.b2")[:, None], h, self.p(f"{b}.moe.w2"))
        y = y.view(count, n, room, e).transpose(0, 1).reshape(n, count * room, e)
        y = torch.cat((y, y.new_zeros(n, 1, e)), dim=1)
        back = torch.gather(y, 1, index).view(n, t, k, e)
        share = weight / weight.sum(-1, keepdim=True) if k > 1 else weight
        f = chosen.float().mean(1) / k
        balance = count * (f * p.mean(1)).sum(-1)
        z = torch.logsumexp(logits, dim=-1).square().mean(1)
        return k * (back * share[..., None].to(back.dtype)).sum(2), (0.01 * balance + 0.001 * z).mean()

    def forward(self, tokens, targets):
        llama = self.kind == "llama"
        x = F.embedding(tokens, self.p("embedding.table" if llama else "wte"))
        if not llama:
            x = x + self.p("wpe")
        extra = 0.0
        one, two = ("norm1", "norm2") if llama else ("ln1", "ln2")
        for i in range(self.c["layers"]):
            b = f"blocks.{i}"
            x = x + self.attention(b, self.norm(f"{b}.{one}", x))
            y = self.norm(f"{b}.{two}", x)
            if self.kind == "moe":
                y, aux = self.moe(b, y)
                extra = extra + aux
            else:
                y = self.mlp(b, y)
            x = x + y
        x = self.norm("norm" if llama else "ln_f", x)
        logits = F.linear(x, self.p("output.w" if llama else "wte"))
        return F.cross_entropy(logits.float().view(-1, self.c["vocab"]), targets.view(-1)) + extra


class Peer:
    def __init__(self, spec, params):
        torch.set_num_threads(spec["threads"])
        self.spec, self.c = spec, spec["config"]
        self.device = spec.get("device", "cpu")
        self.model = Model(spec, params).to(self.device)
        yes, no = [], []
        for name, w in self.model.w.items():
            (yes if decays(name.replace("/", "."), w.ndim) else no).append(w)
        groups = [{"params": yes, "weight_decay": self.c["decay"]}, {"params": no, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=1.0, betas=(0.9, 0.95), eps=1e-8, fused=True)
        self.all = yes + no
        self.count = 0
        self.loss = torch.compile(self.model) if spec["peer"] == "torch-compile" else self.model

    def backward(self, tokens, targets):
        with torch.autocast(self.device, torch.bfloat16, enabled=self.spec["bf16"]):
            loss = self.loss(tokens, targets)
        loss.backward()
        return loss

    def compile(self, tokens, targets):
        """Seconds of a first pass, which compiles and changes nothing; None
        where nothing is compiled."""
        if self.spec["peer"] != "torch-compile":
            return None
        start = time.perf_counter()
        self.backward(*self.tensors(tokens, targets))
        self.optimizer.zero_grad(set_to_none=True)
        return time.perf_counter() - start

    def tensors(self, tokens, targets):
        return tuple(torch.from_numpy(x.astype("int64")).to(self.device) for x in (tokens, targets))

    def step(self, tokens, targets):
        loss = self.backward(*self.tensors(tokens, targets))
        torch.nn.utils.clip_grad_norm_(self.all, self.c["clip"])
        self.count += 1
        for g in self.optimizer.param_groups:
            g["lr"] = learning_rate(self.spec["model"], self.c, min(self.count, self.c["warmup"]))
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        value = loss.item()
        if not math.isfinite(value):
            raise ValueError("the loss is not finite")
        return value
