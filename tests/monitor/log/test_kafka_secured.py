"""TLS, SCRAM and rights against a broker that demands them: who may, works; who may not is told why in one line."""

from __future__ import annotations

import importlib.util
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from earwitness.monitor.log.kafka import KafkaLog
from earwitness.monitor.log.open import LogSettings, open_log
from earwitness.monitor.log.protocol import Entry, LogError, LogRefused, Outgoing, TopicSpec

pytestmark = pytest.mark.kafka

TOOL = Path(__file__).resolve().parents[3] / "tools" / "kafka.py"
STORE_PASSWORD = "store-secret"
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=SASL_SSL://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_SSL://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=SASL_SSL
log.dirs={folder}/data
offsets.topic.replication.factor=1
auto.create.topics.enable=false
sasl.enabled.mechanisms=SCRAM-SHA-256
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule \
required username="admin" password="admin-secret";
ssl.keystore.type=PKCS12
ssl.keystore.location={folder}/broker.p12
ssl.keystore.password={store}
ssl.truststore.type=PKCS12
ssl.truststore.location={folder}/broker.p12
ssl.truststore.password={store}
ssl.client.auth=none
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
"""


@dataclass
class Secured:
    address: str
    cafile: Path

    def settings(self, **changes: object) -> LogSettings:
        usual = {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": "admin",
            "sasl_password": "admin-secret",
            "ssl_cafile": str(self.cafile),
            "request_timeout_ms": 5_000,
        }
        return LogSettings(kafka={name: value for name, value in {**usual, **changes}.items() if value is not None})

    async def open(self, prefix: str, **changes: object) -> KafkaLog:
        log = await open_log(f"kafka://{self.address}/{prefix}", settings=self.settings(**changes))
        assert isinstance(log, KafkaLog)
        return log


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("kafka_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _keys(java: Path, folder: Path) -> Path:
    """A key for the broker, signed by itself, and its certificate for clients to trust."""
    keytool = str(java.resolve().parent / "keytool")
    store = ["-keystore", str(folder / "broker.p12"), "-storetype", "PKCS12", "-storepass", STORE_PASSWORD]
    made = [*store, "-alias", "broker", "-keyalg", "RSA", "-dname", "CN=127.0.0.1", "-ext", "SAN=ip:127.0.0.1"]
    subprocess.run([keytool, "-genkeypair", *made, "-ext", "bc=ca:true"], check=True, capture_output=True)
    cafile = folder / "ca.pem"
    exported = ["-exportcert", *store, "-alias", "broker", "-rfc", "-file", str(cafile)]
    subprocess.run([keytool, *exported], check=True, capture_output=True)
    # Java trusts only what was imported as trusted.
    trusted = ["-importcert", *store, "-alias", "ca", "-file", str(cafile), "-noprompt"]
    subprocess.run([keytool, *trusted], check=True, capture_output=True)
    return cafile


def _keep_what_it_says(out: Any, log: Path, spoke: threading.Event) -> None:
    """Write down a broker's output to its end; ``spoke`` is set when it says that it runs, or says no more."""
    with out, log.open("wb") as kept:
        for line in out:
            kept.write(line)
            kept.flush()
            if b"Kafka Server started" in line:
                spoke.set()
    spoke.set()


@pytest.fixture(scope="module")
def secured(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    tool, folder = _tool(), tmp_path_factory.mktemp("secured")
    try:
        java = tool.jars()
    except tool.Missing as missing:
        pytest.skip(f"no Java and jars for a broker with TLS: {missing}")
    broker_port, controller_port = tool.free_ports(2)
    cafile = _keys(java, folder)
    config = folder / "server.properties"
    config.write_text(
        PROPERTIES.format(broker=broker_port, controller=controller_port, folder=folder, store=STORE_PASSWORD)
    )
    base = [str(java), "-XX:+UseSerialGC", "-Xmx400m", "-cp", f"{tool.LIBS}/*"]
    users = [f"SCRAM-SHA-256=[name={name},password={name}-secret]" for name in ("admin", "bot")]
    scram = [part for user in users for part in ("--add-scram", user)]
    cluster = ["-t", "ZWFyd2l0bmVzcy10ZXN0cw", "-c", str(config)]
    subprocess.run(
        [*base, "kafka.tools.StorageTool", "format", "--standalone", *cluster, *scram],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    log = folder / "broker.log"
    broker = subprocess.Popen([*base, f"-Dlog4j2.configurationFile={tool.DEPLOY / 'kafka' / 'log4j2.properties'}",
                               "kafka.Kafka", str(config)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder)  # fmt: skip
    spoke = threading.Event()
    listener = threading.Thread(target=_keep_what_it_says, args=(broker.stdout, log, spoke), daemon=True)
    listener.start()
    try:
        assert spoke.wait(60), "the broker did not start"
        assert "Kafka Server started" in log.read_text(errors="replace"), log.read_text(errors="replace")[-2_000:]
        yield Secured(f"127.0.0.1:{broker_port}", cafile)
    finally:
        broker.terminate()
        broker.wait(20)
        listener.join(20)


@pytest.fixture
def prefix() -> str:
    return f"t{uuid.uuid4().hex[:10]}"


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


async def test_who_may_not_is_refused_by_topic_and_group(secured: Secured, prefix: str) -> None:
    topic = f"{prefix}.events"
    admin = await secured.open(prefix)
    await admin.create_topics([TopicSpec(topic, 1)])
    await admin.close()
    bot = await secured.open(prefix, sasl_username="bot", sasl_password="bot-secret")

    try:
        for question in (bot.append(topic, [Outgoing("call", b"x")]), bot.reader(topic), bot.committed("g", topic)):
            with pytest.raises(LogRefused, match=r"not allowed|no topic") as caught:
                await question
            assert "\n" not in str(caught.value)
    finally:
        await bot.close()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sasl_password": "wrong"}, r"refused user or password; see kafka\.sasl_username"),
        ({"sasl_mechanism": "PLAIN"}, r"does not offer this kafka\.sasl_mechanism"),
        ({"ssl_cafile": None}, r"certificate that is not trusted .*see kafka\.ssl_cafile"),
        ({"security_protocol": "SASL_PLAINTEXT"}, r"kafka\.security_protocol"),
        ({"security_protocol": "PLAINTEXT"}, r"kafka\.security_protocol"),
        ({"security_protocol": "SSL"}, r"kafka\.security_protocol"),
    ],
)
async def test_what_does_not_fit_is_one_line_that_names_the_setting(
    secured: Secured, prefix: str, changes: dict[str, object], says: str
) -> None:
    began = time.monotonic()
    with pytest.raises(LogError, match=says) as caught:
        await secured.open(prefix, **changes)

    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert time.monotonic() - began < 15
