"""TLS, SCRAM and rights against a broker that demands them: who may, works; who may not is told why in one line."""

from __future__ import annotations

import ssl
import time
from pathlib import Path
from typing import Any

import pytest
from secured_kafka import Secured

from earwitness.monitor.log.protocol import Entry, LogError, LogRefused, Outgoing, TopicSpec

pytestmark = pytest.mark.kafka


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
def tls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ssl.TLSVersion:
    """The newest TLS that clients of the test speak."""
    whole = ssl.create_default_context

    def limited(**changes: Any) -> ssl.SSLContext:
        context = whole(**changes)
        context.maximum_version = request.param
        return context

    monkeypatch.setattr(ssl, "create_default_context", limited)
    found: ssl.TLSVersion = request.param
    return found


async def test_who_may_writes_and_reads_over_tls(secured: Secured, prefix: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("admin-secret\n")
    log = await secured.open(prefix, sasl_password=None, sasl_password_file=tmp_path / "password")
    topic = f"{prefix}.events"
    await log.create_topics([TopicSpec(topic, 2)])

    await log.append(topic, [Outgoing("call", b"x")])
    reader = await log.reader(topic, group="g")
    got: list[Entry] = []
    while not got:
        got = list(await reader.poll(timeout_s=5))
    await reader.commit(reader.positions())
    await log.close()

    assert [entry.value for entry in got] == [b"x"]


async def test_a_missing_right_is_one_line_with_user_right_and_the_command_that_grants_it(
    secured: Secured, prefix: str
) -> None:
    topic = f"{prefix}.events"
    admin = await secured.open(prefix)
    await admin.create_topics([TopicSpec(topic, 1)])
    await admin.append(topic, [Outgoing("call", b"x")])
    bot = await secured.open(prefix, "mutebot")

    async def refused(question: object, says: str, grant: str) -> None:
        with pytest.raises(LogRefused) as caught:
            await question  # type: ignore[misc]
        assert str(caught.value) == (
            f"Kafka {secured.address}: user mutebot may not {says}; grant it: "
            f"kafka-acls.sh --add --allow-principal User:mutebot --operation {grant}"
        )

    async def read(group: str | None) -> None:
        reader = await bot.reader(topic, group=group)
        while not await reader.poll(timeout_s=5):
            pass

    try:
        group = f"{prefix}.g"
        await refused(bot.append(topic, [Outgoing("call", b"x")]), f"write to topic {topic}", f"Write --topic {topic}")
        await refused(bot.end_positions(topic), f"look at topic {topic}", f"Describe --topic {topic}")
        await secured.grant(
            [f"kafka-acls.sh --add --allow-principal User:mutebot --operation Describe --topic {topic}"]
        )
        await refused(bot.append(topic, [Outgoing("call", b"x")]), f"write to topic {topic}", f"Write --topic {topic}")
        await refused(bot.topics(), f"look at the settings of topic {topic}", f"DescribeConfigs --topic {topic}")
        await refused(read(None), f"read topic {topic}", f"Read --topic {topic}")
        await refused(bot.committed("g", topic), f"use consumer group {group}", f"Read --group {group}")
        await refused(read("g"), f"use consumer group {group}", f"Read --group {group}")
        await refused(
            bot.create_topics([TopicSpec(f"{prefix}.new", 1)]),
            f"create topic {prefix}.new", f"Create --topic {prefix}.new",
        )  # fmt: skip
    finally:
        await admin.close()
        await bot.close()


async def test_a_writer_that_may_see_nothing_else_is_told_of_the_right_and_not_that_the_topic_is_missing(
    secured: Secured, prefix: str
) -> None:
    admin = await secured.open(prefix)
    await admin.create_topics([TopicSpec(f"{prefix}.events", 1), TopicSpec(f"{prefix}.records", 1)])
    grant = "kafka-acls.sh --add --allow-principal User:mutebot --operation Write --topic"
    await secured.grant([f"{grant} {prefix}.events"])
    bot = await secured.open(prefix, "mutebot")

    await bot.append(f"{prefix}.events", [Outgoing("call", b"x")])
    with pytest.raises(LogRefused, match=rf"may not write to topic {prefix}\.records; grant it: {grant} "):
        await bot.append(f"{prefix}.records", [Outgoing("call", b"x")])
    with pytest.raises(LogRefused, match=r"no topic .* make it with: earwitness topics create"):
        await admin.append(f"{prefix}.alerts", [Outgoing("call", b"x")])
    await bot.close()
    await admin.close()


async def test_rights_are_asked_for_and_not_tried_out(secured: Secured, prefix: str) -> None:
    topics = [f"{prefix}.events", f"{prefix}.records", f"{prefix}.dead"]
    admin = await secured.open(prefix)
    await admin.create_topics([TopicSpec(name, 1) for name in topics[:2]])
    grant = "kafka-acls.sh --add --allow-principal User:mutebot"
    await secured.grant(
        [f"{grant} --operation Write --topic {topics[0]}", f"{grant} --operation Read --group {prefix}.g"]
    )
    bot = await secured.open(prefix, "mutebot")

    every, own = await admin.rights(topics, "g"), await bot.rights(topics, "g")
    ends = await admin.end_positions(topics[0])
    await bot.close()
    await admin.close()

    assert every is not None
    assert own is not None
    assert set(every.topics) == set(topics[:2])
    assert {"Read", "Write", "DescribeConfigs"} <= every.topics[topics[1]]
    assert own.topics == {topics[0]: {"Write", "Describe"}, topics[1]: frozenset(), topics[2]: frozenset()}
    assert own.groups == {"g": {"Read", "Describe"}}
    assert ends == {0: 0}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl_password": "wrong"}, r"refused user or password; see kafka\.sasl_username"),
        ({"sasl_mechanism": "PLAIN"}, r"does not offer this kafka\.sasl_mechanism"),
        ({"ssl_cafile": None}, r"certificate that is not trusted .*see kafka\.ssl_cafile"),
        ({"security_protocol": "SASL_PLAINTEXT"}, r"kafka\.security_protocol"),
        ({"security_protocol": "PLAINTEXT"}, r"kafka\.security_protocol"),
        ({"security_protocol": "SSL"}, r"kafka\.security_protocol"),
        ({"at": "expired"}, r"certificate that has expired; renew it on the broker"),
        ({"at": "elsewhere"}, r"certificate for another address; name the broker as its certificate does"),
    ],
)
async def test_what_does_not_fit_is_one_line_that_names_the_setting(
    secured: Secured, prefix: str, changes: dict[str, str | None], says: str
) -> None:
    places = {"expired": secured.expired, "elsewhere": secured.address.replace("127.0.0.1", "localhost")}
    began = time.monotonic()
    with pytest.raises(LogError, match=says) as caught:
        await secured.open(prefix, **{**changes, "at": places.get(changes.get("at") or "")})  # type: ignore[arg-type]

    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert time.monotonic() - began < 15


async def test_a_client_that_shows_its_certificate_gets_in(secured: Secured, prefix: str) -> None:
    log = await secured.open(prefix, at=secured.mutual, **secured.shown("client"))

    assert await log.create_topics([TopicSpec(f"{prefix}.events", 1)]) == [f"{prefix}.events"]
    await log.close()


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        pytest.param(
            "late", r"refused our certificate \S+late\.pem, which expired on 20\d\d-\d\d-\d\d; renew ", id="old"
        ),
        pytest.param(
            "stranger", r"refused our certificate \S+stranger\.pem; see that it trusts who signed", id="other"
        ),
        pytest.param(None, r"wants a certificate of ours; set kafka\.ssl_certfile and kafka\.ssl_keyfile", id="none"),
    ],
)
async def test_a_client_whose_certificate_is_refused_is_told_why_in_one_line(
    secured: Secured, prefix: str, tls: ssl.TLSVersion, shown: str | None, says: str
) -> None:
    """With TLS 1.3 the refusal comes when the client believes that it is connected."""
    del tls
    with pytest.raises(LogRefused, match=says) as caught:
        await secured.open(prefix, at=secured.mutual, **(secured.shown(shown) if shown else {}))

    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
