"""Which version of what counts among the records of one partition of the state topic. Pure.

A snapshot must count as a whole or not at all, though its records are written one by one and an old owner may still
write. So each key has two slots; a snapshot writes what changed into the slot that does not hold the newest version
that counts, and last the manifest, one record, which makes it count. Reading takes of each key the newest version that
the manifest vouches for, and adds up a checksum over all of them: a version that is missing, was overwritten or came
back to life is noticed, and then nothing of it is used.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from earwitness.monitor.log.protocol import Entry, Outgoing

FORMAT: Final = 1
"""Of the records of this module; what lies under another is not read."""
MANIFEST: Final = "manifest"
PIECE_BYTES: Final = 700_000
"""What is longer than a record may be is cut."""


class Doubt(Exception):
    """What lies on the topic is not one whole snapshot; the text says why."""


class Version(NamedTuple):
    """A version of a key: ``owner`` is whoever had the partition, ``epoch`` its snapshot. ``gone`` says that the key
    was let go."""

    epoch: int
    owner: str
    slot: int
    pieces: int
    crc: int
    gone: bool
    mark: int
    """What it adds to the checksum."""


class Stored(msgspec.Struct, array_like=True, frozen=True):
    """A record of the topic: one piece of a version; ``body`` None: the key was let go."""

    format: int
    owner: str
    epoch: int
    piece: int
    pieces: int
    crc: int
    body: bytes | None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a snapshot count. ``lineage``: of each owner with versions that may count, the last epoch that did.
    ``offset``: the next event to be folded. ``about``: whatever its writer has to say."""

    format: int
    owner: str
    epoch: int
    lineage: dict[str, int]
    offset: int
    count: int
    checksum: int
    about: bytes


