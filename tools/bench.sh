#!/usr/bin/env bash
# Runs every benchmark in turn; each prints its own table.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
for bench in tests/benchmarks/bench_*.py; do
    printf '\n== %s\n' "$bench"
    python "$bench" || { status=1; echo "earwitness: $bench failed" >&2; }
done
exit $status
