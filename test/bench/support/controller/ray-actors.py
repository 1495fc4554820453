"""The same calls to an actor of Ray's own: reads `what times` lines, answers with milliseconds of each call."""

import json
import sys
import time

import numpy
import ray


class Prober:
    def echo(self, value):
        return value

    def echo_copy(self, value):
        return value.copy()


ray.init(address=sys.argv[1], log_to_driver=False)
prober = ray.remote(Prober).remote()
batch = numpy.ones(16 << 20, dtype=numpy.float32)
for line in sys.stdin:
    what, times = line.split()
    spent = []
    for _ in range(int(times)):
        start = time.perf_counter()
        # Ours may be written to by its receiver, so Ray's is a copy, too.
        ray.get(prober.echo.remote(1) if what == "empty" else prober.echo_copy.remote(batch))
        spent.append((time.perf_counter() - start) * 1000)
    print(json.dumps(spent), flush=True)
