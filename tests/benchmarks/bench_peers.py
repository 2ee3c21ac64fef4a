"""One call of known truth through a real Pipecat pipeline, read in the same run by Earwitness, by Pipecat's own
observers and by OpenInference's instrumentation.

    python tests/benchmarks/bench_peers.py

The call is `tests/pipecat_calls/known_call.py`, on a virtual clock: every run prints the same table, which the README
shows. "–" where one has no such field.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipecat_calls.comparison import compare, table


def main() -> None:
    """Run the call and print what each made of it."""
    compared = compare()
    peer = "openinference-instrumentation-pipecat"
    print(f"{compared.call.placed.seconds:.0f} s of call, pipecat-ai {version('pipecat-ai')}, {peer} {version(peer)}\n")
    print(table(compared.columns))


if __name__ == "__main__":
    main()
