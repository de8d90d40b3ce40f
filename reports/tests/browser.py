"""A headless Chromium over its DevTools pipe: opens a page, runs script in it, listens to its console."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update",
    "--disable-background-networking", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60.0


def executable() -> str | None:
    """Where a Chromium is, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class BrowserError(AssertionError):
    """The page threw, or the browser did not answer."""


class Browser:
    """One browser process; ``page()`` gives tabs of it."""

    def __init__(self) -> None:
        found = executable()
        assert found is not None
        self._profile = tempfile.mkdtemp(prefix="gaugeblock-browser-")
        requests, self._write = os.pipe()
        self._read, replies = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (requests, replies)]

        def place() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [found, *FLAGS, f"--user-data-dir={self._profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            pass_fds=(3, 4),
        )
        for end in (*ends, requests, replies):
            os.close(end)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def send(self, method: str, session: str | None = None, **arguments: Any) -> dict[str, Any]:
        """The browser's answer to one request. Events that come meanwhile are kept in ``events``."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(PATIENCE)
            if answer is None:
                raise BrowserError(f"no answer to {method}")
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def receive(self, patience: float) -> dict[str, Any] | None:
        """The next message, or None if none comes."""
        until = time.monotonic() + patience
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                return None
            data = os.read(self._read, 1 << 20)
            if not data:
                raise BrowserError("the browser is gone")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message

    @contextmanager
    def page(self, address: str, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Page]:
        """A tab that shows ``address`` and is loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.send(f"{domain}.enable")
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700}
            page.send("Emulation.setDeviceMetricsOverride", **size)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            page.send("Emulation.setEmulatedMedia", media="", features=[scheme])
            page.open(address)
            yield page
        finally:
            self.send("Target.closeTarget", targetId=target)


class Page:
    """A tab."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def send(self, method: str, **arguments: Any) -> dict[str, Any]:
        return self._browser.send(method, self._session, **arguments)

    def open(self, address: str) -> None:
        """Go there and wait until the page, its details included, is there."""
        self.send("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for. Raises BrowserError if it throws."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def until(self, script: str, patience: float = 20.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + patience
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > end:
                raise BrowserError(f"never true: {script}")
            time.sleep(0.03)

    def key(self, name: str) -> None:
        """Press and release a key; one character types it."""
        text = {"text": name} if len(name) == 1 else {"text": "\r"} if name == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9}.get(name, 0)
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **extra)

    def complaints(self) -> list[str]:
        """What the page has thrown, or written to its console as warning or error, or asked of a network."""
        self.run("0")
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            what, facts = event["method"], event["params"]
            if what == "Runtime.exceptionThrown":
                found.append(json.dumps(facts["exceptionDetails"])[:600])
            elif what == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(facts["args"])[:600])
            elif what == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
                found.append(facts["entry"]["text"])
            elif what == "Page.javascriptDialogOpening":
                found.append(f"dialog: {facts['message']}")
            elif what == "Network.requestWillBeSent":
                address = facts["request"]["url"]
                found += [] if address.startswith(("file:", "data:", "blob:")) else [f"request: {address}"]
        return found

    def picture(self, path: Path, whole: bool = False) -> None:
        """What is seen as a PNG file; ``whole`` takes all of the page."""
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
