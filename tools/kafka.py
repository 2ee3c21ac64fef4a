"""A real Kafka on loopback, for tests and for trying out: ``python tools/kafka.py up``, ``down``, ``status``.

Taken in this order: what EARWITNESS_TEST_KAFKA (host:port) points at; a Docker engine that answers, with
deploy/compose.yaml; Java 17 or newer with Kafka's jars resolved by Maven (deploy/kafka/pom.xml), both installed by apt
where they are missing and that is allowed. Everything lies under .run/kafka/, or where EARWITNESS_TEST_KAFKA_RUN says
(for a second broker); its data goes with ``down``. ``pause`` makes the broker hang, ``kill`` ends it as a crash would,
and ``start`` brings a killed one back with its data, for tests of what then happens. EARWITNESS_TEST_KAFKA_PROPERTIES
names a file of further properties for it, in which $broker_port, $controller_port and $other_port stand for free ports;
it is then Java's and not Docker's to run.

Standard library only, since it runs before there is an environment. ``up`` prints the bootstrap address on standard
output and nothing else. Exit codes: 0 done; 1 no broker is up (``status``); 2 wrong use; 3 no way to get a Kafka here.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import string
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_java import (
    DEPLOY,
    SHARED,
    Missing,
    cluster_id,
    find_java,
    format_storage,
    jars,
    last_line,
    launch,
    read,
    run,
    say,
)

RUN = Path(os.environ.get("EARWITNESS_TEST_KAFKA_RUN", SHARED)).absolute()
BOOTSTRAP, PID, ENGINE, LOG, DATA = (RUN / name for name in ("bootstrap", "pid", "engine", "broker.log", "data"))
PROPERTIES = RUN / "server.properties"
MORE = os.environ.get("EARWITNESS_TEST_KAFKA_PROPERTIES")
PROJECT = f"earwitness-kafka-{hashlib.sha256(str(RUN).encode()).hexdigest()[:8]}"
COMPOSE = ("docker", "compose", "-p", PROJECT, "-f", str(DEPLOY / "compose.yaml"))
START_WITHIN_S = 60.0
STOP_WITHIN_S = 20.0


def answers(address: str, timeout_s: float = 3.0) -> bool:
    """Whether a Kafka broker, not just any server, answers there: one ApiVersions request."""
    host, _, port = address.strip().rpartition(":")
    if not host or not port.isdigit():
        return False
    client = b"earwitness"
    request = struct.pack(">hhih", 18, 0, 1, len(client)) + client
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout_s) as connection:
            connection.settimeout(timeout_s)
            connection.sendall(struct.pack(">i", len(request)) + request)
            head = b""
            while len(head) < 10:
                more = connection.recv(10 - len(head))
                if not more:
                    return False
                head += more
    except OSError:
        return False
    _, correlation, error = struct.unpack(">iih", head)
    return bool(correlation == 1 and error == 0)


def running() -> str | None:
    """The bootstrap address of the broker that ``up`` started, if it still answers."""
    address = read(BOOTSTRAP)
    return address if address and answers(address) else None


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]
    finally:
        for one in held:
            one.close()


# --- Docker -----------------------------------------------------------------------------------------------------------


def docker_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    engine = run("docker", "version", "--format", "{{.Server.Version}}", timeout_s=10)
    return engine.returncode == 0 and run(*COMPOSE, "version", timeout_s=10).returncode == 0


def docker_up() -> str:
    (port,) = free_ports(1)
    say("starting the container of deploy/compose.yaml")
    env = {**os.environ, "EARWITNESS_KAFKA_PORT": str(port)}
    ENGINE.write_text("docker\n")
    done = run(*COMPOSE, "up", "-d", "--wait", timeout_s=300, env=env)
    address = f"127.0.0.1:{port}"
    if done.returncode != 0 or not wait_for(address):
        run(*COMPOSE, "down", "-v", timeout_s=60, env=env)
        ENGINE.unlink()
        raise Missing(f"docker compose did not bring Kafka up: {last_line(done.stderr)}")
    return address


def java_up() -> str:
    java = jars()
    more = "\n" + Path(MORE).read_text() if MORE else ""
    for _ in range(3):  # another process may take a free port before the broker does
        broker_port, controller_port, other_port = free_ports(3)
        shutil.rmtree(DATA, ignore_errors=True)
        ports = {"broker_port": broker_port, "controller_port": controller_port, "other_port": other_port}
        values: dict[str, object] = {**ports, "data": DATA}
        PROPERTIES.write_text(
            string.Template((DEPLOY / "kafka" / "server.properties").read_text() + more).substitute(values)
        )
        LOG.unlink(missing_ok=True)
        format_storage(java, PROPERTIES, cluster_id(uuid.uuid4()), "--standalone")
        broker = launch(java, PROPERTIES, LOG, PID)
        ENGINE.write_text("java\n")
        address = f"127.0.0.1:{broker_port}"
        if wait_for(address, broker):
            return address
        port_taken = "Address already in use" in LOG.read_text(errors="replace")
        end(broker.pid)
        broker.wait(STOP_WITHIN_S)
        PID.unlink()
        if not port_taken:
            break
    raise Missing(f"the broker did not start within {START_WITHIN_S:.0f} s; its words are in {LOG}")


def wait_for(address: str, broker: subprocess.Popen[bytes] | None = None) -> bool:
    deadline = time.monotonic() + START_WITHIN_S
    while time.monotonic() < deadline:
        if answers(address, timeout_s=1.0):
            return True
        if broker is not None and broker.poll() is not None:
            return False
        time.sleep(0.1)
    return False


# --- A process by its id ----------------------------------------------------------------------------------------------


def is_ours(pid: int, properties: Path = PROPERTIES) -> bool:
    """Whether the process lives and is the broker with these properties: a stale pid file may name a stranger."""
    shown = run("ps", "-ww", "-o", "stat=,args=", "-p", str(pid), timeout_s=10)
    if shown.returncode == 127:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return False
        return str(properties) in command
    return str(properties) in shown.stdout and not shown.stdout.lstrip().startswith("Z")


def end(pid: int, properties: Path = PROPERTIES, *, at_once: bool = False) -> None:
    """End the broker and wait for it: asked first, made to after a while; ``at_once``: as a crash would."""
    ways = ((signal.SIGTERM, STOP_WITHIN_S), (signal.SIGKILL, 5.0))
    for sign, patience_s in ways[1:] if at_once else ways:
        if not is_ours(pid, properties):
            return
        if not at_once:
            os.kill(pid, signal.SIGCONT)
        os.kill(pid, sign)
        deadline = time.monotonic() + patience_s
        while is_ours(pid, properties) and time.monotonic() < deadline:
            time.sleep(0.1)


# --- Commands ---------------------------------------------------------------------------------------------------------


@contextmanager
def one_at_a_time(run: Path = RUN) -> Iterator[None]:
    """Two ``up`` at once would start two brokers."""
    run.mkdir(parents=True, exist_ok=True)
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def up() -> int:
    if outside := os.environ.get("EARWITNESS_TEST_KAFKA"):
        if not answers(outside):
            say(f"MISSING: no Kafka answers at EARWITNESS_TEST_KAFKA={outside}; start it or unset the variable")
            return 3
        print(outside)
        return 0
    with one_at_a_time():
        address = running()
        if address is None:
            clear()
            try:
                address = docker_up() if not MORE and docker_answers() else java_up()
            except Missing as missing:
                say(f"MISSING: {missing}")
                return 3
            BOOTSTRAP.write_text(f"{address}\n")
            say(f"up at {address}; python tools/kafka.py down ends it")
    print(address)
    return 0


def clear() -> None:
    """End whatever an earlier ``up`` left, answering or not."""
    pid = read(PID)
    if pid and pid.isdigit():
        end(int(pid))
    if read(ENGINE) == "docker":
        run(*COMPOSE, "down", "-v", timeout_s=60)
    for path in (BOOTSTRAP, PID, ENGINE):
        path.unlink(missing_ok=True)
    shutil.rmtree(DATA, ignore_errors=True)


def down() -> int:
    with one_at_a_time():
        if read(ENGINE) is None:
            say("nothing to end")
            return 0
        clear()
    say("down")
    return 0


def status() -> int:
    address = running()
    if address is None:
        say("not up")
        return 1
    print(address)
    return 0


def pause() -> int:
    return hang("pause", signal.SIGSTOP)


def resume() -> int:
    return hang("unpause", signal.SIGCONT)


def hang(docker_command: str, sign: signal.Signals) -> int:
    pid = read(PID)
    if read(ENGINE) == "docker":
        return run(*COMPOSE, docker_command, "kafka", timeout_s=60).returncode
    if pid is None or not is_ours(int(pid)):
        say("not up")
        return 1
    os.kill(int(pid), sign)
    return 0


def kill() -> int:
    pid = read(PID)
    if read(ENGINE) == "docker":
        return run(*COMPOSE, "kill", "kafka", timeout_s=60).returncode
    if pid is None or not is_ours(int(pid)):
        say("not up")
        return 1
    end(int(pid), at_once=True)
    return 0


def start() -> int:
    address = read(BOOTSTRAP)
    if address is None:
        say("nothing was up")
        return 1
    if read(ENGINE) == "docker":
        done = run(*COMPOSE, "start", "kafka", timeout_s=60).returncode == 0
        return 0 if done and wait_for(address) else 1
    java = find_java()
    if java is None or not wait_for(address, launch(java, PROPERTIES, LOG, PID)):
        say(f"the broker did not come back; its words are in {LOG}")
        return 1
    return 0


def main(arguments: list[str]) -> int:
    commands = {
        "up": up,
        "down": down,
        "status": status,
        "pause": pause,
        "resume": resume,
        "kill": kill,
        "start": start,
    }
    if len(arguments) != 1 or arguments[0] not in commands:
        say(f"usage: python tools/kafka.py {' | '.join(commands)}")
        return 2
    return commands[arguments[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
