"""The comparators of kernels.mjs in PyTorch and Triton on the same GPU: prints milliseconds (medians, device events) as JSON."""

import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

sizes = json.loads(sys.argv[1])
device = "cuda"
torch.manual_seed(0)
results = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
LOW, HIGH, DUAL, TAU_POS, TAU_NEG, COEF = 0.2, 0.2, 3.0, 1.0, 1.05, 0.1


def ms(work, repeats=15, warm=3):
    for _ in range(warm):
        work()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def attempt(name, work):
    try:
        results[name] = work()
    except Exception as error:  # one comparator that fails must not take the others with it
        results[name] = None
        print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)


# The ceiling.
rows, vocabulary = sizes["rows"], sizes["vocabulary"]
source = torch.randn(rows, vocabulary, device=device)
target = torch.empty_like(source)
attempt("copy", lambda: ms(lambda: target.copy_(source), 30))
del target


# log_prob_entropy
def statistics_of(logits, ids):
    log_p = F.log_softmax(logits, -1)
    chosen = log_p.gather(1, ids[:, None])[:, 0]
    lse = torch.logsumexp(logits, -1)
    p = F.softmax(logits, -1)
    return chosen, lse - (p * logits).sum(-1), lse


@triton.jit
def triton_forward(logits, ids, chosen, entropy, lse, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = tl.full((), -1e30, tl.float32)
    s = tl.zeros((), tl.float32)
    w = tl.zeros((), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        z = tl.load(logits + row * columns + at, mask=at < columns, other=-1e30)
        top = tl.maximum(m, tl.max(z))
        shrink = tl.exp(m - top)
        d = tl.maximum(z - top, -100.0)
        e = tl.exp(d)
        w = shrink * (w + tl.maximum(m - top, -100.0) * s) + tl.sum(d * e)
        s = shrink * s + tl.sum(e)
        m = top
    z = tl.load(logits + row * columns + tl.load(ids + row))
    tl.store(chosen + row, z - m - tl.log(s))
    tl.store(entropy + row, tl.log(s) - w / s)
    tl.store(lse + row, m + tl.log(s))


@triton.jit
def triton_backward(logits, ids, entropy, lse, d_chosen, d_entropy, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(logits + row * columns + at, mask=at < columns, other=-1e30)
    u = tl.maximum(z - tl.load(lse + row), -100.0)
    p = tl.exp(u)
    a = tl.load(d_chosen + row)
    b = tl.load(d_entropy + row)
    g = p * (-a - b * (u + tl.load(entropy + row)))
    g = tl.where(at == tl.load(ids + row), g + a, g)
    tl.store(out + row * columns + at, g, mask=at < columns)


def log_prob_entropy():
    ids = torch.randint(0, vocabulary, (rows,), device=device)
    attempt("lpe_forward_eager", lambda: ms(lambda: statistics_of(source, ids)))
    compiled = torch.compile(statistics_of)
    attempt("lpe_forward_compile", lambda: ms(lambda: compiled(source, ids)))
    chosen, entropy, lse = (torch.empty(rows, device=device) for _ in range(3))
    forward = lambda: triton_forward[(rows,)](source, ids, chosen, entropy, lse, vocabulary, BLOCK=4096, num_warps=8)
    attempt("lpe_forward_triton", lambda: ms(forward, 30))

    d_chosen, d_entropy = torch.randn(rows, device=device), torch.randn(rows, device=device)
    out = torch.empty_like(source)
    grid = (triton.cdiv(vocabulary, 4096), rows)
    backward = lambda: triton_backward[grid](
        source, ids, entropy, lse, d_chosen, d_entropy, out, vocabulary, BLOCK=4096, num_warps=8
    )
    attempt("lpe_backward_triton", lambda: ms(backward, 30))
    del out

    def gradient(of):
        logits = source.requires_grad_()
        outputs = of(logits, ids)
        loss = (outputs[0] * d_chosen + outputs[1] * d_entropy).sum()
        return ms(lambda: torch.autograd.grad(loss, logits, retain_graph=True))

    attempt("lpe_backward_eager", lambda: gradient(statistics_of))
    attempt("lpe_backward_compile", lambda: gradient(torch.compile(statistics_of)))
    source.requires_grad_(False)


log_prob_entropy()
del source
torch.cuda.empty_cache()


# Policy losses: each with its metrics, token-mean or what its paper fixes.
def shares(mask, *conditions):
    return [(c.float() * mask).sum() / mask.sum() for c in conditions]


def token_mean(loss, mask):
    return (loss * mask).sum() / mask.sum()


def row_mean(loss, mask):
    return ((loss * mask).sum(1) / mask.sum(1).clamp(min=1)).sum() / mask.shape[0]


def ratio_of(x, old, bound=20.0):
    log_ratio = (x - old).clamp(-bound, bound)
    return log_ratio, log_ratio.exp()


def vanilla(x, old, adv, mask, mark):
    log_ratio, ratio = ratio_of(x, old)
    plain, clipped = -adv * ratio, -adv * ratio.clamp(1 - LOW, 1 + HIGH)
    worse = torch.maximum(plain, clipped)
    loss = torch.where(adv < 0, torch.minimum(worse, -adv * DUAL), worse)
    metrics = shares(mask, clipped > plain, (worse > -adv * DUAL) & (adv < 0)) + [token_mean(-log_ratio, mask)]
    return token_mean(loss, mask), metrics


def cispo(x, old, adv, mask, mark):
    with torch.no_grad():
        log_ratio, ratio = ratio_of(x, old)
        weight = ratio.clamp(1 - LOW, 1 + HIGH)
    return token_mean(-weight * adv * x, mask), shares(mask, ratio != weight) + [token_mean(-log_ratio, mask)]


def gpg(x, old, adv, mask, mark):
    return token_mean(-adv * x, mask), []


def reinforce(x, old, adv, mask, mark):
    return token_mean(-adv * x, mask), [token_mean((old - x).detach(), mask)]


def sapo(x, old, adv, mask, mark):
    log_ratio, ratio = ratio_of(x, old)
    tau = torch.where(adv > 0, TAU_POS, TAU_NEG)
    return row_mean(torch.sigmoid(tau * (ratio - 1)) * (-4 * adv / tau), mask), [token_mean(-log_ratio, mask)]


def clip_cov(x, old, adv, mask, mark):
    log_ratio, ratio = ratio_of(x, old, 70.0)
    gain = adv * (mark - 1)
    loss = torch.maximum(gain * ratio, gain * ratio.clamp(1 - LOW, 1 + HIGH))
    return token_mean(loss, mask), shares(mask, mark > 0) + [token_mean(-log_ratio, mask)]


def kl_cov(x, old, adv, mask, mark):
    log_ratio, ratio = ratio_of(x, old, 70.0)
    distance = log_ratio * log_ratio.detach().sign()
    return token_mean(distance * mark * COEF - adv * ratio, mask), [token_mean(distance, mask)]


def gspo(x, old, adv, mask, mark):
    kl = (old - x).detach()
    q = (-(kl * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)).clamp(max=10)
    ratio = (q + x - x.detach()).exp()
    plain, clipped = -adv * ratio, -adv * ratio.clamp(1 - LOW, 1 + HIGH)
    return row_mean(torch.maximum(plain, clipped), mask), shares(mask, clipped > plain) + [token_mean(kl, mask)]


def geo_mean(x, old, adv, mask, mark):
    log_ratio, _ = ratio_of(x, old, 70.0)
    kept = torch.where(adv > 0, log_ratio.clamp(max=HIGH), log_ratio.clamp(min=-LOW)) * mask
    tokens = mask.sum(1).clamp(min=1)
    loss = -((adv * mask).sum(1) / tokens) * (kept.sum(1) / tokens).exp()
    outside = (log_ratio > HIGH) | (log_ratio < -LOW)
    metrics = shares(mask, outside & (adv > 0), outside & (adv < 0)) + [token_mean(-log_ratio, mask)]
    return loss.mean(), metrics


def policy_losses():
    n, width = sizes["loss_rows"], sizes["loss_width"]
    old = -3 * torch.rand(n, width, device=device)
    x = (old + 0.3 * torch.randn_like(old)).requires_grad_()
    adv = torch.randn_like(old)
    mask = (torch.rand_like(old) < 0.9).float()
    mark = (torch.rand_like(old) < 0.01).float()
    for loss in (cispo, clip_cov, geo_mean, gpg, gspo, kl_cov, reinforce, sapo, vanilla):

        def both(of):
            value, metrics = of(x, old, adv, mask, mark)
            return torch.autograd.grad(value, x), metrics

        attempt(f"{loss.__name__}_eager", lambda: ms(lambda: both(loss)))
        compiled = torch.compile(loss)
        attempt(f"{loss.__name__}_compile", lambda: ms(lambda: both(compiled)))


policy_losses()
torch.cuda.empty_cache()


# linear_log_prob_entropy beside a matrix product and cross-entropy.
def linear():
    tokens, width, columns = sizes["tokens"], sizes["hidden"], sizes["vocabulary"]
    hidden = torch.randn(tokens, width, device=device).requires_grad_()
    weight = (torch.randn(columns, width, device=device) / width**0.5).requires_grad_()
    ids = torch.randint(0, columns, (tokens,), device=device)
    held = torch.cuda.memory_allocated()

    def forward():
        with torch.no_grad():
            logits = hidden @ weight.T
            return F.cross_entropy(logits, ids, reduction="none")

    def both():
        loss = F.cross_entropy(hidden @ weight.T, ids)
        return torch.autograd.grad(loss, (hidden, weight))

    for name, work in (("forward", forward), ("both", both)):
        attempt(f"linear_{name}", lambda: ms(work, 5, 2))
        torch.cuda.reset_peak_memory_stats()
        work()
        results[f"linear_{name}_bytes"] = torch.cuda.max_memory_allocated() - held
    torch.backends.cuda.matmul.allow_tf32 = True
    attempt("linear_forward_tf32", lambda: ms(forward, 5, 2))
    attempt("linear_both_tf32", lambda: ms(both, 5, 2))
    torch.backends.cuda.matmul.allow_tf32 = False


linear()
torch.cuda.empty_cache()


# The quickstart's optimizer steps: engine.py's work on the GPU.
def quickstart():
    sys.argv = ["engine.py", "1", "2"]
    text = open(sizes["engine"]).read()
    body = text[: text.index("seconds = {")]
    scope = {"__name__": "engine"}
    # Parameters and tables are made on the GPU by the default device.
    torch.set_default_device(device)
    exec(compile(body, sizes["engine"], "exec"), scope)  # our own file beside this one
    times = {"sample": [], "update": []}
    for _ in range(9):
        prompts = torch.randint(4, scope["VOCAB"], (scope["PROMPTS"], scope["PROMPT"]))
        torch.cuda.synchronize()
        started = time.perf_counter()
        ids, logprobs = scope["sample"](prompts)
        torch.cuda.synchronize()
        middle = time.perf_counter()
        scope["update"](prompts, ids, logprobs, torch.randn(scope["PROMPTS"] * scope["GROUP"], scope["RESPONSE"]))
        torch.cuda.synchronize()
        times["sample"].append(middle - started)
        times["update"].append(time.perf_counter() - middle)
    for name, values in times.items():
        results[f"quickstart_{name}"] = 1000 * statistics.median(values[3:])


attempt("quickstart", quickstart)
print(json.dumps(results))
