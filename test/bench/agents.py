"""The turns of agents.mjs as asyncio tasks: decode, find the call, run it, render and encode the result, go on."""

import ast
import asyncio
import json
import operator
import re
import statistics
import sys
import time

import jinja2

with open("examples/tool-calculator/model/tokenizer.json", encoding="utf8") as file:
    VOCABULARY = json.load(file)["model"]["vocab"]
with open("examples/tool-calculator/model/tokenizer_config.json", encoding="utf8") as file:
    TEMPLATE = jinja2.Environment().from_string(json.load(file)["chat_template"])
with open(sys.argv[1], encoding="utf8") as file:
    PLAN = json.load(file)

TEXTS = {index: text for text, index in VOCABULARY.items()}
PIECES = re.compile("|".join(re.escape(text) for text in sorted(VOCABULARY, key=len, reverse=True)))
CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def encode(text):
    return [VOCABULARY[piece] for piece in PIECES.findall(text)]


def decode(ids):
    return "".join(TEXTS[index] for index in ids)


def evaluate(node):
    if isinstance(node, ast.Expression):
        return evaluate(node.body)
    if isinstance(node, ast.Constant):
        return node.value
    return OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right))


CALLING = encode('<tool_call>{"name":"calc","arguments":{"e":"123+456"}}</tool_call><|end|>')
ANSWER = encode("=579<|end|>")


async def generate(ids, turn):
    await asyncio.sleep(PLAN["latency"])
    return (ANSWER if turn == PLAN["turns"] - 1 else CALLING), [-1.0] * len(CALLING)


async def loop(messages):
    ids = encode(TEMPLATE.render(messages=messages, add_generation_prompt=True))
    mask, logprobs = [], []
    for turn in range(PLAN["turns"]):
        sampled, probs = await generate(ids, turn)
        ids += sampled
        mask += [1] * len(sampled)
        logprobs += probs
        results = []
        for found in CALL.findall(decode(sampled)):
            call = json.loads(found)
            results.append(str(evaluate(ast.parse(call["arguments"]["e"], mode="eval"))))
        if not results:
            break
        new = [{"role": "tool", "content": result} for result in results]
        observed = encode(TEMPLATE.render(messages=new, add_generation_prompt=True))
        ids += observed
        mask += [0] * len(observed)
        logprobs += [0.0] * len(observed)
    return ids, mask, logprobs


async def run(size):
    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(loop([{"role": "user", "content": "123+456"}]) for _ in range(size)))
    return time.perf_counter() - started, time.process_time() - cpu


results = []
for size in PLAN["sizes"]:
    rounds = [asyncio.run(run(size)) for _ in range(PLAN["rounds"])]
    turns = size * PLAN["turns"]
    wall = statistics.median((seconds - PLAN["turns"] * PLAN["latency"]) / turns * 1e6 for seconds, _ in rounds)
    cpu = statistics.median(seconds / turns * 1e6 for _, seconds in rounds)
    results.append({"size": size, "wall": wall, "cpu": cpu})
print(json.dumps(results))
