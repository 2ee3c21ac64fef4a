"""A call's records as they were published: what differs becomes the next revision, what is gone is retracted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from earwitness.monitor.calls.page import Content, Draft
from earwitness.monitor.calls.shelf import Shelved, apart, shelve, stack, together, unshelve, unstack
from earwitness.monitor.calls.timeline_state import PublishedState, full_record, plain_record
from earwitness.monitor.contract.records import RECORD_TYPES, AnyRecord, Record


class _Kept(msgspec.Struct, gc=False):
    """The latest revision of a record: its own contents, and those that it shares with all records of the call. A
    struct, which is made at a third of a dataclass's price."""

    kind: type[Record]
    content: Content
    shared: Content
    revision: int = 0
    retracted: bool = False


STACK: Final = 5
"""So many shelves make a stack, in a call that is laid aside."""
UNCOUNTED: Final = frozenset({"final", "text", "unspoken", "evidence", "interrupted", "arguments", "result"})
"""Fields in which revisions may differ without any measure's reading another number (``measures.contributions`` and
``measures.exemplars`` read none of them)."""


_NUMBER_OF: Final = {kind: number for number, kind in enumerate(RECORD_TYPES)}


def _is_once(record_id: str) -> bool:
    """Whether nothing after its chapter comes back to a record of that id."""
    if record_id[:2] == "m:":
        return record_id[:6] != "m:run:"
    return record_id[:1] in _COUNTED and record_id[1:].isdecimal()


_COUNTED: Final = frozenset("taid")


