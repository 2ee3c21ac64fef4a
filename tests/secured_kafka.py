"""A real Kafka that demands TLS and a password and grants nothing unasked, for tests of what then may be done.

Listeners: one with a good certificate, one whose certificate has expired, one that wants a certificate of the client
too, and one in the clear, for the test itself to hand out rights by. Users are those of `USERS`; their passwords are
``<name>-secret``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from earwitness.monitor.log.kafka import KafkaLog

TOOLS = Path(__file__).resolve().parent.parent / "tools"
STORE_PASSWORD = "store-secret"
USERS = (
    "admin", "bot", "relay", "worker", "looker", "topicmaker",
    "nobody", "mutebot", "deafworker", "mutedworker", "lonelyworker",
)  # fmt: skip
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=SASL_SSL://127.0.0.1:{good},EXPIRED://127.0.0.1:{expired},MUTUAL://127.0.0.1:{mutual},CLEAR://127.0.0.1:{clear},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=SASL_SSL://127.0.0.1:{good},EXPIRED://127.0.0.1:{expired},MUTUAL://127.0.0.1:{mutual},CLEAR://127.0.0.1:{clear}
listener.security.protocol.map=SASL_SSL:SASL_SSL,EXPIRED:SASL_SSL,MUTUAL:SASL_SSL,CLEAR:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLEAR
log.dirs={folder}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
sasl.enabled.mechanisms=SCRAM-SHA-256
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.expired.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.mutual.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PKCS12
ssl.keystore.password={store}
ssl.keystore.location={folder}/good.p12
listener.name.expired.ssl.keystore.type=PKCS12
listener.name.expired.ssl.keystore.password={store}
listener.name.expired.ssl.keystore.location={folder}/expired.p12
ssl.client.auth=none
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.truststore.type=PEM
listener.name.mutual.ssl.truststore.location={folder}/clients.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
"""


@dataclass(frozen=True)
class Secured:
    """Where the broker listens, and the certificates to trust, good and expired. In ``folder`` are a client's
    certificate and key, ``client.pem`` and ``client.key``; an expired one's, ``late``; a ``stranger``'s."""

    address: str
    expired: str
    mutual: str
    clear: str
    cafile: Path
    folder: Path

    def options(self, user: str = "admin", **changes: object) -> dict[str, object]:
        """``kafka.*`` settings with which that user gets in; changed to None: left out."""
        usual = {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_username": user,
            "sasl_password": f"{user}-secret",
            "ssl_cafile": str(self.cafile),
            "request_timeout_ms": 5_000,
        }
        return {name: value for name, value in {**usual, **changes}.items() if value is not None}

    def shown(self, name: str) -> dict[str, Any]:
        """Options with which a client shows the certificate of that name."""
        return {"ssl_certfile": str(self.folder / f"{name}.pem"), "ssl_keyfile": str(self.folder / f"{name}.key")}

    def url(self, prefix: str, *, at: str | None = None) -> str:
        return f"kafka://{at or self.address}/{prefix}"

    def environ(self, user: str, **changes: object) -> dict[str, str]:
        """The same as a process is told it."""
        return {f"EARWITNESS_KAFKA__{k.upper()}": str(v) for k, v in self.options(user, **changes).items()}

    async def grant(self, commands: Iterable[str]) -> None:
        """Do what ``kafka-acls.sh --add`` does with these arguments."""
        from earwitness.monitor.log.kafka_library import kafka_admin

        admin = kafka_admin.AIOKafkaAdminClient(bootstrap_servers=self.clear)
        await admin.start()
        try:
            for command in commands:
                for request in _requests(command):
                    answer = await admin._send_to_controller(request)
                    assert [found[0] for found in answer.creation_responses] == [0], (command, answer)
        finally:
            await admin.close()

    async def open(self, prefix: str, user: str = "admin", *, at: str | None = None, **changes: object) -> KafkaLog:
        from earwitness.monitor.log.kafka import KafkaLog
        from earwitness.monitor.log.open import LogSettings, open_log

        settings = LogSettings(kafka=self.options(user, **changes))
        log = await open_log(self.url(prefix, at=at), settings=settings)
        assert isinstance(log, KafkaLog)
        return log


_OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
_TOPIC, _GROUP, _LITERAL, _PREFIXED, _ALLOW = 2, 3, 3, 4, 3


def _requests(command: str) -> Iterator[Any]:
    """One ``kafka-acls.sh`` line as requests; an option that is not known here is an error, as it is there."""
    from earwitness.monitor.log.kafka_library import CreateAcls

    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--add", action="store_true", required=True)
    parser.add_argument("--allow-principal", required=True)
    parser.add_argument("--operation", action="append", choices=_OPERATIONS, required=True)
    parser.add_argument("--resource-pattern-type", choices=["literal", "prefixed"], default="literal")
    resource = parser.add_mutually_exclusive_group(required=True)
    resource.add_argument("--topic")
    resource.add_argument("--group")
    program, *words = shlex.split(command)
    assert program == "kafka-acls.sh"
    told = parser.parse_args(words)
    pattern = _PREFIXED if told.resource_pattern_type == "prefixed" else _LITERAL
    what = (_TOPIC, told.topic) if told.topic else (_GROUP, told.group)
    for operation in told.operation:
        yield CreateAcls(*what, pattern, told.allow_principal, "*", _OPERATIONS[operation], _ALLOW)


