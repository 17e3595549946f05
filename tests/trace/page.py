#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a page of tern_trace in headless Chromium, and looks at it as a reader does.

page.py PAGE late     the late sender stands in the findings, a click shows its call, the wheel zooms
page.py PAGE paint S  the first paint comes within S seconds
page.py PAGE shot PNG [light|dark] [WIDTH HEIGHT]
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    print("Chromium is not installed")
    sys.exit(77)


class Browser:
    """DevTools over a pair of pipes: messages end with a zero byte."""

    def __init__(self, width=1280, height=1100):
        self.folder = tempfile.mkdtemp(prefix="tern-page-")
        command_in, self.to = os.pipe()
        self.back, answer_out = os.pipe()

        def pipes():
            first, second = os.dup(command_in), os.dup(answer_out)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--force-device-scale-factor=1", f"--window-size={width},{height}",
             f"--user-data-dir={self.folder}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(command_in)
        os.close(answer_out)
        self.rest, self.number, self.session, self.faults = b"", 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Runtime.enable")

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.faults.append(json.dumps(answer["params"])[:500])
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def next(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("Chromium ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def open(self, page, seconds=60):
        self.ask("Page.navigate", url="file://" + os.path.abspath(page))
        self.until("document.body && document.body.dataset.ready", seconds)

    def until(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if self.faults or time.monotonic() > end:
                fail(f"never true: {expression} {self.faults}")
            time.sleep(0.05)

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def shot(self, name):
        picture = self.ask("Page.captureScreenshot", format="png")["data"]
        with open(name, "wb") as file:
            file.write(base64.b64decode(picture))

    def close(self):
        self.session = None
        try:
            self.ask("Browser.close")
        except RuntimeError:
            pass
        self.process.wait(20)
        shutil.rmtree(self.folder, ignore_errors=True)


def fail(reason):
    print("FAIL " + reason)
    sys.exit(1)


def expect(truth, reason):
    if not truth:
        fail(reason)


def late(browser):
    findings = browser.value("document.querySelector('#findings').innerText")
    expect("late sender: rank 0 sent late" in findings and "49.990 ms" in findings, findings)
    box = browser.value("(() => { const b = document.querySelector('#lanes').getBoundingClientRect();"
                        " return [b.left, b.top, b.width, b.height] })()")
    # Rank 1 waits from 30 to 80 ms of 105.5 ms.
    x = box[0] + 64 + (box[2] - 64) * 55 / 105.5
    y = box[1] + 20 + (box[3] - 20) * 1.5 / 4
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y, button="left", clickCount=1)
    browser.until("document.querySelector('#record').innerText.includes('MPI_Recv')")
    record = browser.value("document.querySelector('#record').innerText")
    expect("rank 1" in record and "waited" in record and "49.990 ms" in record, record)
    expect("ring.c:21(step)" in record, record)
    whole = browser.value("document.body.dataset.view").split()
    browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
    browser.until(f"document.body.dataset.view !== '{' '.join(whole)}'")
    zoomed = [float(n) for n in browser.value("document.body.dataset.view").split()]
    expect(zoomed[0] > 0 and zoomed[1] < float(whole[1]), f"the wheel zooms to {zoomed}")
    browser.value("location.hash = 't0=0.02&t1=0.04&call=0,0.0305'")
    browser.until("document.body.dataset.view.startsWith('0.02 0.04 ')")
    print("late: shown")


def paint(browser, seconds):
    first = browser.value("performance.getEntriesByType('paint')[0].startTime") / 1000
    drawn = float(browser.value("document.body.dataset.paint")) / 1000
    ready = float(browser.value("document.body.dataset.ready")) / 1000
    print(f"first paint {first:.2f} s, timeline {drawn:.2f} s, all parts {ready:.2f} s")
    expect(max(first, drawn) <= seconds, f"the paint takes longer than {seconds} s")


def main():
    page, kind, *rest = sys.argv[1:]
    size = [int(n) for n in rest[2:4]] if kind == "shot" and len(rest) > 3 else [1280, 1100]
    browser = Browser(*size)
    try:
        if kind == "shot":
            browser.ask("Emulation.setEmulatedMedia", features=[
                {"name": "prefers-color-scheme", "value": rest[1] if len(rest) > 1 else "light"}])
        browser.open(page)
        if kind == "late":
            late(browser)
        elif kind == "paint":
            paint(browser, float(rest[0]))
        else:
            browser.shot(rest[0])
        expect(not browser.faults, f"errors in the page: {browser.faults}")
    finally:
        browser.close()


main()
