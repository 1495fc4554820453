#!/usr/bin/env -S GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=134217728:glibc.malloc.trim_threshold=536870912:glibc.malloc.arena_max=1 node
// Batches are large arrays, made anew all the time: on pages of 2 MB their first touch is six times as fast, and up to 128 MB an array
// takes the memory of one that has gone, without a touch at all. glibc then keeps at most 512 MB that nobody uses. All threads allocate
// from one heap: the heap of a thread of its own ends at 64 MB, and a larger array would be fetched from the system, cleared, each time.
import { processContext } from "./process-context.ts";
import { runCli } from "./program.ts";

const context = processContext();
await context.end(await runCli(process.argv.slice(2), context));