class Published:
    """What was published of one call, by record id. Records are made when they are asked for."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._replaced: dict[str, _Kept] = {}
        self._alike: set[str] = set()
        self._shelves: dict[int, tuple[Content, bytes]] = {}
        """Records that were put away together, with what they share; no bytes of their own where they lie stacked."""
        self._stacks: dict[int, tuple[list[int], bytes]] = {}
        """Older shelves in one, by the first of them."""
        self._shelf_of: dict[str, int] = {}
        """Where the records are that somebody may come back to."""
        self._taken: dict[int, list[str]] = {}
        """What stood on shelves from which one record was asked for."""
        self._shelved = 0

    def begin(self) -> None:
        """A new round of changes begins."""
        self._replaced.clear()
        self._alike.clear()

    def put(self, drafts: Iterable[Draft], shared: Content, changed: list[AnyRecord]) -> None:
        """Publish what differs from what was published before."""
        kept = self._kept
        for kind, record_id, _, content, _ in drafts:
            before = kept.get(record_id)
            if before is None and record_id in self._shelf_of:
                before = self._taken_down(record_id)
            if before is None:
                kept[record_id] = _Kept(kind, content, shared)
                changed.append(made(kind, record_id, 0, content, shared))
                continue
            if before.shared is shared or before.shared == shared:
                was = before.content
                if was is content:
                    continue
                if not before.retracted:
                    if was == content:
                        before.content = content
                        continue
                    if was.keys() == content.keys() and _counts_alike(was, content):
                        self._alike.add(record_id)
            self._replaced[record_id] = before
            now = kept[record_id] = _Kept(kind, content, shared, before.revision + 1)
            changed.append(self._made(record_id, now))

    def retract(self, record_id: str, changed: list[AnyRecord]) -> None:
        """Take a record back: what it stood for turned out not to be there."""
        kept = self._replaced[record_id] = self._kept[record_id]
        # Whatever comes in its place differs from it, be it what was taken back.
        self._kept[record_id] = now = _Kept(kept.kind, dict(kept.content), kept.shared, kept.revision + 1, True)
        changed.append(self._made(record_id, now))

    def amend(self, record_id: str, update: Content, shared: Content, changed: list[AnyRecord]) -> None:
        """Publish a record with some other contents."""
        kept = self._kept.get(record_id) or self._taken_down(record_id)
        self.put([Draft(kept.kind, record_id, 0, kept.content | update)], shared, changed)

    def put_for_good(self, drafts: Sequence[Draft], shared: Content, changed: list[AnyRecord]) -> int:
        """`put` records that are settled, and keep them together in few bytes; the shelf's number. They stand, and come
        back when somebody asks."""
        kept, shelf_of = self._kept, self._shelf_of
        block: list[Shelved] = []
        self._shelved += 1
        for draft in drafts:
            kind, record_id, _, content, _ = draft
            if record_id in kept or record_id in shelf_of:
                self.put((draft,), shared, changed)
                now = kept.pop(record_id)
                block.append((_NUMBER_OF[kind], record_id, now.revision, now.retracted, now.content))
            else:
                changed.append(made(kind, record_id, 0, content, shared))
                block.append((_NUMBER_OF[kind], record_id, 0, False, content))
            if not _is_once(record_id):
                shelf_of[record_id] = self._shelved
        if block:
            self._shelves[self._shelved] = shared, shelve(block)
        return self._shelved

    def take_down(self, shelf: int) -> list[str]:
        """Bring back what was put away; the ids of the records."""
        self._unstack(shelf)
        found = self._shelves.pop(shelf, None)
        if found is None:
            return self._taken.pop(shelf, [])
        shared, packed = found
        ids: list[str] = []
        for kind, record_id, revision, retracted, content in unshelve(packed):
            self._kept[record_id] = _Kept(RECORD_TYPES[kind], content, shared, revision, retracted)
            self._shelf_of.pop(record_id, None)
            ids.append(record_id)
        return ids

    def _stack(self) -> None:
        """Stack the oldest shelves, once they are enough."""
        loose = sorted(shelf for shelf, (_, body) in self._shelves.items() if body)
        while len(loose) >= STACK:
            first, loose = loose[:STACK], loose[STACK:]
            found = [self._shelves[shelf] for shelf in first]
            self._stacks[first[0]] = first, stack([body for _, body in found])
            self._shelves |= {shelf: (shared, b"") for shelf, (shared, _) in zip(first, found, strict=True)}

    def _unstack(self, shelf: int) -> None:
        """Let each shelf of the stack that has this one lie by itself again."""
        for first, (shelves, body) in list(self._stacks.items()):
            if shelf in shelves:
                for one, own in zip(shelves, unstack(body), strict=True):
                    self._shelves[one] = self._shelves[one][0], own
                del self._stacks[first]

    def _taken_down(self, record_id: str) -> _Kept:
        shelf = self._shelf_of[record_id]
        self._taken[shelf] = self.take_down(shelf)
        return self._kept[record_id]

    def state(self) -> tuple[PublishedState, dict[int, bytes]]:
        """All that stands, as plain values, and the shelves; what the last round replaced is left out."""
        self._stack()
        shared: list[Content] = []
        numbers: dict[int, int] = {}

        def number(one: Content) -> int:
            if id(one) not in numbers:
                numbers[id(one)] = len(shared)
                shared.append(one)
            return numbers[id(one)]

        kept = [
            plain_record((_NUMBER_OF[k.kind], name, k.revision, k.retracted, k.content))
            for name, k in self._kept.items()
        ]
        kept_share = [number(k.shared) for k in self._kept.values()]
        shelves = {shelf: number(common) for shelf, (common, _) in self._shelves.items()}
        bodies = {shelf: body for shelf, (_, body) in self._shelves.items() if body}
        bodies |= {first: body for first, (_, body) in self._stacks.items()}
        stacks = {first: own for first, (own, _) in self._stacks.items()}
        return PublishedState(
            shared, apart(kept), kept_share, shelves, stacks, self._shelf_of, self._taken, self._shelved
        ), bodies

    @classmethod
    def restored(cls, state: PublishedState, shelves: Mapping[int, bytes]) -> Published:
        """The way back of `state`. Raises KeyError or IndexError where the two do not fit."""
        made = cls()
        for number, record in zip(state.kept_share, together(state.kept), strict=True):
            kind, record_id, revision, retracted, content = full_record(record)
            made._kept[record_id] = _Kept(RECORD_TYPES[kind], content, state.shared[number], revision, retracted)
        stacked = {shelf for own in state.stacks.values() for shelf in own}
        made._stacks = {first: (own, shelves[first]) for first, own in state.stacks.items()}
        made._shelves = {
            shelf: (state.shared[number], b"" if shelf in stacked else shelves[shelf])
            for shelf, number in state.shelves.items()
        }
        made._shelf_of, made._taken, made._shelved = state.shelf_of, state.taken, state.shelved
        return made

    def counts_alike(self, record_id: str) -> bool:
        """Whether the latest revision differs from the one before in nothing that is counted."""
        return record_id in self._alike

    def replaced(self, record_id: str) -> AnyRecord | None:
        """What the latest revision took the place of; None for a first one."""
        before = self._replaced.get(record_id)
        return None if before is None else self._made(record_id, before)

    def records(self, *, retracted: bool = False) -> Iterator[AnyRecord]:
        """The latest revision of every record; with those that were taken back only where asked for."""
        bodies = {shelf: body for shelf, (_, body) in self._shelves.items()}
        for own, body in self._stacks.values():
            bodies.update(zip(own, unstack(body), strict=True))
        for shelf, body in sorted(bodies.items()):
            shared = self._shelves[shelf][0]
            for kind, record_id, revision, gone, content in unshelve(body):
                if retracted or not gone:
                    yield self._made(record_id, _Kept(RECORD_TYPES[kind], content, shared, revision, gone))
        for record_id, kept in self._kept.items():
            if retracted or not kept.retracted:
                yield self._made(record_id, kept)

    @staticmethod
    def _made(record_id: str, kept: _Kept) -> AnyRecord:
        content = kept.content | {"retracted": True} if kept.retracted else kept.content
        return made(kept.kind, record_id, kept.revision, content, kept.shared)


def _counts_alike(was: Content, now: Content) -> bool:
    return UNCOUNTED.issuperset([name for name, value in now.items() if was[name] != value])


def made(kind: type[Record], record_id: str, revision: int, content: Content, shared: Content) -> AnyRecord:
    """A record out of contents that this package worked out: the public model, without the cost of checking them."""
    blank, fresh, names = _MODELS[kind]
    fields = blank | shared
    fields |= content
    fields["id"], fields["revision"] = record_id, revision
    for name, factory in fresh:
        if fields[name] is None:
            fields[name] = factory()
    record: Any = _blank(kind)
    _set_fields(record, "__dict__", fields)
    _set_names(record, names)
    _set_extra(record, None)
    _set_private(record, None)
    found: AnyRecord = record
    return found


_blank: Final = object.__new__
_set_fields: Final = object.__setattr__
_set_names, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__ for name in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)
"""What a model without fields of its own has: slots, which are set through their own descriptors at half the price."""
_MODELS: Final[dict[type[Record], tuple[dict[str, Any], list[tuple[str, Any]], set[str]]]] = {
    kind: (
        {name: None if info.default is PydanticUndefined else info.default for name, info in kind.model_fields.items()},
        [(name, info.default_factory) for name, info in kind.model_fields.items() if info.default_factory is not None],
        set(kind.model_fields),
    )
    for kind in RECORD_TYPES
}
"""Of each kind every field in the model's order, with its default; those whose default is made anew for each; and the
names of all. Records are frozen: they may share the set of what was given."""
