"""The same calls to an actor of Ray's own: reads `numbers times` lines, no numbers for an empty call, answers with milliseconds of each call."""

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
for line in sys.stdin:
    numbers, times = map(int, line.split())
    batch = numpy.ones(numbers, dtype=numpy.float32)
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        # Ours may be written to by its receiver, so Ray's is a copy, too.
        ray.get(prober.echo.remote(1) if numbers == 0 else prober.echo_copy.remote(batch))
        spent.append((time.perf_counter() - start) * 1000)
    print(json.dumps(spent), flush=True)
