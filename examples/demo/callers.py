"""Who calls, what they say and when, what the agent answers, and what all that should measure as.

A scenario is data. Its ``intent`` is what the script sets out to make happen; the summary holds it against
what Earwitness measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

CALLER_VOICE = "slt"
AGENT_VOICE = "rms"


@dataclass(frozen=True, slots=True)
class Say:
    """One line of the caller, spoken when the agent is heard to do something.

    ``into_s``: this long into an utterance of the agent. Otherwise ``after_s``: this long after the agent fell
    silent. ``hang_up_after_s`` puts the phone down this far into the line.
    """

    text: str
    after_s: float = 0.7
    into_s: float | None = None
    hang_up_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class HangUp:
    """The caller puts the phone down: after the agent fell silent, or after waiting for an answer in vain."""

    after_s: float = 0.8
    unanswered_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the scripted model makes of the caller's words.

    ``hears`` are words of which any one picks this reply; ``tool`` is called after ``text`` was said, and
    ``then`` is said once the tool has answered.
    """

    text: str = ""
    hears: tuple[str, ...] = ()
    tool: str | None = None
    then: str = ""
    first_token_s: float = 0.3


@dataclass(frozen=True, slots=True)
class Intent:
    """What a script should be measured as, in the words of the definitions.

    ``overlap`` is a cell of the 2x2; ``answered`` and ``unanswered`` count eligible turns (a farewell answers a
    goodbye; a backchannel opens no turn); ``dead_air`` counts stretches of 3 s and more.
    """

    answered: int
    unanswered: int = 0
    overlap: Literal["TP", "FN", "FP", "TN"] | None = None
    outcome: str = "contained"
    dead_air: int = 0
    end_cause: str = "agent"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One kind of call. ``tool_s`` is how long each tool takes to answer."""

    name: str
    title: str
    greeting: str
    steps: tuple[Say | HangUp, ...]
    replies: tuple[Reply, ...]
    intent: Intent
    tool_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Agent:
    """One deployed agent: a bot process of its own. ``min_words`` is needed to interrupt it; None: any sound does.

    ``attached`` is how Earwitness got in: by hand, by one line, or by the setup file without any line.
    """

    name: str
    version: str
    attached: Literal["by_hand", "attach", "setup_file"]
    min_words: int | None = None


@dataclass(frozen=True, slots=True)
class Booking:
    """When a call is placed (seconds after the first), to whom, and what it is about."""

    at_s: float
    agent: str
    scenario: str


THANKS = "thank you very much goodbye"
FAREWELL = "You are welcome. Goodbye."
CLINIC = "Good morning, this is the clinic. How can I help you?"
TABLE = "Good evening, this is the restaurant. What can I do for you?"
ORDERS = "Hello, this is the order desk. How can I help you?"
BYE = Reply(FAREWELL, hears=("goodbye", "bye"), tool="end_call")
SLOW_S = 2.8

SCENARIOS = {
    s.name: s
    for s in (
        Scenario(
            "visit",
            "ordinary",
            CLINIC,
            (Say("can i come in on saturday please"), Say("i would like to change my address please"), Say(THANKS)),
            (
                Reply("Yes, on Saturday we are open from nine until noon.", hears=("saturday",)),
                Reply("Your new address is in our books.", hears=("address", "change")),
                BYE,
            ),
            Intent(answered=3),
        ),
        Scenario(
            "prescription",
            "ordinary, with a quick tool",
            CLINIC,
            (Say("can you check my prescription please"), Say("i would like to come in today please"), Say(THANKS)),
            (
                Reply(hears=("prescription", "check"), tool="look_up", then="Your prescription is ready for you."),
                Reply("Yes, you can come in until six.", hears=("come", "today")),
                BYE,
            ),
            Intent(answered=3),
            tool_s={"look_up": 0.4},
        ),
        Scenario(
            "slow_model",
            "slow answers of the model",
            CLINIC,
            (
                Say("can i come in on saturday please"),
                Say("i would like to change my address please"),
                Say("can you check my prescription please"),
                Say(THANKS),
            ),
            (
                Reply("Yes, on Saturday.", hears=("saturday",), first_token_s=SLOW_S),
                Reply("It is changed.", hears=("address", "change"), first_token_s=SLOW_S),
                Reply("It is ready for you.", hears=("check", "prescription"), first_token_s=SLOW_S),
                BYE,
            ),
            Intent(answered=4, dead_air=3),
        ),
        Scenario(
            "barge_in",
            "true barge-in, the agent yields",
            CLINIC,
            (Say("i would like to see the doctor"), Say("no i need to come on friday please", into_s=1.8), Say(THANKS)),
            (
                Reply("On Friday there is a free hour at eleven.", hears=("friday",)),
                Reply(
                    "We have a free hour on Tuesday at ten in the morning, or on Wednesday at three in the afternoon, "
                    "or on Monday of the week after that.",
                    hears=("doctor", "see"),
                ),
                BYE,
            ),
            Intent(answered=3, overlap="TP"),
        ),
        Scenario(
            "wrong_stop",
            "a backchannel wrongly stops the agent",
            CLINIC,
            (Say("how do i find the clinic please"), Say("okay yeah", into_s=1.9), Say(THANKS, after_s=0.9)),
            (
                Reply("After the library turn left at the park.", hears=("yeah", "okay", "ok")),
                Reply(
                    "Take the number nine bus to the town hall, walk past the library, and then turn left at the park.",
                    hears=("how", "find"),
                ),
                BYE,
            ),
            Intent(answered=2, overlap="FP"),
        ),
        Scenario(
            "talked_through",
            "a backchannel, rightly talked through",
            TABLE,
            (
                Say("can you tell me what is for dinner"),
                Say("yeah yeah", into_s=1.9),
                Say("can i sit by the window please"),
                Say(THANKS),
            ),
            (
                Reply("A table by the window is yours.", hears=("sit", "window")),
                Reply(
                    "Tonight we have roast chicken with rice, fresh fish with potatoes, and a green salad with bread.",
                    hears=("dinner", "tell"),
                ),
                BYE,
            ),
            Intent(answered=3, overlap="TN"),
        ),
        Scenario(
            "missed",
            "a true barge-in, missed",
            TABLE,
            (
                Say("i want to make a reservation please"),
                Say("wait a minute", into_s=2.4),
                Say("no i would rather come on saturday please", after_s=0.3),
                Say(THANKS),
            ),
            (
                Reply("Saturday at seven it is.", hears=("saturday", "rather")),
                Reply(
                    "On Friday we have a table at six by the door, or at eight beside the kitchen.",
                    hears=("reservation", "make"),
                ),
                BYE,
            ),
            Intent(answered=3, overlap="FN"),
        ),
        Scenario(
            "table",
            "ordinary",
            TABLE,
            (Say("can i sit by the window please"), Say("can you tell me what is for dinner"), Say(THANKS)),
            (
                Reply("A table by the window is yours.", hears=("sit", "window")),
                Reply("Tonight we have roast chicken with rice.", hears=("dinner", "tell")),
                BYE,
            ),
            Intent(answered=3),
        ),
        Scenario(
            "order",
            "ordinary, with a quick tool",
            ORDERS,
            (Say("where is my package please"), Say("can you send it to my office please"), Say(THANKS)),
            (
                Reply(hears=("where", "package"), tool="look_up", then="Your order will be there on Thursday."),
                Reply("Of course, we will send it there.", hears=("office", "send")),
                BYE,
            ),
            Intent(answered=3),
            tool_s={"look_up": 0.5},
        ),
        Scenario(
            "dead_air",
            "a tool hangs, dead air, the caller gives up",
            ORDERS,
            (Say("where is my package please"), HangUp(unanswered_s=7.0)),
            (Reply(hears=("where", "package"), tool="look_up", then="Your order will be there on Thursday."),),
            Intent(answered=0, unanswered=1, outcome="abandoned", dead_air=1, end_cause="caller"),
            tool_s={"look_up": 30.0},
        ),
        Scenario(
            "transfer",
            "a transfer to a human",
            CLINIC,
            (Say("i want to speak to a real person"),),
            (Reply("I will connect you to a colleague.", hears=("person", "speak"), tool="transfer_to_human"),),
            Intent(answered=1, outcome="escalated"),
            tool_s={"transfer_to_human": 1.0},
        ),
        Scenario(
            "hang_up",
            "the caller hangs up in mid-sentence",
            ORDERS,
            (
                Say("can you send it to my office please"),
                Say("i would like to change my address please", hang_up_after_s=1.1),
            ),
            (Reply("Of course, we will send it there.", hears=("office", "send")),),
            Intent(answered=1, end_cause="caller"),
        ),
    )
}

WARM_UP = Scenario("warm_up", "warming up", "Goodbye.", (HangUp(after_s=0.1),), (), Intent(answered=0))
"""No call of the demo: what a bot does by itself before it takes any."""

AGENTS = {
    a.name: a
    for a in (
        Agent("clinic", "42", "by_hand"),
        Agent("restaurant", "7", "attach", min_words=4),
        Agent("orders", "3", "setup_file"),
    )
}

BOOKINGS = (
    Booking(0, "clinic", "slow_model"),
    Booking(3, "restaurant", "talked_through"),
    Booking(7, "clinic", "slow_model"),
    Booking(13, "orders", "order"),
    Booking(27, "restaurant", "missed"),
    Booking(33, "orders", "dead_air"),
    Booking(36, "clinic", "barge_in"),
    Booking(47, "clinic", "visit"),
    Booking(50, "clinic", "transfer"),
    Booking(55, "restaurant", "table"),
    Booking(60, "clinic", "wrong_stop"),
    Booking(66, "orders", "hang_up"),
    Booking(74, "clinic", "prescription"),
    Booking(80, "restaurant", "talked_through"),
    Booking(86, "clinic", "visit"),
    Booking(97, "clinic", "visit"),
)


ALERTS = frozenset(
    {("slow answers", "clinic", "firing"), ("slow answers", "clinic", "resolved"), ("dead air", "orders", "firing")}
)
"""What the demo's rules should say of these calls: (rule, agent, status)."""


def sentences() -> dict[str, frozenset[str]]:
    """Every sentence that must exist as a clip, by voice."""
    agent: set[str] = set()
    caller: set[str] = set()
    for scenario in SCENARIOS.values():
        for text in (scenario.greeting, *(t for r in scenario.replies for t in (r.text, r.then))):
            agent.update(split_sentences(text))
        caller.update(step.text for step in scenario.steps if isinstance(step, Say))
    return {AGENT_VOICE: frozenset(agent), CALLER_VOICE: frozenset(caller)}


def split_sentences(text: str) -> list[str]:
    """The sentences of a reply, as speech synthesis is handed them."""
    parts = text.replace("?", "?|").replace(".", ".|").split("|")
    return [part.strip() for part in parts if part.strip()]
