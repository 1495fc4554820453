"""The work of advantage.mjs and policy-loss.mjs in PyTorch (CPU, float32, eager): prints seconds of each formula as JSON.

Estimators are written the way they usually are: lists of scores by group, a loop over groups, a loop over rows, an int64 mask, as tokenizers
make it. Losses run forward and backward, with a float mask. Usage: algorithms.py advantage|policy_loss [repeats]
"""

import json
import math
import sys
import time
from collections import defaultdict

import torch

ROWS, WIDTH, GROUP = 1024, 4096, 8
EPS = 1e-6
KIND = sys.argv[1]
REPEATS = int(sys.argv[2]) if len(sys.argv) > 2 else 7

torch.manual_seed(0)
torch.set_num_threads(2)

uid = [f"prompt-{row // GROUP}" for row in range(ROWS)]
lengths = torch.tensor([WIDTH // 4 + row * 7919 % (WIDTH * 3 // 4) for row in range(ROWS)])
mask = (torch.arange(WIDTH)[None, :] < lengths[:, None]).to(torch.int64 if KIND == "advantage" else torch.float32)
rewards = torch.zeros(ROWS, WIDTH)
rewards[torch.arange(ROWS), lengths - 1] = torch.arange(ROWS).remainder(3).clamp(max=1).float()
values = torch.rand(ROWS, WIDTH)
baselines = torch.rand(ROWS)
old = -torch.rand(ROWS, WIDTH)
squares = torch.rand(ROWS, WIDTH)
parts = [torch.rand(ROWS), torch.rand(ROWS)]


def masked_mean(x):
    return (x * mask).sum() / mask.sum()


def whiten(x):
    mean = masked_mean(x)
    count = mask.sum()
    variance = masked_mean((x - mean) ** 2) * count / (count - 1)
    return (x - mean) * torch.rsqrt(variance + 1e-8)


def by_group(scores):
    groups = defaultdict(list)
    for row in range(ROWS):
        groups[uid[row]].append(scores[row])
    return {key: torch.stack(members) for key, members in groups.items()}


def spread(scores):
    return scores[:, None] * mask


def group_normalised(scores):
    stats = {key: (x.mean(), x.std()) for key, x in by_group(scores).items()}
    out = scores.clone()
    for row in range(ROWS):
        mean, std = stats[uid[row]]
        out[row] = (scores[row] - mean) / (std + EPS)
    return out


def group_centred(scores):
    means = {key: x.mean() for key, x in by_group(scores).items()}
    out = scores.clone()
    for row in range(ROWS):
        out[row] = scores[row] - means[uid[row]]
    return out


def grpo():
    return spread(group_normalised(rewards.sum(-1)))


def group_index():
    numbers = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in uid])


def grpo_vectorized():
    scores, index = rewards.sum(-1), group_index()
    groups = int(index.max()) + 1
    count = torch.zeros(groups).index_add_(0, index, torch.ones(ROWS))
    mean = torch.zeros(groups).index_add_(0, index, scores) / count
    squared = torch.zeros(groups).index_add_(0, index, (scores - mean[index]) ** 2)
    return spread((scores - mean[index]) / ((squared / (count - 1)).sqrt()[index] + EPS))


def grpo_passk():
    scores = rewards.sum(-1)
    rows = defaultdict(list)
    for row in range(ROWS):
        rows[uid[row]].append(row)
    out = torch.zeros(ROWS)
    for members in rows.values():
        x = torch.stack([scores[row] for row in members])
        top, order = torch.topk(x, 2)
        out[members[int(order[0])]] = (top[0] - top[1]) / (x.std() + EPS)
    return spread(out)


def reinforce_plus_plus_baseline():
    return whiten(spread(group_centred(rewards.sum(-1)))) * mask


def rloo():
    scores = rewards.sum(-1)
    groups = by_group(scores)
    means = {key: x.mean() for key, x in groups.items()}
    out = scores.clone()
    for row in range(ROWS):
        n = len(groups[uid[row]])
        out[row] = scores[row] * n / (n - 1) - means[uid[row]] * n / (n - 1)
    return spread(out)


def rloo_vectorized():
    scores, index = rewards.sum(-1), group_index()
    groups = int(index.max()) + 1
    count = torch.zeros(groups).index_add_(0, index, torch.ones(ROWS))[index]
    total = torch.zeros(groups).index_add_(0, index, scores)[index]
    return spread((count * scores - total) / (count - 1))


