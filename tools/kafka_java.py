"""Java and Kafka's jars, for ``kafka.py`` and ``kafka_cluster.py``: found, or installed by apt and fetched by Maven;
and Kafka's own programs, run with them.

Standard library only, since it runs before there is an environment.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
SHARED = ROOT / ".run" / "kafka"
LIBS = SHARED / "libs"
JAVA_MIN = 17


class Missing(Exception):
    """There is no way to get a Kafka here; the text says what is missing."""


def say(text: str) -> None:
    print(f"kafka: {text}", file=sys.stderr, flush=True)


def read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return None


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
