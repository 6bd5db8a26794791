"""A real server on a real socket, in a thread of this process: applications under one prefix each."""

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
from fastapi import FastAPI

from causal_bandits.product.service import ServiceSettings, create_app
from causal_bandits.product.service.serving import Server, configured, listen


class Applications:
    """Any number of applications behind one socket."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.apps: dict[str, FastAPI] = {}
        self.state = self  # the server ends streams of events through the application's state
        self.address = ""

    @property
    def closing(self) -> "Applications":
        return self

    def set(self) -> None:
        """The server stops."""
        for app in self.apps.values():
            app.state.registry.close()

    def serve(self, storage: str, **options: Any) -> str:
        """The address under which a storage is served from now on."""
        root = f"/{next(self._numbers)}"
        self.apps[root] = create_app(ServiceSettings(storage, root_path=root, **options))
        return self.address + root

    def app_at(self, address: str) -> FastAPI:
        return self.apps[address.removeprefix(self.address)]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        root = "/" + scope["path"].split("/")[1]
        await self.apps[root](scope, receive, send)


@contextlib.contextmanager
def running() -> Iterator[Applications]:
    """A server until the end of the block."""
    apps = Applications()
    listening = listen("127.0.0.1", 0)
    apps.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    config: uvicorn.Config = configured(apps)  # type: ignore[arg-type]
    server = Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield apps
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        assert not thread.is_alive()
