"""Replays the updates of replay.mjs in PyTorch, in float32 and in float64, and prints how far each and verl's lie apart as JSON.

Same weights and rows, read from the folder that is the only argument; the model and AdamW are written out by PyTorch's own parts.
"""

import json
import struct
import sys

import torch
import torch.nn.functional as F

folder = sys.argv[1]
plan = json.load(open(f"{folder}/plan.json"))
D, LAYERS, HEADS, THETA = (plan["model"][k] for k in ("hidden_size", "num_hidden_layers", "num_attention_heads", "rope_theta"))
HEAD, PROMPT, MICRO = D // HEADS, plan["prompt"], plan["micro"]


def read(path):
    data = open(path, "rb").read()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        assert entry["dtype"] == "F32", entry
        yield name, torch.frombuffer(bytearray(data[8 + size + start : 8 + size + end]), dtype=torch.float32).view(entry["shape"])


def norm(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gain


def log_probs(w, ids):
    rows, length = ids.shape
    dtype = w["model.norm.weight"].dtype
    angles = torch.arange(length, dtype=dtype)[:, None] * THETA ** (-(torch.arange(HEAD) % (HEAD // 2)).to(dtype) / (HEAD / 2))
    cos, sin = angles.cos(), angles.sin()

    def rotate(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    x = w["model.embed_tokens.weight"][ids]
    for i in range(LAYERS):
        p = lambda name: w[f"model.layers.{i}.{name}.weight"]
        h = norm(x, p("input_layernorm"))
        q, k, v = ((h @ p(f"self_attn.{n}_proj").T).view(rows, length, HEADS, HEAD).transpose(1, 2) for n in "qkv")
        mixed = F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(rows, length, D) @ p("self_attn.o_proj").T
        h = norm(x, p("post_attention_layernorm"))
        x = x + (F.silu(h @ p("mlp.gate_proj").T) * (h @ p("mlp.up_proj").T)) @ p("mlp.down_proj").T
    logits = norm(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T
    return F.log_softmax(logits[:, PROMPT - 1 : -1], -1).gather(2, ids[:, PROMPT:, None])[..., 0]


def replay(dtype):
    w = {name: torch.nn.Parameter(tensor.to(dtype)) for name, tensor in read(f"{folder}/before/model.safetensors")}
    o = plan["optim"]
    decayed = [{"params": [p for p in w.values() if p.ndim > 1], "weight_decay": o["weight_decay"]},
               {"params": [p for p in w.values() if p.ndim == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(decayed, lr=o["lr"], betas=o["betas"], eps=o["eps"])
    losses, norms = [], []
    for step in plan["steps"]:
        ids = torch.tensor(step["input_ids"]).view(plan["rows"], -1)
        old, advantages = (torch.tensor(step[k], dtype=dtype).view(plan["rows"], -1) for k in ("old_log_probs", "advantages"))
        total = 0.0
        for start in range(0, plan["rows"], MICRO):
            part = slice(start, start + MICRO)
            ratio = (log_probs(w, ids[part]) - old[part]).exp()
            gain = -advantages[part]
            loss = torch.maximum(gain * ratio, gain * ratio.clamp(0.8, 1.2)).sum() / old.numel()
            loss.backward()
            total += loss.item()
        norms.append(torch.nn.utils.clip_grad_norm_(w.values(), o["clip_grad"]).item())
        losses.append(total)
        optimizer.step()
        optimizer.zero_grad()
    return losses, norms, {name: p.detach().double() for name, p in w.items()}


ours = (plan["losses"], plan["norms"], {n: t.double() for n, t in read(f"{folder}/after/model.safetensors")})
before = {n: t.double() for n, t in read(f"{folder}/before/model.safetensors")}
single, double = replay(torch.float32), replay(torch.float64)
distance = lambda a, b: sum((a[n] - b[n]).pow(2).sum().item() for n in b) ** 0.5


def apart(a, b):
    relative = lambda x, y: max(abs(p - q) / abs(q) for p, q in zip(x, y))
    weights = distance(a[2], b[2]) / distance(double[2], before)
    return {"loss": relative(a[0], b[0]), "grad_norm": relative(a[1], b[1]), "weights": weights}


print(json.dumps({"float32": apart(ours, single), "ours": apart(ours, double), "torch": apart(single, double)}))
