"""The workload of engine.mjs in PyTorch (CPU, float32, eager): prints seconds as JSON.

Same model, rows, mini-batches and sampling; all rows are trained. Prompts are read once a group, the cache is written in place.
"""

import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

D, LAYERS, HEADS, WIDE, VOCAB, THETA = 128, 2, 4, 256, 62, 100.0
HEAD = D // HEADS
PROMPTS, GROUP, PROMPT, RESPONSE, MINI, MICRO = 128, 8, 8, 6, 2, 256
REPEATS = int(sys.argv[1]) if len(sys.argv) > 1 else 15

torch.manual_seed(0)
torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)


def matrix(rows, columns, scale=1.0):
    return torch.nn.Parameter(torch.randn(rows, columns) * scale / math.sqrt(columns))


embedding = torch.nn.Parameter(torch.randn(VOCAB, D) * 0.02)
residual = 1 / math.sqrt(2 * LAYERS)
layers = [
    dict(n1=torch.nn.Parameter(torch.ones(D)), qkv=matrix(3 * D, D), o=matrix(D, D, residual),
         n2=torch.nn.Parameter(torch.ones(D)), gate_up=matrix(2 * WIDE, D), down=matrix(D, WIDE, residual))
    for _ in range(LAYERS)
]
final = torch.nn.Parameter(torch.ones(D))
parameters = [embedding, final, *(p for layer in layers for p in layer.values())]
angles = torch.arange(PROMPT + RESPONSE)[:, None] * THETA ** (-(torch.arange(HEAD) % (HEAD // 2)) / (HEAD / 2))
COS, SIN = angles.cos(), angles.sin()


def rotate(x, start):
    a, b = x.chunk(2, -1)
    span = slice(start, start + x.shape[2])
    return x * COS[span] + torch.cat((-b, a), -1) * SIN[span]


def norm(x, gain):
    return F.rms_norm(x, (D,), gain, 1e-6)


def forward(ids, start=0, cache=None):
    """Logits of every position; with a cache, keys and values go into it at `start`."""
    rows, length = ids.shape
    x = embedding[ids]
    for i, w in enumerate(layers):
        q, k, v = (norm(x, w["n1"]) @ w["qkv"].T).view(rows, length, 3, HEADS, HEAD).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, start), rotate(k, start)
        if cache is not None:
            cache[i][0][:, :, start : start + length], cache[i][1][:, :, start : start + length] = k, v
            k, v = cache[i][0][:, :, : start + length], cache[i][1][:, :, : start + length]
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + mixed.transpose(1, 2).reshape(rows, length, D) @ w["o"].T
        gate, up = (norm(x, w["n2"]) @ w["gate_up"].T).chunk(2, -1)
        x = x + (F.silu(gate) * up) @ w["down"].T
    return norm(x, final) @ embedding.T


def new_cache(rows):
    shape = (rows, HEADS, PROMPT + RESPONSE, HEAD)
    return [(torch.zeros(shape), torch.zeros(shape)) for _ in range(LAYERS)]


@torch.no_grad()
def sample(prompts):
    small = new_cache(PROMPTS)
    logits = forward(prompts, 0, small)[:, -1].repeat_interleave(GROUP, 0)
    cache = [tuple(t.repeat_interleave(GROUP, 0) for t in pair) for pair in small]
    ids, logprobs = [], []
    for step in range(RESPONSE):
        log_p = F.log_softmax(logits, -1)
        token = torch.multinomial(log_p.exp(), 1)
        ids.append(token)
        logprobs.append(log_p.gather(1, token))
        if step + 1 < RESPONSE:
            logits = forward(token, PROMPT + step, cache)[:, -1]
    return torch.cat(ids, 1), torch.cat(logprobs, 1)


optimizer = torch.optim.AdamW(parameters, lr=5e-4, betas=(0.9, 0.95), weight_decay=0.01)


def update(prompts, ids, old, advantages):
    inputs = torch.cat((prompts.repeat_interleave(GROUP, 0), ids[:, :-1]), 1)
    rows = len(inputs) // MINI
    for mini in range(MINI):
        for start in range(mini * rows, (mini + 1) * rows, MICRO):
            part = slice(start, start + MICRO)
            logits = forward(inputs[part])[:, PROMPT - 1 :]
            log_p = F.log_softmax(logits, -1).gather(2, ids[part, :, None])[..., 0]
            ratio = (log_p - old[part]).exp()
            loss = torch.maximum(-advantages[part] * ratio, -advantages[part] * ratio.clamp(0.8, 1.2))
            (loss.sum() / (rows * RESPONSE)).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()


seconds = {"sample": [], "update": []}
for _ in range(REPEATS):
    prompts = torch.randint(4, VOCAB, (PROMPTS, PROMPT))
    started = time.perf_counter()
    ids, logprobs = sample(prompts)
    seconds["sample"].append(time.perf_counter() - started)
    started = time.perf_counter()
    update(prompts, ids, logprobs, torch.randn(PROMPTS * GROUP, RESPONSE))
    seconds["update"].append(time.perf_counter() - started)
print(json.dumps({name: statistics.median(values[len(values) // 3 :]) for name, values in seconds.items()}))
