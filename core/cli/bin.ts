#!/usr/bin/env -S GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=134217728:glibc.malloc.trim_threshold=536870912 node
// Batches are large arrays, made anew all the time: on pages of 2 MB their first touch is six times as fast, and up to 128 MB an array
// takes the memory of one that has gone, without a touch at all. glibc then keeps at most 512 MB that nobody uses.
import { processContext } from "./process-context.ts";
import { runCli } from "./program.ts";

process.exitCode = await runCli(process.argv.slice(2), processContext());