def opo():
    scores, tokens = rewards.sum(-1), mask.sum(-1)
    groups = defaultdict(list)
    for row in range(ROWS):
        groups[uid[row]].append((scores[row], tokens[row]))
    baseline = {}
    for key, members in groups.items():
        s, n = (torch.stack(column) for column in zip(*members))
        baseline[key] = (s * n).sum() / n.sum()
    out = scores.clone()
    for row in range(ROWS):
        out[row] = scores[row] - baseline[uid[row]]
    return spread(out)


def gpg():
    scores = rewards.sum(-1)
    return spread(group_centred(scores) * ROWS / scores.count_nonzero().clamp(min=1))


def gdpo():
    return spread(sum(group_normalised(part) for part in parts))


def gae(gamma=1.0, lam=0.95):
    next_value, last, columns = torch.zeros(ROWS), torch.zeros(ROWS), []
    for t in reversed(range(WIDTH)):
        m = mask[:, t]
        last_t = rewards[:, t] + gamma * next_value - values[:, t] + gamma * lam * last
        next_value = values[:, t] * m + (1 - m) * next_value
        last = last_t * m + (1 - m) * last
        columns.append(last)
    advantages = torch.stack(columns[::-1], dim=1)
    return whiten(advantages), advantages + values


def reinforce_plus_plus(gamma=0.99):
    returns, running = torch.zeros(ROWS, WIDTH), torch.zeros(ROWS)
    for t in reversed(range(WIDTH)):
        running = rewards[:, t] + gamma * running
        returns[:, t] = running
        running = running * mask[:, t]
    return whiten(returns) * mask, returns


def to_go():
    return (rewards * mask).flip(-1).cumsum(-1).flip(-1)


def remax():
    returns = to_go()
    return returns - baselines[:, None] * mask, returns


def optimal_token_baseline():
    returns = to_go()
    weights = ((1 - 2 * old.exp() + squares) * mask).cumsum(-1)
    rows = defaultdict(list)
    for row in range(ROWS):
        rows[uid[row]].append(row)
    baseline = torch.zeros(ROWS, WIDTH)
    for members in rows.values():
        pick = torch.tensor(members)
        g, w = returns[pick], weights[pick] * mask[pick]
        baseline[pick] = (g * w).sum(0) / (w.sum(0) + 1e-8)
    return (returns - baseline) * mask, returns


def tir_optimal_token_baseline():
    returns, advantages = to_go(), torch.zeros(ROWS, WIDTH)
    weights = 1 - 2 * old.exp() + squares
    rows = defaultdict(list)
    for row in range(ROWS):
        rows[uid[row]].append(row)
    for members in rows.values():
        places = [mask[row].nonzero()[:, 0] for row in members]
        longest = max(len(place) for place in places)
        g, w = torch.zeros(len(members), longest), torch.zeros(len(members), longest)
        for i, (row, place) in enumerate(zip(members, places)):
            g[i, : len(place)] = returns[row, place]
            w[i, : len(place)] = weights[row, place].cumsum(0)
        baseline = (g * w).sum(0) / (w.sum(0) + 1e-8)
        for i, (row, place) in enumerate(zip(members, places)):
            advantages[row, place] = g[i, : len(place)] - baseline[: len(place)]
    return advantages * mask, returns


ESTIMATORS = [gae, gdpo, gpg, grpo, grpo_passk, grpo_vectorized, opo, optimal_token_baseline, reinforce_plus_plus,
              reinforce_plus_plus_baseline, remax, rloo, rloo_vectorized, tir_optimal_token_baseline]

advantages = torch.randn(ROWS, 1).expand(ROWS, WIDTH).contiguous()
log_probs = (old + 0.1 * torch.randn(ROWS, WIDTH)).requires_grad_()
LOW = HIGH = 0.2


def token_mean(loss):
    return masked_mean(loss)


def seq_mean(loss):
    return ((loss * mask).sum(-1) / mask.sum(-1)).mean()


def share(condition):
    return masked_mean(condition.float()).item()


def vanilla():
    delta = (log_probs - old).clamp(-20, 20)
    ratio = delta.exp()
    plain, clipped = -advantages * ratio, -advantages * ratio.clamp(1 - LOW, 1 + HIGH)
    worse = torch.maximum(plain, clipped)
    ceiling = -advantages * 3
    loss = torch.where(advantages < 0, torch.minimum(worse, ceiling), worse)
    share(clipped > plain), share((worse > ceiling) & (advantages < 0)), masked_mean(-delta).item()
    return token_mean(loss)


