"""A real Kafka on loopback, for tests and for trying out: ``python tools/kafka.py up``, ``down``, ``status``.

Taken in this order: what EARWITNESS_TEST_KAFKA (host:port) points at; a Docker engine that answers, with
deploy/compose.yaml; Java 17 or newer with Kafka's jars resolved by Maven (deploy/kafka/pom.xml), both installed by apt
where they are missing and that is allowed. Everything lies under .run/kafka/, or where EARWITNESS_KAFKA_RUN says (for a
second broker); its data goes with ``down``. ``pause`` makes the broker hang, ``kill`` ends it as a crash would, and
``start`` brings a killed one back with its data, for tests of what then happens. EARWITNESS_KAFKA_PROPERTIES names a
file of further properties for it, in which $broker_port, $controller_port and $other_port stand for free ports; it is
then Java's and not Docker's to run.

Standard library only, since it runs before there is an environment. ``up`` prints the bootstrap address on standard
output and nothing else. Exit codes: 0 done; 1 no broker is up (``status``); 2 wrong use; 3 no way to get a Kafka here.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import re
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

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
SHARED = ROOT / ".run" / "kafka"
LIBS = SHARED / "libs"
RUN = Path(os.environ.get("EARWITNESS_KAFKA_RUN", SHARED)).absolute()
BOOTSTRAP, PID, ENGINE, LOG, DATA = (RUN / name for name in ("bootstrap", "pid", "engine", "broker.log", "data"))
PROPERTIES = RUN / "server.properties"
MORE = os.environ.get("EARWITNESS_KAFKA_PROPERTIES")
PROJECT = f"earwitness-kafka-{hashlib.sha256(str(RUN).encode()).hexdigest()[:8]}"
COMPOSE = ("docker", "compose", "-p", PROJECT, "-f", str(DEPLOY / "compose.yaml"))
JAVA_MIN = 17
START_WITHIN_S = 60.0
STOP_WITHIN_S = 20.0


class Missing(Exception):
    """There is no way to get a Kafka here; the text says what is missing."""


def say(text: str) -> None:
    print(f"kafka: {text}", file=sys.stderr, flush=True)


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


def read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return None


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


def run(*command: str, timeout_s: float, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. A timeout or a missing program is a failure too, with its words in stderr."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, env=env, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"{command[0]} gave no answer within {timeout_s:.0f} s")
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no words given"


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


# --- Java and Maven ---------------------------------------------------------------------------------------------------


def java_version(java: Path) -> int:
    """The major version, 0 when it does not run."""
    done = run(str(java), "-version", timeout_s=20)
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found.group(1)) if found and done.returncode == 0 else 0


def find_java() -> Path | None:
    candidates = [Path(home) / "bin" / "java"] if (home := os.environ.get("JAVA_HOME")) else []
    if on_path := shutil.which("java"):
        candidates.append(Path(on_path))
    candidates += sorted(Path("/usr/lib/jvm").glob("*/bin/java"), reverse=True)
    return next((java for java in candidates if java.exists() and java_version(java) >= JAVA_MIN), None)


def apt_install(packages: list[str]) -> None:
    """Install by apt; raise Missing where that is not possible or not allowed."""
    wanted = " and ".join(packages)
    if shutil.which("apt-get") is None:
        raise Missing(f"{wanted} missing, and there is no apt here: install a Java {JAVA_MIN}+ runtime and Maven")
    if os.geteuid() == 0:
        become: tuple[str, ...] = ()
    elif shutil.which("sudo") and run("sudo", "-n", "true", timeout_s=10).returncode == 0:
        become = ("sudo", "-n")
    else:
        raise Missing(f"{wanted} missing, and installing needs root: run  sudo apt-get install {' '.join(packages)}")
    say(f"installing {wanted} with apt")
    prefix = (*become, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y")
    run(*prefix, "update", timeout_s=300)
    done = run(*prefix, "install", "--no-install-recommends", *packages, timeout_s=900)
    if done.returncode != 0:
        raise Missing(f"apt-get could not install {wanted}: {last_line(done.stderr or done.stdout)}")


def java_package() -> str:
    """Debian's and Ubuntu's default may be older than 17, so ask for a version by name."""
    for version in (21, 17, 25):
        name = f"openjdk-{version}-jre-headless"
        shown = run("apt-cache", "policy", name, timeout_s=60).stdout
        if "Candidate:" in shown and "Candidate: (none)" not in shown:
            return name
    return "default-jre-headless"


def java_and_maven(need_maven: bool) -> Path:
    java = find_java()
    packages = ([] if java else [java_package()]) + (["maven"] if need_maven and shutil.which("mvn") is None else [])
    if packages:
        apt_install(packages)
        java = find_java()
    if java is None:
        raise Missing(f"no Java {JAVA_MIN} or newer: set JAVA_HOME to one")
    return java


def jars() -> Path:
    """Resolve the jars once for each version of the pom, and return a Java to run them."""
    pom = DEPLOY / "kafka" / "pom.xml"
    stamp, digest = LIBS / ".pom", hashlib.sha256(pom.read_bytes()).hexdigest()
    LIBS.parent.mkdir(parents=True, exist_ok=True)
    fresh = read(stamp) == digest
    java = java_and_maven(need_maven=not fresh)
    if not fresh:
        shutil.rmtree(LIBS, ignore_errors=True)
        say("fetching Kafka's jars with Maven (44 MB, once)")
        env = {**os.environ, "JAVA_HOME": str(java.resolve().parent.parent)}
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={LIBS}", "-DincludeScope=runtime")
        done = run("mvn", "-q", "-B", "-f", str(pom), *goal, timeout_s=900, env=env)
        if done.returncode != 0:
            words = [line for line in done.stdout.splitlines() if "ERROR" in line]
            raise Missing(f"Maven could not fetch Kafka's jars: {words[0] if words else last_line(done.stderr)}")
        stamp.write_text(digest)
    return java


def java_command(java: Path) -> list[str]:
    """The beginning of every command line of Kafka's own programs."""
    log4j = DEPLOY / "kafka" / "log4j2.properties"
    return [str(java), "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={log4j}", "-cp", f"{LIBS}/*"]


def format_storage(java: Path, properties: Path, cluster: str, *options: str) -> None:
    """Prepare a node's data folder. Raises Missing."""
    storage = ("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties), *options)
    formatted = run(*java_command(java), *storage, timeout_s=60)
    if formatted.returncode != 0:
        raise Missing(f"Kafka could not format {properties.parent}: {last_line(formatted.stderr or formatted.stdout)}")


def launch(java: Path, properties: Path, log: Path, pid: Path) -> subprocess.Popen[bytes]:
    """Start a node; its process id is written down, its words are added to its log."""
    command = java_command(java)
    with log.open("ab") as words:
        broker = subprocess.Popen(
            [*command[:1], "-Xms128m", "-Xmx512m", *command[1:], "kafka.Kafka", str(properties)],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=subprocess.STDOUT,
            cwd=properties.parent,
            start_new_session=True,
        )
    pid.write_text(f"{broker.pid}\n")
    return broker


def cluster_id(of: uuid.UUID) -> str:
    """22 characters, as Kafka wants them. None begins with a dash, which its tools would read as an option."""
    text = base64.urlsafe_b64encode(of.bytes).decode().rstrip("=")
    return "A" + text[1:] if text.startswith("-") else text


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
