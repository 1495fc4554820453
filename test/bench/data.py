"""Reads a parquet file as data.mjs does: every value as a Python object. Prints medians in seconds as JSON."""

import json
import statistics
import sys
import time

import pyarrow.parquet as pq

FILE, RUNS = sys.argv[1], int(sys.argv[2])


def median(work, runs=RUNS):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


results = {
    "pyarrow, as Arrow arrays": median(lambda: pq.read_table(FILE)),
    "pyarrow, as Python objects": median(lambda: pq.read_table(FILE).to_pylist()),
}
print(json.dumps(results))
