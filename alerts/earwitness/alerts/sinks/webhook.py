"""Notices as JSON by HTTP POST. The URL often carries a token: it appears in no message, only host and number do."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from urllib.parse import urlsplit

import aiohttp
from pydantic import SecretStr

from earwitness.alerts.message import webhook_body
from earwitness.alerts.notification import Notice
from earwitness.alerts.sinks.protocol import SinkFailed

_TRY_AGAIN = frozenset({408, 425, 429})


class WebhookSink:
    """Posts to one URL. Answers of 2xx are success; of 4xx a refusal that trying again will not mend, but for 408,
    425 and 429; redirects are not followed."""

    def __init__(
        self,
        url: SecretStr,
        *,
        number: int = 0,
        bearer_token: SecretStr | None = None,
        severities: Collection[str] = (),
        timeout_s: float = 10.0,
        give_up_after_s: float = 3600.0,
    ) -> None:
        self.give_up_after_s = give_up_after_s
        self._url = url
        self._host = urlsplit(url.get_secret_value()).hostname or "?"
        self._headers = {"User-Agent": "earwitness"}
        if bearer_token is not None:
            self._headers["Authorization"] = f"Bearer {bearer_token.get_secret_value()}"
        self._number = number
        self._severities = frozenset(severities)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._session: aiohttp.ClientSession | None = None

    @property
    def name(self) -> str:
        return f"webhook-{self._number}:{self._host}"

    def wants(self, notice: Notice) -> bool:
        return not self._severities or notice.severity in self._severities

    async def send(self, notice: Notice) -> None:
        headers = {**self._headers, "Idempotency-Key": f"{notice.fingerprint}-{notice.since_ns}-{notice.status}"}
        try:
            if self._session is None:
                self._session = aiohttp.ClientSession(timeout=self._timeout)
            async with self._session.post(
                self._url.get_secret_value(), json=webhook_body(notice), headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
        except TimeoutError:
            raise SinkFailed(f"{self._host} did not answer in time", again=True) from None
        except aiohttp.InvalidURL:
            raise SinkFailed("the URL cannot be read", again=False) from None
        except (aiohttp.ClientError, OSError) as error:
            raise SinkFailed(f"{self._host} cannot be reached ({type(error).__name__})", again=True) from None
        if not 200 <= status < 300:
            raise SinkFailed(f"{self._host} answered {status}", again=status >= 500 or status in _TRY_AGAIN)

    async def close(self) -> None:
        if self._session is not None:
            await asyncio.wait_for(self._session.close(), 2.0)
            self._session = None
