"""A conversation as people and agents have them, told in the events that a bot emits (docs/events.md)."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st
from invented_calls.script import Script, ns

CALLER_SAYS = (
    "my order number is four one five", "yes", "mhm", "stop", "wait a moment", "no", "thank you goodbye", "", "uh-huh",
    "Ja genau", "your order is on its way", "can I speak to a human", "okay",
)  # fmt: skip
AGENT_SAYS = (
    "Your order is on its way and should be there tomorrow.", "One moment please.", "Let me look that up for you.",
    "I will transfer you to a colleague.", "Goodbye and take care.", "Is there anything else?", "Yes.",
)  # fmt: skip
CALLER_EDGES = (("vad",),) * 4 + (("audio", "vad"),) * 3 + (("audio",), ("server",), ())
AGENT_EDGES = (("playout", "decision"),) * 4 + (("playout", "audio", "decision"),) * 3 + (("audio",), ("decision",), ())


class Teller:
    """Tells one call. Choices come from ``chance``; the first of several is the plainest."""

    def __init__(self, chance: random.Random, *, prompt: bool = False) -> None:
        self.chance = chance
        self.prompt = prompt
        """No end of a sound is lost, and no word comes later than the contract expects."""
        self.script = Script()
        self.now = self.free = 0.0
        self.runs = self.tools = 0
        self.realtime = self.maybe(0.15)
        self.caller_edges = chance.choice(CALLER_EDGES)
        self.agent_edges = chance.choice(AGENT_EDGES)
        self.recogniser = self.maybe(0.85)
        self.stop_s = chance.choice([0.2, 0.8])
        self.said_by_agent = ""

    def maybe(self, share: float) -> bool:
        """True in about that share of cases."""
        return self.chance.randrange(100) >= 100 - round(share * 100)

    def is_told(self) -> bool:
        """Whether the end of a sound is reported."""
        return self.prompt or self.maybe(0.97)

    def some(self, low_s: float, high_s: float) -> float:
        """A length of time, in whole 10 ms."""
        return self.chance.randrange(round(low_s * 100), round(high_s * 100) + 1) / 100

    def tell(self, most_blocks: int) -> Script:
        """The whole call."""
        self._begin()
        for _ in range(self.chance.randrange(most_blocks + 1)):
            self._block()
        self._end()
        self._learn_later()
        return self.script

    # around the talk

    def _begin(self) -> None:
        chance, put = self.chance, self.script.put
        put(
            0.0, "call_started", agent="clinic", version=chance.choice(["1", "2"]),
            mode="realtime" if self.realtime else "cascade", recogniser=self.recogniser,
            caller_edges=self.caller_edges, agent_edges=self.agent_edges,
            language=chance.choice(["en", "en-US", "de", "xx", None]), min_words=chance.choice([None, 2]),
        )  # fmt: skip
        if self.maybe(0.1):
            put(0.0, "call_started", "gateway", agent="clinic", owns_clock=False,
                clock_offset_ns=ns(chance.choice([0.5, 3.0, -0.4])))  # fmt: skip
            put(self.some(1, 8), "participant", "gateway", state="joined", participant="p2", role="other")
        if self.maybe(0.9):
            put(0.1, "connected", participant=chance.choice([None, "p1"]))
        self.now = 0.3
        if self.maybe(0.6):
            self._speak("greeting", self.now, cut_ok=True)

    def _end(self) -> None:
        chance, put, at = self.chance, self.script.put, self.now + self.chance.choice([0.5, 2.0, 5.0, 14.0, -0.8])
        if self.maybe(0.1):
            put(
                max(at - 3.0, 0), "audio_gap", "taps", party="caller", state="stopped", last_audio_ns=ns(max(at - 4, 0))
            )
        if self.maybe(0.1):
            put(max(at - 1.0, 0), "transport", event="error")
        if self.maybe(0.2):
            return
        cause = chance.choice(["caller", "agent", "transport", "error", "idle", "unknown"])
        put(at, "call_ended", cause=cause, counts={})
        if self.maybe(0.1):
            put(at + 0.2, "app", "app", name="outcome", value=chance.choice(["declined", "escalated", "x"]))

    def _learn_later(self) -> None:
        chance, put = self.chance, self.script.put
        if self.maybe(0.2):
            subject = chance.choice(["o1", "o2", "overlap@*", "overlap@12.0", "overlap@nan"])
            put(self.now + 100, "human_label", "label", subject=subject, label=chance.choice(["wanted", "not", "?"]))
        if self.maybe(0.1):
            put(self.now + 120, "verdict", "judge", criterion="wanted", evidence=("o1", "o2"),
                verdict=chance.choice(["pass", "fail", "abstain"]))  # fmt: skip
        if self.maybe(0.05):
            put(self.now + 900, "late_fact", "survey", name="csat", value=4.0)

    # the talk

    def _block(self) -> None:
        if self.maybe(0.12):
            self._aside()
        kind = self.chance.choice(["turn"] * 8 + ["prompt", "stray words", "silence", "others", "muted"])
        if kind == "turn":
            self._turn()
        elif kind == "prompt":
            self._speak("prompt", self.now + self.chance.choice([5.0, 11.0]))
        elif kind == "stray words":
            self._words(self.now, self.now + 0.4, self.chance.choice(CALLER_SAYS), None)
            self.now += 1.0
        elif kind == "silence":
            self.now += self.chance.choice([3.5, 6.0, 15.0, 40.0])
        elif kind == "others":
            self._utter(self.now + 0.5, self.now + 1.5, "come here please", participant="p2", party="other")
            self.now += 2.0
        else:
            self.script.put(self.now, "mute", state="on")
            self._utter(self.now + 0.3, self.now + 1.1, self.chance.choice(CALLER_SAYS))
            self.script.put(self.now + self.chance.choice([1.5, 0.8]), "mute", state="off")
            self.now += 1.8

    def _aside(self) -> None:
        put, at = self.script.put, self.now + 0.05
        what = self.chance.randrange(8)
        if what == 0:
            put(at, "stage", service="llm", metric="ttfb", value_s=self.chance.choice([0.3, 0.0, -1.0, None]))
        elif what == 1:
            put(at, "app", "app", name="hold", value=self.chance.choice(["on", "off", True, False]))
        elif what == 2:
            put(at, "transfer", phase=self.chance.choice(["requested", "ringing", "completed", "failed", "callback"]))
        elif what == 3:
            put(
                at,
                "health",
                "writer",
                dropped=({"first_seq": 1, "last_seq": 2, "reason": "buffer_full", "source": "taps"},),
            )
        elif what == 4:
            put(at, "fault", fault_id="f1", recovered=self.chance.choice([None, True, False]))
        elif what == 5:
            put(at, "dtmf", party="caller", button="#")
        elif what == 6:
            party, gone = self.chance.choice(["caller", "agent"]), self.chance.choice([1.5, 4.0, 12.0])
            put(at + 1.0, "audio_gap", "taps", party=party, state="stopped", last_audio_ns=ns(self.now))
            put(at + gone, "audio_gap", "taps", party=party, state="resumed", last_audio_ns=ns(self.now))
            self.now += gone + 0.1
        else:
            put(at, "interruption", cause="application")

    def _turn(self) -> None:
        chance = self.chance
        on = self.now + chance.choice([0.8, 0.2, 1.5, 4.0])
        off = on
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            off = self._utter(on, on + self.some(0.3, 3.0), chance.choice(CALLER_SAYS))
            on = off + chance.choice([0.5, 0.2, 1.0, 2.5])
        d = off + chance.choice([0.4, 0.2, 1.2])
        self.now = d
        if not self.caller_edges or self.maybe(0.95):
            self._decide(off, d)
        fate = chance.randrange(12)
        if fate == 0:
            self.now = d + chance.choice([4.0, 12.0])
        elif fate == 1:
            run = self._ask("user_turn", d + 0.05)
            self._milestones(run, (d + 0.4, "empty"), (d + 0.4, "ended"))
        elif fate in (2, 3):
            self._answer_with_tools(d)
        elif fate == 4:
            eager = self._ask("eager", max(off - 0.1, 0))
            if self.maybe(0.5):
                self._milestones(eager, (d + 0.1, "cancelled"))
                self._speak("user_turn", d + 0.15)
            else:
                self._speak("eager", d + 0.15, run=eager)
        elif fate == 5:
            self._speak("application", d + 0.1)
            self._speak("user_turn", self.now + 0.1)
        elif fate == 6:  # a premature endpoint: the caller goes on
            again = d + chance.choice([0.5, 0.9, 0.2])
            self._speak("user_turn", d + 0.05)
            self._utter(again, again + self.some(0.3, 2.0), chance.choice(CALLER_SAYS))
            self.now = max(self.now, again + 1.0)
        else:
            self._speak("user_turn", d + 0.05, cut_ok=True)

    def _decide(self, off: float, d: float) -> None:
        put = self.script.put
        put(max(off - 0.2, 0), "turn_started")
        put(max(off - 0.2, 0), "interruption", cause="user_turn")
        unfinished = (ns(off + 0.1),) if self.maybe(0.2) else ()
        put(d, "turn_ended", incomplete_at_ns=unfinished, complete_at_ns=ns(d - 0.1) if self.maybe(0.5) else None)

    # the caller

    def _utter(self, on: float, off: float, words: str, *, party: str = "caller", **more: Any) -> float:
        """Caller speech as each of the call's detectors sees it, and its words; when it ended. Who still speaks begins
        nothing new."""
        edge = self.script.edge
        on, off = max(on, self.free), off + max(self.free - on, 0.0)
        self.free = off + self.stop_s + 0.35
        if "vad" in self.caller_edges or party == "other":
            edge(True, on, on + 0.2, party, "vad", **more)
            if self.is_told():
                edge(False, off, off + self.stop_s, party, "vad", **more)
        if "audio" in self.caller_edges:
            snr: Any = self.chance.choice([30.0, 30.0, 9.0, None])
            edge(True, on + 0.02, on + 0.1, party, "audio", snr_db=snr, **more)
            edge(False, off - 0.02, off + 0.3, party, "audio", snr_db=snr, inferred=self.maybe(0.03), **more)
        if "server" in self.caller_edges:
            edge(True, on + 0.3, on + 0.3, party, "server", **more)
            edge(False, off + 0.5, off + 0.5, party, "server", **more)
        if words:
            self._words(on, off, words, more.get("participant"), party=party)
        return off

    def _words(self, on: float, off: float, words: str, participant: str | None, *, party: str = "caller") -> None:
        if not self.recogniser:
            return
        put, chance = self.script.put, self.chance
        more: dict[str, Any] = {"party": party, "participant": participant}
        if self.maybe(0.3):
            more["utterance_id"] = f"u{round(on * 100)}"
        if self.maybe(0.3):
            more |= {"utterance_start_ns": ns(on), "utterance_end_ns": ns(off)}
        pieces = words.split()
        if len(pieces) > 1 and self.maybe(0.5):
            delta = self.maybe(0.2)
            form = "delta" if delta else "cumulative"
            put(on + 0.25, "transcript", text=pieces[0], final=False, form=form, **more)
            text = " ".join(pieces[1:] if delta else pieces)
            put(off + 0.05, "transcript", text=text, final=False, form=form, **more)
        if self.maybe(0.1):
            return
        late = chance.choice([0.3, 0.1, 1.2] if self.prompt else [0.3, 0.1, 1.2, 2.8, 6.0])
        put(off + late, "transcript", text=words, final=True, in_context=chance.choice([None, True, False]), **more)
        if self.maybe(0.05):
            put(off + late + 0.2, "transcript", text=words + " again", final=True, **more)
        if self.maybe(0.05):
            put(off, "transcript", text=words, final=True, eager=True, **more)

    # the agent

    def _ask(self, why: str, at: float, after: str | None = None) -> str:
        self.runs += 1
        name = f"r{self.runs}"
        self.script.put(at, "response", response_id=name, phase="requested", why=why, after=after)
        return name

    def _milestones(self, run: str, *moments: tuple[float, str]) -> None:
        for at, phase in moments:
            self.script.put(at, "response", response_id=run, phase=phase)

    def _answer_with_tools(self, d: float) -> None:
        run = self._ask("user_turn", d + 0.05)
        at = d + 0.3
        self._milestones(run, (at, "first_token"), (at, "tools_called"), (at, "ended"))
        done = at
        for _ in range(self.chance.choice([1, 1, 2])):
            self.tools += 1
            tool: dict[str, Any] = {
                "tool_call_id": f"x{self.tools}",
                "name": self.chance.choice(["lookup", "transfer_call"]),
            }
            tool |= {"response_id": run, "blocking": self.maybe(0.9)}
            self.script.put(at, "tool", phase="called", **tool)
            ended = at + self.chance.choice([0.4, 3.5, 11.0])
            phase = self.chance.choice(["result", "result", "error", "cancelled", "timed_out"])
            if self.maybe(0.93):
                self.script.put(ended, "tool", phase=phase, **tool)
            done = max(done, ended)
        self.now = done
        if self.maybe(0.9):
            self._speak("tool_result", done + 0.05, after=run)

    def _speak(
        self, why: str, asked: float, *, run: str | None = None, after: str | None = None, cut_ok: bool = False
    ) -> None:
        """A response from its request to its last sample, with what the caller may do meanwhile."""
        chance = self.chance
        name = run or self._ask(why, asked, after)
        text = self.said_by_agent = chance.choice(AGENT_SAYS)
        a_on = asked + chance.choice([0.7, 0.4, 1.5, 3.0])
        a_off = a_on + self.some(0.4, 5.0)
        first = asked + 0.2
        if not self.realtime:
            self._milestones(name, (first, "first_token"), (first + 0.1, "first_text"), (a_on - 0.05, "first_audio"))
            self.script.put(first + 0.1, "agent_text", response_id=name, intended=text)
        cut = cut_ok and self.maybe(0.35)
        self._audible(name, a_on, a_off, cut=cut)
        if self.maybe(0.5):
            self.script.put(a_on + 0.4, "agent_text", response_id=name, spoken=" ".join(text.split()[:4]))
        if cut:
            self.script.put(a_off, "agent_text", response_id=name, unspoken=" ".join(text.split()[4:]) or None)
        self._milestones(name, (a_off, "cancelled") if cut else (first + 0.3, "ended"))
        self.now = a_off
        if self.maybe(0.45) and a_off - a_on > 0.3:
            self._talk_into(a_on, a_off)
        if cut:
            self.script.put(max(a_off - 0.05, 0), "interruption", cause="user_turn")
            if self.maybe(0.2):
                self._speak("resumed", a_off + chance.choice([0.2, 0.8]), after=name)

    def _audible(self, name: str, a_on: float, a_off: float, *, cut: bool) -> None:
        chance, put = self.chance, self.script.put
        stretches = [(a_on, a_off)]
        if self.maybe(0.2) and a_off - a_on > 2:
            middle = a_on + (a_off - a_on) / 2
            stretches = [(a_on, middle - chance.choice([0.3, 0.1])), (middle + chance.choice([0.3, 0.1]), a_off)]
        named = None if self.maybe(0.05) else name
        for n, (on, off) in enumerate(stretches):
            if "playout" in self.agent_edges:
                put(on, "playout", phase="first", edge_ns=ns(on), response_id=named)
                whole = chance.choice([False, None]) if not cut else True
                fast: dict[str, Any] = {"uncertain": True, "written_ns": ns(off - on + 1)} if self.maybe(0.05) else {}
                if self.is_told():
                    put(off + 0.02, "playout", phase="last", edge_ns=ns(off), response_id=named,
                        truncated=whole if n == len(stretches) - 1 else False, **fast)  # fmt: skip
                if self.maybe(0.05):
                    put(off + 0.5, "playout", phase="drained", edge_ns=ns(off + 0.4), response_id=named)
            if "audio" in self.agent_edges:
                self.script.edge(True, on, on, "agent", "audio")
                if self.is_told():
                    self.script.edge(False, off, off + 0.1, "agent", "audio")
        if "decision" in self.agent_edges:
            self.script.edge(True, a_on, a_on, "agent", "decision")
            if self.is_told():
                self.script.edge(False, a_off, a_off + 0.35, "agent", "decision")

    def _talk_into(self, a_on: float, a_off: float) -> None:
        """The caller makes a sound while the agent speaks: wants the floor, agrees, coughs, is the agent's echo."""
        at = a_on + self.some(0.05, max(a_off - a_on - 0.05, 0.06))
        words = self.chance.choice([*CALLER_SAYS, self.said_by_agent])
        self._utter(at, at + self.chance.choice([0.3, 0.8, 1.3, 4.0]), words)
        if self.maybe(0.2):
            answer = self.chance.choice(["interruption", "backchannel", "unknown"])
            self.script.put(at + 0.4, "classifier", answer=answer, requested_ns=ns(at + 0.2))
        if self.maybe(0.3):
            self.script.put(at + 0.25, "interruption", cause="user_turn")


def plausible_calls(most_blocks: int = 6, *, prompt: bool = False) -> st.SearchStrategy[list[Any]]:
    """Events of calls that could have been; ``prompt``: nothing was lost or came very late."""
    return st.randoms(use_true_random=False).map(
        lambda chance: Teller(chance, prompt=prompt).tell(most_blocks).events()
    )
