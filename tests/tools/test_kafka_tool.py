"""``tools/kafka.py``: it never takes a stranger for its broker, and says loudly what is missing."""

from __future__ import annotations

import os
import runpy
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from types import ModuleType

import pytest
import secured_kafka

TOOL = Path(__file__).resolve().parents[2] / "tools" / "kafka.py"


def tool(command: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    base = {name: value for name, value in os.environ.items() if name != "EARWITNESS_TEST_KAFKA"}
    return subprocess.run(
        [sys.executable, str(TOOL), command],
        capture_output=True,
        text=True,
        timeout=120,
        env={**base, "EARWITNESS_TEST_KAFKA_RUN": str(folder), **environ},
        check=False,
    )


def test_a_kafka_that_does_not_answer_where_the_variable_points_is_one_loud_line(tmp_path: Path) -> None:
    done = tool("up", tmp_path, EARWITNESS_TEST_KAFKA="127.0.0.1:1")

    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "MISSING: no Kafka answers at EARWITNESS_TEST_KAFKA=127.0.0.1:1" in done.stderr


def test_a_server_that_is_no_kafka_is_not_taken_for_one(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        done = tool("up", tmp_path, EARWITNESS_TEST_KAFKA=f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()

    assert done.returncode == 3


def test_a_stale_pid_file_does_not_end_a_stranger(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        (tmp_path / "pid").write_text(f"{stranger.pid}\n")
        (tmp_path / "engine").write_text("java\n")
        (tmp_path / "bootstrap").write_text("127.0.0.1:1\n")

        status, down = tool("status", tmp_path), tool("down", tmp_path)

        assert status.returncode == 1
        assert down.returncode == 0
        assert stranger.poll() is None
        assert sorted(path.name for path in tmp_path.iterdir()) == ["lock"]
    finally:
        stranger.communicate(b"\n")


@pytest.mark.parametrize("arguments", [[], ["sideways"], ["up", "now"]])
def test_wrong_use_is_exit_2(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "usage" in done.stderr


@pytest.mark.kafka
def test_the_broker_of_the_tests_answers_and_a_second_up_starts_no_other(kafka_bootstrap: str) -> None:
    again = subprocess.run([sys.executable, str(TOOL), "up"], capture_output=True, text=True, timeout=120, check=False)

    assert again.returncode == 0
    assert again.stdout.strip() == kafka_bootstrap


def test_no_cluster_id_reads_as_an_option() -> None:
    cluster_id = runpy.run_path(str(TOOL.with_name("kafka_java.py")))["cluster_id"]
    dashed = uuid.UUID(bytes=b"\xf8" + bytes(15))
    other = uuid.UUID(bytes=b"\x04" + bytes(15))

    assert cluster_id(dashed) == "A" + 21 * "A"
    assert cluster_id(other) == "B" + 21 * "A"


@pytest.mark.parametrize("words", [[], ["start"], ["kill", "4"], ["up", "2"]])
def test_the_cluster_tool_says_how_it_is_used(words: list[str], tmp_path: Path) -> None:
    environ = {**os.environ, "EARWITNESS_TEST_KAFKA_CLUSTER_RUN": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(TOOL.with_name("kafka_cluster.py")), *words],
        capture_output=True, text=True, env=environ, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage" in done.stderr


def test_there_is_no_broker_of_a_cluster_to_kill_where_none_is_up(tmp_path: Path) -> None:
    environ = {**os.environ, "EARWITNESS_TEST_KAFKA_CLUSTER_RUN": str(tmp_path)}
    for words in (["kill", "2"], ["start", "2"], ["status"]):
        done = subprocess.run(
            [sys.executable, str(TOOL.with_name("kafka_cluster.py")), *words],
            capture_output=True, text=True, env=environ, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.count("\n") == 1


def test_a_module_of_the_tools_hides_no_library_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("kafka")
    monkeypatch.setitem(sys.modules, "kafka", library)
    path = list(sys.path)

    loaded = secured_kafka.tool("kafka")

    assert Path(loaded.__file__) == TOOL
    assert len(set(loaded.free_ports(3))) == 3
    assert sys.modules["kafka"] is library
    assert sys.path == path
