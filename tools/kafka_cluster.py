"""Three real Kafka brokers on loopback: ``python tools/kafka_cluster.py up | down | status | kill N | start N``.

What is acknowledged there with acks=all lies on two brokers at least, so that one of them may die at any moment:
``kill 2`` ends the second as a crash would, ``start 2`` brings it back with its data. Everything lies under
.run/kafka-cluster/, or where EARWITNESS_TEST_KAFKA_CLUSTER_RUN says, and goes with ``down``. Needs what tools/kafka.py
needs without Docker: Java 17 or newer and Kafka's jars. About 1.2 GB of memory.

Standard library only. ``up`` prints the three addresses, comma between, on standard output and nothing else. Exit codes
as of tools/kafka.py.
"""

from __future__ import annotations

import os
import shutil
import string
import sys
import uuid
from pathlib import Path

import kafka
import kafka_java

RUN = Path(os.environ.get("EARWITNESS_TEST_KAFKA_CLUSTER_RUN", kafka_java.ROOT / ".run" / "kafka-cluster")).absolute()
BOOTSTRAP = RUN / "bootstrap"
NODES = (1, 2, 3)


class Node:
    """One broker's files and process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.folder = RUN / f"node-{number}"
        self.properties = self.folder / "server.properties"
        self.log = self.folder / "broker.log"
        self.pid = self.folder / "pid"

    def prepare(self, java: Path, cluster: str, ports: list[int], controllers: list[int]) -> None:
        """Write its properties and format its data folder."""
        self.folder.mkdir(parents=True)
        values = {
            "node": self.number,
            "voters": ",".join(f"{node}@127.0.0.1:{port}" for node, port in zip(NODES, controllers, strict=True)),
            "broker_port": ports[self.number - 1],
            "controller_port": controllers[self.number - 1],
            "data": self.folder / "data",
        }
        template = string.Template((kafka_java.DEPLOY / "kafka" / "cluster.properties").read_text())
        self.properties.write_text(template.substitute(values))
        kafka_java.format_storage(java, self.properties, cluster)

    def end(self, *, at_once: bool = False) -> bool:
        """End its process; False where it has none."""
        pid = kafka_java.read(self.pid)
        if pid is None or not kafka.is_ours(int(pid), self.properties):
            return False
        kafka.end(int(pid), self.properties, at_once=at_once)
        return True


def addresses() -> list[str]:
    return (kafka_java.read(BOOTSTRAP) or "").split(",") if BOOTSTRAP.exists() else []


def bring_up() -> list[str]:
    """Start all three and wait until each answers."""
    java = kafka_java.jars()
    for _ in range(3):  # another process may take a free port before a broker does
        for number in NODES:
            shutil.rmtree(RUN / f"node-{number}", ignore_errors=True)
        ports = kafka.free_ports(6)
        cluster = kafka_java.cluster_id(uuid.uuid4())
        nodes = [Node(number) for number in NODES]
        for node in nodes:
            node.prepare(java, cluster, ports[:3], ports[3:])
        running = [kafka_java.launch(java, node.properties, node.log, node.pid) for node in nodes]
        there = [f"127.0.0.1:{port}" for port in ports[:3]]
        if all(kafka.wait_for(address, broker) for address, broker in zip(there, running, strict=True)):
            return there
        taken = any("Address already in use" in node.log.read_text(errors="replace") for node in nodes)
        for node in nodes:
            node.end(at_once=True)
        if not taken:
            break
    raise kafka_java.Missing(f"the cluster did not start; its words are in {RUN}/node-*/broker.log")


def up() -> int:
    with kafka.one_at_a_time(RUN):
        there = addresses()
        if not there or not all(kafka.answers(address) for address in there):
            clear()
            try:
                there = bring_up()
            except kafka_java.Missing as missing:
                kafka_java.say(f"MISSING: {missing}")
                return 3
            BOOTSTRAP.write_text(",".join(there) + "\n")
            kafka_java.say("three brokers are up; python tools/kafka_cluster.py down ends them")
    print(",".join(there))
    return 0


def clear() -> None:
    for number in NODES:
        Node(number).end(at_once=True)
        shutil.rmtree(RUN / f"node-{number}", ignore_errors=True)
    BOOTSTRAP.unlink(missing_ok=True)


def down() -> int:
    with kafka.one_at_a_time(RUN):
        if not addresses():
            kafka_java.say("nothing to end")
            return 0
        clear()
    kafka_java.say("down")
    return 0


def status() -> int:
    there = addresses()
    up_now = [address for address in there if kafka.answers(address)]
    if not up_now:
        kafka_java.say("not up")
        return 1
    print(",".join(up_now))
    return 0 if len(up_now) == len(NODES) else 1


def kill(number: int) -> int:
    if not Node(number).end(at_once=True):
        kafka_java.say(f"broker {number} is not up")
        return 1
    return 0


def start(number: int) -> int:
    there, node, java = addresses(), Node(number), kafka_java.find_java()
    if not there or java is None:
        kafka_java.say("there is no cluster")
        return 1
    if kafka.wait_for(there[number - 1], kafka_java.launch(java, node.properties, node.log, node.pid)):
        return 0
    kafka_java.say(f"broker {number} did not come back; its words are in {node.log}")
    return 1


def main(arguments: list[str]) -> int:
    match arguments:
        case ["up"]:
            return up()
        case ["down"]:
            return down()
        case ["status"]:
            return status()
        case ["kill" | "start" as what, ("1" | "2" | "3") as number]:
            return kill(int(number)) if what == "kill" else start(int(number))
    kafka_java.say("usage: python tools/kafka_cluster.py up | down | status | kill 1..3 | start 1..3")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
