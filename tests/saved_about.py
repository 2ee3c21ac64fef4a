"""What a worker writes down of a partition beside its calls, as of a fold that has read all of it."""

from __future__ import annotations

from earwitness.consumers.fold import TimelineFold
from earwitness.consumers.state_values import About


def about_of(fold: TimelineFold, offset: int = 0) -> About:
    """Of partition 0, the only one; ``offset``: where to read on."""
    return About(
        offset=offset,
        fingerprint="",
        partitions=1,
        records_from=0,
        clock_ns=fold.clocks_ns[0],
        since_ns=None,
        newest_ns=fold.windows.part(0).newest_ns,
    )