@dataclass(frozen=True, slots=True)
class Restored:
    """A whole snapshot."""

    manifest: Manifest
    values: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The records of one snapshot in the order of their writing: ``data``, then ``manifest``, and ``after`` only when
    that is acknowledged."""

    data: list[Outgoing]
    manifest: list[Outgoing]
    after: list[Outgoing]
    versions: dict[str, Version]
    cleaned: list[str]
    lineage: dict[str, int]


@dataclass(slots=True)
class Slots:
    """The versions on one partition, as its owner ``owner`` knows them."""

    partition: int
    owner: str
    epoch: int = 0
    """The greatest epoch that was ever seen or used here."""
    versions: dict[str, Version] = field(default_factory=dict[str, Version])
    """The newest that counts of each key."""
    lineage: dict[str, int] = field(default_factory=dict[str, int])
    present: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """How many pieces lie in a slot, whatever they are of."""

    def read(self, entries: Iterable[Entry]) -> Restored | None:
        """Take in all that the partition has; None where there is no snapshot.

        Raises Doubt where there is no telling; then whatever was there is cleared away after the next snapshot.
        """
        latest = {entry.key: entry.value for entry in entries}
        manifest_bytes = latest.pop(MANIFEST, None)
        found: dict[tuple[str, int], list[Stored]] = {}
        for name, value in latest.items():
            place = _place(name)
            if place is None or value is None:
                continue
            key, slot, piece = place
            self.present[key, slot] = max(self.present.get((key, slot), 0), piece + 1)
            stored = _decoded(value)
            if stored is not None and stored.piece == piece:
                self.epoch = max(self.epoch, stored.epoch)
                found.setdefault((key, slot), []).append(stored)
        if manifest_bytes is None:
            return None
        manifest = _manifest(manifest_bytes)
        self.epoch = max(self.epoch, manifest.epoch)
        bodies = self._choose(manifest, found)
        living = {key: version for key, version in self.versions.items() if not version.gone}
        if len(living) != manifest.count or _checksum(living) != manifest.checksum:
            self.versions.clear()
            raise Doubt(f"its values ({len(living)}) are not those that its manifest vouches for ({manifest.count})")
        owners = {version.owner for version in self.versions.values()}
        self.lineage = {owner: epoch for owner, epoch in manifest.lineage.items() if owner in owners}
        return Restored(manifest, {key: bodies[key] for key in living})

    def _choose(self, manifest: Manifest, found: Mapping[tuple[str, int], list[Stored]]) -> dict[str, bytes]:
        bodies: dict[str, bytes] = {}
        for (key, slot), pieces in found.items():
            first = min(pieces, key=lambda stored: stored.piece)
            known = self.versions.get(key)
            if first.epoch > manifest.lineage.get(first.owner, -1) or (known and known.epoch >= first.epoch):
                continue
            own = sorted((p for p in pieces if (p.owner, p.epoch) == (first.owner, first.epoch)), key=lambda p: p.piece)
            if [p.piece for p in own] != list(range(first.pieces)):
                continue
            gone = first.body is None
            body = b"".join(p.body or b"" for p in own)
            if not gone and zlib.crc32(body) != first.crc:
                continue
            mark = _mark(key, first.epoch, first.owner, first.crc)
            self.versions[key] = Version(first.epoch, first.owner, slot, first.pieces, first.crc, gone, mark)
            bodies[key] = body
        return bodies

    def snapshot(self, changes: Mapping[str, bytes | None], *, offset: int, about: bytes) -> Snapshot:
        """The records that make these changes count, None for a key that was let go; `committed` follows when they are
        written. What was written in part is written again, or is the last that this owner writes."""
        self.epoch += 1
        written: dict[str, Version] = {}
        data: list[Outgoing] = []
        extra: list[Outgoing] = []
        for key, body in changes.items():
            known = self.versions.get(key)
            if body is None and (known is None or known.gone):
                continue
            slot = 0 if known is None else 1 - known.slot
            pieces = _cut(body)
            crc = 0 if body is None else zlib.crc32(body)
            mark = _mark(key, self.epoch, self.owner, crc)
            written[key] = Version(self.epoch, self.owner, slot, len(pieces), crc, body is None, mark)
            for number, piece in enumerate(pieces):
                stored = Stored(FORMAT, self.owner, self.epoch, number, len(pieces), crc, piece)
                data.append(Outgoing(_name(key, slot, number), _ENCODE(stored), self.partition))
            extra += self._tombstones(key, slot, len(pieces))
            self.present[key, slot] = max(self.present.get((key, slot), 0), len(pieces))
        versions = self.versions | written
        living = {key: version for key, version in versions.items() if not version.gone}
        owners = {version.owner for version in versions.values()}
        lineage = {owner: epoch for owner, epoch in self.lineage.items() if owner in owners} | {self.owner: self.epoch}
        manifest = Manifest(
            format=FORMAT,
            owner=self.owner,
            epoch=self.epoch,
            lineage=lineage,
            offset=offset,
            count=len(living),
            checksum=_checksum(living),
            about=about,
        )
        cleaned = [key for key, version in versions.items() if version.gone]
        after = [*extra, *self._cleared(versions, cleaned)]
        return Snapshot(
            data, [Outgoing(MANIFEST, _ENCODE(manifest), self.partition)], after, versions, cleaned, lineage
        )

    def _cleared(self, versions: Mapping[str, Version], cleaned: Iterable[str]) -> list[Outgoing]:
        """Tombstones for what no manifest needs any more."""
        after: list[Outgoing] = []
        for key in cleaned:
            # First what was valid before, then the word that it is gone: in between it must not come back to life.
            slot = versions[key].slot
            after += [*self._tombstones(key, 1 - slot), *self._tombstones(key, slot)]
        for key, slot in list(self.present):
            if key not in versions:
                after += self._tombstones(key, slot)
        return after

    def _tombstones(self, key: str, slot: int, first: int = 0) -> list[Outgoing]:
        return [
            Outgoing(_name(key, slot, piece), None, self.partition)
            for piece in range(first, self.present.get((key, slot), 0))
        ]

    def committed(self, snapshot: Snapshot) -> None:
        """All of a snapshot is written, what comes after its manifest too."""
        self.versions = snapshot.versions
        self.lineage = snapshot.lineage
        for key in snapshot.cleaned:
            del self.versions[key]
        for key, slot in list(self.present):
            version = self.versions.get(key)
            if version is None:
                del self.present[key, slot]
            elif version.slot == slot:
                self.present[key, slot] = version.pieces

    def forget(self) -> None:
        """Trust nothing that lies there: the next snapshot must bring all values, and clears the rest away."""
        self.versions, self.lineage = {}, {}


def _checksum(versions: Mapping[str, Version]) -> int:
    """A sum, so that the order does not matter."""
    return sum(version.mark for version in versions.values()) % (1 << 62)


def _mark(key: str, epoch: int, owner: str, crc: int) -> int:
    text = f"{key}\0{owner}\0{epoch}\0{crc}".encode()
    return int.from_bytes(blake2b(text, digest_size=7).digest(), "big")


def _cut(body: bytes | None) -> Sequence[bytes | None]:
    if not body:
        return [body]
    return [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]


def _name(key: str, slot: int, piece: int) -> str:
    return f"{slot}.{piece} {key}"


def _place(name: str) -> tuple[str, int, int] | None:
    head, _, key = name.partition(" ")
    slot, _, piece = head.partition(".")
    if slot not in ("0", "1") or not piece.isdecimal() or len(piece) > 6:
        return None
    return key, int(slot), int(piece)


def _decoded(value: bytes) -> Stored | None:
    try:
        stored = _DECODE_STORED.decode(value)
    except msgspec.MsgspecError:
        return None
    return stored if stored.format == FORMAT else None


def _manifest(value: bytes) -> Manifest:
    try:
        manifest = _DECODE_MANIFEST.decode(value)
    except msgspec.MsgspecError as error:
        raise Doubt("its manifest cannot be read") from error
    if manifest.format != FORMAT:
        raise Doubt(f"its manifest has format {manifest.format}, not {FORMAT}")
    return manifest


_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODE_STORED: Final = msgspec.msgpack.Decoder(Stored)
_DECODE_MANIFEST: Final = msgspec.msgpack.Decoder(Manifest)
