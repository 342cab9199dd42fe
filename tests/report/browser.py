"""Headless Chromium, spoken to through its own pipe (the DevTools protocol): nothing to install besides the browser."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE = 60.0


def find_browser() -> str | None:
    """The path of a Chromium on this machine (``COROLLARY_CHROMIUM`` names one), or None."""
    named = os.environ.get("COROLLARY_CHROMIUM")
    return named or next((path for path in map(shutil.which, _NAMES) if path), None)


class Browser:
    """One browser with one page; ``open`` shows a file in it, ``ask`` evaluates an expression there."""

    def __init__(self, executable: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="corollary-chromium-", ignore_cleanup_errors=True)
        there, self._out = os.pipe()
        self._in, back = os.pipe()

        def pipes() -> None:  # the browser reads commands from 3 and writes answers to 4
            one, two = os.dup(there), os.dup(back)
            os.dup2(one, 3, inheritable=True)
            os.dup2(two, 4, inheritable=True)

        command = [executable, *_FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=pipes)
        os.close(there)
        os.close(back)
        self._number, self._rest, self._session = 0, b"", ""
        self.events: list[dict[str, Any]] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the protocol, and its answer; events that come in between are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            found = os.read(self._in, 1 << 20) if ready else b""
            if not found:
                raise RuntimeError("the browser does not answer")
            self._rest += found
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))

    def _wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next())

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False, media: str = "") -> None:
        """Show a file in a window of this width, on a light or a dark screen, or as it is on paper."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        self._wait_for("Page.loadEventFired")

    @property
    def requests(self) -> list[str]:
        """Addresses that the page asked for since it was opened."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    @property
    def complaints(self) -> list[str]:
        """What the browser wrote into its log since the page was opened."""
        logged = [event["params"]["entry"]["text"] for event in self.events if event.get("method") == "Log.entryAdded"]
        return logged + [str(event) for event in self.events if event.get("method") == "Runtime.exceptionThrown"]

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def picture(self, path: Path, top: float = 0, height: float | None = None) -> None:
        """A PNG of the whole page, or of a part of it."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        rest = size["height"] - top
        clip = {"x": 0, "y": top, "width": size["width"], "height": min(height or rest, rest), "scale": 1}
        answer = self.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def paper(self, path: Path) -> None:
        """The page as a PDF of A4 paper."""
        answer = self.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=True)
        path.write_bytes(base64.b64decode(answer["data"]))
