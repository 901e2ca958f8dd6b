"""The Chromium that pages are opened in, what is watched there, and what a reader without eyes or hands needs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.hostile_logs import ELSEWHERE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".venv/web/node_modules/axe-core/axe.min.js"
NARROW, WIDE = 360, 1280
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_TELLS = "Object.defineProperty(window, 'hacked', { set() { console.error('a script of a log ran'); } });"
"""What scripts of the hostile logs do is told as an error, on whichever page and whenever they do it."""
_UNREACHED = """() => {
  const name = (each) => each.outerHTML.slice(0, 160);
  return [...window.reachable].filter((each) => !window.reached.has(each)).map(name);
}"""
_WATCH_FOCUS = """() => {
  const usable = "a[href], button:enabled, input:enabled:not([type=hidden]), select:enabled, summary, [tabindex='0']";
  window.reachable = [...document.querySelectorAll(usable)].filter((each) => each.checkVisibility());
  window.reached = new Set([document.activeElement]);
  document.addEventListener("focusin", (event) => window.reached.add(event.target));
  return window.reachable.length;
}"""


def chromium() -> str | None:
    """The one that ``CHROMIUM`` names, else the one on PATH."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


def why_not() -> str:
    """Why no page can be opened; empty where one can."""
    if find_spec("playwright") is None:
        return "no page is opened, since Playwright is not installed: make test-web installs it"
    return "" if chromium() else "no page is opened, since there is no Chromium on PATH: name one with CHROMIUM="


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser for which the name of another host leads to this machine, as a rebound name does."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-dev-shm-usage", f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=chromium(), args=arguments)
        yield made
        made.close()


class Watch:
    """A page of ours, and all that goes wrong on it."""

    def __init__(self, page: Page, origin: str) -> None:
        """``origin`` is what the URL of each request has to begin with."""
        self.page, self.origin = page, origin
        self.wrong: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda told: told.type in ("error", "warning") and self.wrong.append(told.text))
        page.on("pageerror", lambda problem: self.wrong.append(str(problem)))
        page.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        page.on("popup", lambda other: self.wrong.append(f"a window opened: {other.url}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def hold(self) -> None:
        """Fail where something went wrong, left this machine, or ran that is not ours."""
        assert self.wrong == [], self.wrong
        assert self.asked
        assert [url for url in self.asked if not url.startswith(self.origin)] == []


@contextmanager
def watched(browser: Browser, origin: str, width: int = WIDE, **options: Any) -> Iterator[Watch]:
    """A new window; what was opened in it is held to be right at the end."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **options)
    context.set_default_timeout(20_000)
    context.add_init_script(_TELLS)
    watch = Watch(context.new_page(), origin)
    try:
        yield watch
        watch.page.evaluate("1")  # behind which nothing is left to be told
        watch.hold()
    finally:
        context.close()


def unreached(page: Page) -> list[str]:
    """What can be used with a pointer, and the key Tab does not lead to."""
    count: int = page.evaluate(_WATCH_FOCUS)
    assert count
    for _ in range(count + 5):
        page.keyboard.press("Tab")
    found: list[str] = page.evaluate(_UNREACHED)
    return found


def serious(page: Page) -> list[tuple[str, str]]:
    """What axe-core finds on a page that is serious or critical, light and dark, each with the first element of that.

    Of all that it looks at, only contrasts differ between the two.
    """
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make test-web installs it, where npm is")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found = []
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        told = page.evaluate("(rules) => axe.run({ ...rules, resultTypes: ['violations'] })", rules)
        grave = (each for each in told["violations"] if each["impact"] in ("serious", "critical"))
        found += [(f"{scheme}: {each['id']}", each["nodes"][0]["html"][:200]) for each in grave]
    return found


def too_wide(page: Page) -> list[str]:
    """Whether a page scrolls sideways, or what stands out of it at its right.

    What scrolls in a box of its own does not count. A letter with many marks may be wider than a window, and nothing
    breaks it, so it is left out once it is clear that the page does not scroll for it.
    """
    found: list[str] = page.evaluate("""() => {
      const wide = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth > wide) return ["the page scrolls"];
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const { data } = walk.currentNode;
        if (/\\u0335{50}/.test(data)) walk.currentNode.data = data.replaceAll("\\u0335", "");
      }
      const parts = [...document.querySelectorAll("main")].filter((each) => each.scrollWidth > each.clientWidth);
      const outside = parts.flatMap((part) => [...part.querySelectorAll("*")])
        .filter((each) => each.getBoundingClientRect().right > wide + 1);
      return parts.length ? ["something is cut off", ...outside.map((each) => each.outerHTML.slice(0, 160))] : [];
    }""")
    return found[:5]


def unfold(page: Page, inside: str = "body") -> None:
    """Open each fold in an element."""
    page.eval_on_selector_all(f"{inside} details", "all => all.forEach((each) => { each.open = true; })")
