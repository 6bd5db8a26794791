"""Requests to an application in this process: what an ASGI server would do, without a socket."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from fastapi import FastAPI

from causal_bandits.product.service import ServiceSettings, Tokens, create_app
from causal_bandits.product.service.tokens import NO_TOKENS

ADMIN, DECIDE, READ = "admin-token-0123456789", "decide-token-0123456789", "read-token-0123456789"
TOKENS = Tokens.of({ADMIN: "admin", DECIDE: "decide", READ: "read"})
SHOP: dict[str, Any] = {
    "target": "purchase",
    "observed": {"clicked": 2, "cart": ["empty", "some", "full"]},
    "interventions": {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]},
}
NOTHING = object()


@dataclass
class Answered:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def detail(self) -> str:
        """The sentence of an error."""
        assert self.headers["content-type"] == "application/problem+json", self.text
        assert self.json["status"] == self.status
        assert "\n" not in self.json["detail"]
        assert "Traceback" not in self.text
        return str(self.json["detail"])


class Caller:
    """Somebody who sends requests; `token` is sent with each of them."""

    def __init__(self, app: FastAPI, token: str | None = None) -> None:
        self.app = app
        self.token = token
        self._loop = asyncio.new_event_loop()

    @classmethod
    def to(cls, storage: str, tokens: Tokens = NO_TOKENS, **options: Any) -> Self:
        return cls(create_app(ServiceSettings(storage, tokens, **options)))

    def close(self) -> None:
        self._loop.close()
        self.app.state.registry.close()

    def __call__(
        self,
        method: str,
        target: str,
        body: Any = NOTHING,
        *,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answered:
        sent = {"host": "localhost", **({} if self.token is None else {"authorization": f"Bearer {self.token}"})}
        data = b"" if content is None else content
        if body is not NOTHING:
            data = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        if data:
            sent["content-length"] = str(len(data))
        sent |= {name.lower(): value for name, value in (headers or {}).items()}
        return self._loop.run_until_complete(self._send(method, target, data, sent))

    async def _send(self, method: str, target: str, data: bytes, headers: dict[str, str]) -> Answered:
        parts = urlsplit(target)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": parts.path,
            "raw_path": parts.path.encode("ascii"),
            "query_string": parts.query.encode("ascii"),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8080),
        }
        chunks = [data[start : start + 50_000] for start in range(0, len(data), 50_000)] or [b""]
        messages: list[Any] = []

        async def receive() -> Any:
            if not chunks:
                await asyncio.get_running_loop().create_future()  # the sender stays
            return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

        async def send(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, send)
        found = {name.decode().lower(): value.decode("latin-1") for name, value in messages[0]["headers"]}
        return Answered(messages[0]["status"], found, b"".join(message.get("body", b"") for message in messages[1:]))

    def create(self, name: str = "shop", **options: Any) -> str:
        """A study, played by a policy that is compiled anyway; gives its address."""
        answered = self(
            "POST", "/api/v1/studies", {"name": name, "problem": SHOP, "policy": "ts", "seed": 1, **options}
        )
        assert answered.status in (200, 201), answered.text
        return answered.headers["location"]