def tool(name: str) -> Any:
    """A module of ``tools/``, under a name of its own: ``kafka`` is a library's too."""
    spec = importlib.util.spec_from_file_location(f"earwitness_tools_{name}", TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(TOOLS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
    return module


def _make_key(java: Path, folder: Path, name: str, *lifetime: str) -> None:
    """A key for the broker, signed by itself, and its certificate (``<name>.pem``) for clients to trust."""
    keytool = str(java.resolve().parent / "keytool")
    store = ["-keystore", str(folder / f"{name}.p12"), "-storetype", "PKCS12", "-storepass", STORE_PASSWORD]
    made = [*store, "-alias", "broker", "-keyalg", "EC", "-dname", f"CN={name}", "-ext", "SAN=ip:127.0.0.1"]
    subprocess.run(
        [keytool, "-genkeypair", *made, "-ext", "bc=ca:true", *lifetime], check=True, capture_output=True, timeout=120
    )
    exported = ["-exportcert", *store, "-alias", "broker", "-rfc", "-file", str(folder / f"{name}.pem")]
    subprocess.run([keytool, *exported], check=True, capture_output=True, timeout=120)


def _make_clients(folder: Path) -> None:
    """An authority for clients (``clients.pem``), and keys that it has signed: a good one, and one that has expired;
    and one that it has not."""

    def openssl(command: str) -> None:
        subprocess.run(["openssl", *shlex.split(command)], check=True, capture_output=True, timeout=60, cwd=folder)

    new = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name in ("clients", "stranger"):
        openssl(f"req -x509 {new} -keyout {name}.key -out {name}.pem -subj /CN={name} -days 30")
    for name, days in (("client", 30), ("late", -1)):
        openssl(f"req -new {new} -keyout {name}.key -out {name}.csr -subj /CN={name}")
        signed = f"x509 -req -in {name}.csr -CA clients.pem -CAkey clients.key -CAcreateserial"
        openssl(f"{signed} -out {name}.pem -days {days}")


def _format(base: Sequence[str], config: Path) -> None:
    scram = [part for name in USERS for part in ("--add-scram", f"SCRAM-SHA-256=[name={name},password={name}-secret]")]
    cluster = ["-t", "ZWFyd2l0bmVzcy10ZXN0cw", "-c", str(config)]
    subprocess.run(
        [*base, "kafka.tools.StorageTool", "format", "--standalone", *cluster, *scram],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


def _keep_what_it_says(out: Any, log: Path, spoke: threading.Event) -> None:
    """Write down a broker's output to its end; ``spoke`` is set when it says that it runs, or says no more."""
    with out, log.open("wb") as kept:
        for line in out:
            kept.write(line)
            kept.flush()
            if b"Kafka Server started" in line:
                spoke.set()
    spoke.set()


@contextlib.contextmanager
def a_secured_broker(folder: Path) -> Iterator[Secured]:
    """One broker, for as long as the context lasts. Skips the test where there is no Java or no jars."""
    programs = tool("kafka_java")
    try:
        java = programs.jars()
    except programs.Missing as missing:
        pytest.skip(f"no Java and jars for a broker with TLS: {missing}")
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make clients' certificates with")
    good, expired, mutual, clear, controller = tool("kafka").free_ports(5)
    config = folder / "server.properties"
    ports = {"good": good, "expired": expired, "mutual": mutual, "clear": clear, "controller": controller}
    config.write_text(PROPERTIES.format(**ports, folder=folder, store=STORE_PASSWORD))
    base = [str(java), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx400m", "-cp", f"{programs.LIBS}/*"]
    _make_clients(folder)
    with ThreadPoolExecutor(3) as at_once:
        made = [
            at_once.submit(_make_key, java, folder, "good"),
            at_once.submit(_make_key, java, folder, "expired", "-startdate", "-10d", "-validity", "5"),
            at_once.submit(_format, base, config),
        ]
        for one in made:
            one.result()
    (folder / "both.pem").write_text((folder / "good.pem").read_text() + (folder / "expired.pem").read_text())
    log = folder / "broker.log"
    broker = subprocess.Popen([*base, f"-Dlog4j2.configurationFile={programs.DEPLOY / 'kafka' / 'log4j2.properties'}",
                               "kafka.Kafka", str(config)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder)  # fmt: skip
    spoke = threading.Event()
    listener = threading.Thread(target=_keep_what_it_says, args=(broker.stdout, log, spoke), daemon=True)
    listener.start()
    try:
        assert spoke.wait(120), "the broker did not start"
        assert "Kafka Server started" in log.read_text(errors="replace"), log.read_text(errors="replace")[-2_000:]
        places = {name: f"127.0.0.1:{ports[name]}" for name in ("expired", "mutual", "clear")}
        yield Secured(f"127.0.0.1:{good}", **places, cafile=folder / "both.pem", folder=folder)
    finally:
        broker.terminate()
        try:
            broker.wait(20)
        except subprocess.TimeoutExpired:
            broker.kill()
            broker.wait(20)
        listener.join(20)


@pytest.fixture(scope="session")
def secured(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The secured broker, shared by all tests that need one."""
    del kafka_bootstrap  # where no Kafka can be had at all, that fixture says so
    with a_secured_broker(tmp_path_factory.mktemp("secured")) as broker:
        yield broker