def gspo():
    delta = log_probs - old
    q = (delta * mask).sum(-1) / mask.sum(-1)
    ratio = (log_probs - log_probs.detach() + q.detach()[:, None]).clamp(max=10).exp()
    plain, clipped = -advantages * ratio, -advantages * ratio.clamp(1 - LOW, 1 + HIGH)
    share(clipped > plain), masked_mean(-delta).item()
    return seq_mean(torch.maximum(plain, clipped))


def sapo():
    delta = (log_probs - old).clamp(-20, 20)
    tau = torch.where(advantages > 0, torch.full_like(advantages, 1.0), torch.full_like(advantages, 1.05))
    gate = torch.sigmoid(tau * (delta.exp() - 1)) * 4 / tau
    masked_mean(-delta).item()
    return seq_mean(-gate * advantages)


def gpg_loss():
    return token_mean(-log_probs * advantages)


def covariance():
    with torch.no_grad():
        return (advantages - masked_mean(advantages)) * (log_probs - masked_mean(log_probs))


def clip_cov():
    delta = log_probs - old
    ratio = delta.exp()
    plain, clipped = -advantages * ratio, -advantages * ratio.clamp(1 - LOW, 1 + HIGH)
    cov = covariance()
    cov[(mask == 0) | (clipped > plain)] = -math.inf
    keep = torch.ones_like(advantages)
    candidates = torch.nonzero((cov > 1) & (cov < 5))
    count = max(int(0.0002 * mask.sum().item()), 1)
    drawn = candidates[torch.randperm(len(candidates))[: min(count, len(candidates))]]
    keep[drawn[:, 0], drawn[:, 1]] = 0
    share(keep == 0), masked_mean(-delta).item()
    return token_mean(torch.maximum(plain, clipped) * keep)


def kl_cov():
    delta = log_probs - old
    plain = -advantages * delta.exp()
    penalised = plain + 0.1 * delta.abs()
    valid = torch.nonzero(mask.reshape(-1) > 0)[:, 0]
    cov = covariance().reshape(-1)[valid]
    top = valid[torch.topk(cov, max(int(len(valid) * 0.0002), 1)).indices]
    row, column = top // WIDTH, top % WIDTH
    loss = plain.clone()
    loss[row, column] = penalised[row, column]
    masked_mean(delta.abs()).item()
    return token_mean(loss)


def geo_mean():
    delta = log_probs - old
    kept = delta.clamp(-LOW, HIGH)
    sign = torch.sign(advantages)
    bounded = sign * torch.minimum(sign * delta, sign * kept)
    tokens = mask.sum(-1)
    ratio = ((bounded * mask).sum(-1) / tokens).exp()
    outside = delta != kept
    share(outside & (advantages > 0)), share(outside & (advantages < 0)), masked_mean(-delta).item()
    return (-(advantages * mask).sum(-1) / tokens * ratio).mean()


def cispo():
    delta = (log_probs - old).clamp(-20, 20)
    ratio = delta.exp()
    weight = ratio.clamp(1 - LOW, 1 + HIGH).detach()
    share(ratio != weight), masked_mean(-delta).item()
    return token_mean(-weight * advantages * log_probs)


LOSSES = {"cispo": cispo, "clip_cov": clip_cov, "geo_mean": geo_mean, "gpg": gpg_loss, "gspo": gspo, "kl_cov": kl_cov,
          "sapo": sapo, "vanilla": vanilla}


def backward(loss):
    def work():
        log_probs.grad = None
        loss().backward()

    return work


def seconds(work):
    """The fastest half of the runs, averaged, after half a second of others: other work on the machine only ever adds."""
    start = time.perf_counter()
    while time.perf_counter() - start < 0.5:
        work()
    samples = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        samples.append(time.perf_counter() - begin)
    fast = sorted(samples)[: (REPEATS + 1) // 2]
    return sum(fast) / len(fast)


if KIND == "advantage":
    with torch.no_grad():
        print(json.dumps({f.__name__: seconds(f) for f in ESTIMATORS}))
else:
    print(json.dumps({key: seconds(backward(loss)) for key, loss in LOSSES.items()}))
