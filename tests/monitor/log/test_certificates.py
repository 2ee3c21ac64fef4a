"""When a certificate expires, as OpenSSL says it."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from earwitness.monitor.log.certificates import expires


@pytest.fixture
def openssl() -> str:
    found = shutil.which("openssl")
    if found is None:
        pytest.skip("no openssl to make certificates with")
    return found


@pytest.mark.parametrize("days", [1, 400, 20_000])
def test_it_is_what_openssl_says(openssl: str, days: int, tmp_path: Path) -> None:
    """Of the year 2050 and after too, where the form of the date is another."""
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem"]
    made = [openssl, "req", "-x509", *new, "-subj", "/CN=bot", "-days", str(days), "-out", "cert.pem"]
    subprocess.run(made, check=True, capture_output=True, cwd=tmp_path)
    asked = [openssl, "x509", "-in", "cert.pem", "-noout", "-enddate"]
    said = subprocess.run(asked, check=True, capture_output=True, cwd=tmp_path, text=True).stdout
    told = datetime.strptime(said.strip(), "notAfter=%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)

    # A key may stand in the same file, and the authority's certificate behind.
    (tmp_path / "both.pem").write_text((tmp_path / "key.pem").read_text() + (tmp_path / "cert.pem").read_text())

    assert expires(tmp_path / "cert.pem") == told
    assert expires(tmp_path / "both.pem") == told


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----", "-----BEGIN CERTI"]
)
def test_what_is_no_certificate_tells_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text(text)

    assert expires(tmp_path / "cert.pem") is None
    assert expires(tmp_path / "absent.pem") is None
