"""Looks at a page of a service in Chromium, and prints what that took as JSON.

    look_at_page.py URL [--watch SECONDS] [--pages COUNT]

`seconds`: from opening it to when the charts that are seen are whole. With
--watch also the processor time of the main thread in that time, by update of
the study's table, and its longest task. With --pages it opens so many, says
`open`, and stays until it is told to end.
"""

import argparse
import json
import shutil
import signal
import sys
import time

from playwright.sync_api import sync_playwright

SEEN = """() => {
  const seen = [...document.querySelectorAll("canvas")].filter(x => {
    const box = x.getBoundingClientRect();
    return box.width && box.top < innerHeight && box.bottom > 0; });
  return seen.length > 1 && seen.every(x => x.dataset.drawn === "whole"); }"""

COUNT = """() => {
  window.longest = 0;
  new PerformanceObserver(list => { for (const x of list.getEntries())
    window.longest = Math.max(window.longest, x.duration); })
    .observe({entryTypes: ["longtask"]}); }"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--watch", type=float, default=0)
    parser.add_argument("--pages", type=int, default=0)
    args = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        if args.pages:
            # Each as if in a browser of its own.
            for _ in range(args.pages):
                browser.new_context().new_page().goto(args.url)
            print("open", flush=True)
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            while True:
                time.sleep(0.2)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        tables = []
        page.on("response", lambda x: "/table?" in x.url
                and x.status == 200 and tables.append(x.url))
        begin = time.perf_counter()
        page.goto(args.url)
        # Not wait_for_function, whose eval the page's policy forbids.
        while not page.evaluate(SEEN):
            page.wait_for_timeout(10)
        result = {"seconds": time.perf_counter() - begin,
                  "first_paint": page.evaluate(
                      "performance.getEntriesByName('first-contentful-paint')"
                      "[0]?.startTime / 1000")}
        if args.watch:
            session = page.context.new_cdp_session(page)
            # Not the clock's: others work on this machine as well.
            session.send("Performance.enable", {"timeDomain": "threadTicks"})

            def busy():
                found = session.send("Performance.getMetrics")["metrics"]
                return {x["name"]: x["value"] for x in found}["TaskDuration"]

            page.wait_for_timeout(3000)  # what comes with the opening
            page.evaluate(COUNT)
            before, known = busy(), len(tables)
            page.wait_for_timeout(1000 * args.watch)
            updates = max(len(tables) - known, 1)
            result.update(updates=updates, main_thread_ms_per_update=1000
                          * (busy() - before) / updates,
                          longest_ms=page.evaluate("window.longest"))
        print(json.dumps(result))
        browser.close()


main()
