"""The step and the call of backend.mjs in PyTorch, eager. Prints their medians in milliseconds as JSON."""

import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

WIDTH, LAYERS, HEADS, BATCH, LENGTH, VOCABULARY = 128, 4, 4, 64, 48, 64
HEAD = WIDTH // HEADS

torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(1)


def weight(*shape):
    return (torch.randn(*shape) * 0.02).requires_grad_()


embedding, positions = weight(VOCABULARY, WIDTH), weight(LENGTH, WIDTH)
layers = [
    dict(
        query=weight(WIDTH, WIDTH),
        key=weight(WIDTH, WIDTH),
        value=weight(WIDTH, WIDTH),
        output=weight(WIDTH, WIDTH),
        up=weight(WIDTH, 4 * WIDTH),
        down=weight(4 * WIDTH, WIDTH),
        first=torch.ones(WIDTH, requires_grad=True),
        second=torch.ones(WIDTH, requires_grad=True),
    )
    for _ in range(LAYERS)
]
future = torch.triu(torch.full((LENGTH, LENGTH), -1e9), 1)


def norm(x, gain):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * gain


def heads(x):
    return x.view(BATCH, LENGTH, HEADS, HEAD).transpose(1, 2)


def logits(ids):
    x = (F.embedding(ids, embedding) + positions).reshape(-1, WIDTH)
    for p in layers:
        h = norm(x, p["first"])
        q, k, v = heads(h @ p["query"]), heads(h @ p["key"]), heads(h @ p["value"])
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(HEAD) + future, -1)
        x = x + (weights @ v).transpose(1, 2).reshape(-1, WIDTH) @ p["output"]
        x = x + torch.relu(norm(x, p["second"]) @ p["up"]) @ p["down"]
    return x @ embedding.t()


optimizer = torch.optim.Adam([embedding, positions, *(w for p in layers for w in p.values())], lr=1e-3)
ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))


def step():
    optimizer.zero_grad()
    loss = F.cross_entropy(logits(ids), ids.reshape(-1))
    loss.backward()
    optimizer.step()
    return loss.item()


first, bias, second = torch.randn(4, 64), torch.zeros(64), torch.randn(64, 2)


def call():
    with torch.no_grad():
        return (torch.relu(torch.tensor([[0.0, 1, 2, 3]]) @ first + bias) @ second).numpy()


def median(work, warm, times):
    for _ in range(warm):
        work()
    samples = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


print(json.dumps({"step": median(step, 2, 12), "call": median(call, 100, 2000)}))
