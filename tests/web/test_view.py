"""The viewer in a browser: a Chromium (``CHROMIUM=``, else the one on PATH) over the sample run and a hostile one.

Without a Chromium, or without Playwright, the tests are skipped and say so.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.conftest import log_line, user, write_log
from tests.view import hostile

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
AXE = Path(os.environ.get("AXE") or ROOT / ".venv/axe/node_modules/axe-core/axe.min.js")
URL = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=\S+")
EVIL = "evil.example"
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: name one with CHROMIUM="),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox", f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"]
        made = started.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield made
        made.close()


@contextmanager
def served(*arguments):
    """The command, and the URL that it prints."""
    command = [sys.executable, "-m", "chatsquash", "view", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = None
            while found is None:
                found = URL.search(process.stdout.readline())
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def samples(folder):
    shutil.copytree(ROOT / "sample_logs", folder / "logs")
    convert(folder / "logs", folder / "samples", Options(anonymize=False))
    (folder / "model.jinja").write_text("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}")
    with served(folder / "samples", "--template", folder / "model.jinja") as url:
        yield url


@pytest.fixture(scope="module")
def evil(folder):
    convert(hostile.write(folder / "hostile"), folder / "evil", Options(anonymize=False))
    with served(folder / "evil") as url:
        yield url


class Watch:
    """A page, and what went wrong on it."""

    def __init__(self, page) -> None:
        self.page = page
        self.wrong: list[str] = []
        self.asked: set[str] = set()
        page.on("console", lambda told: told.type in ("error", "warning") and self.wrong.append(told.text))
        page.on("pageerror", lambda problem: self.wrong.append(str(problem)))
        page.on("request", lambda request: self.asked.add(request.url.split("/")[2]))
        page.on("dialog", lambda dialog: self.wrong.append(dialog.message))

    def enter(self, url: str):
        """Open the first URL, and wait for the list."""
        self.page.goto(url)
        self.page.wait_for_selector("table.sessions")
        return self.page

    def hold(self) -> None:
        """Fail where something went wrong, left this machine, or ran that is not ours."""
        assert self.wrong == []
        assert {host.split(":")[0] for host in self.asked} == {"127.0.0.1"}
        assert self.page.evaluate("window.evil") is None


@pytest.fixture
def watch(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60_000)
    yield Watch(context.new_page())
    context.close()


def told(page, name):
    return page.locator(f"#{name}").inner_text()


def base(page):
    return page.url.split("?")[0].split("#")[0]


def open_session(page, name):
    page.get_by_role("link", name=name, exact=True).first.click()
    page.wait_for_selector(".message")


# Nothing of a log runs


def test_every_page_of_the_samples_is_quiet_and_stays_on_this_machine(samples, watch):
    page = watch.enter(samples)
    links = page.locator("table.sessions td:first-child a").evaluate_all("all => all.map(each => each.href)")
    for link in links[:8]:
        for path in ("", "/log", "/tree", "/template", "/log/2", "/log/2/difference"):
            page.goto(link + path)
    watch.hold()


def test_no_page_of_the_hostile_run_runs_or_loads_anything(evil, watch):
    page = watch.enter(evil)
    links = page.locator("table.sessions td:first-child a").evaluate_all("all => all.map(each => each.href)")
    assert len(links) == 4
    for link in links:
        for path in ("", "/log", "/tree", "/log/1", "/log/2/difference", "?m=51"):
            answer = page.goto(link + path)
            if answer.status == 404:
                watch.wrong.clear()  # which the browser tells as an error
                continue
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            assert page.evaluate("window.evil") is None
    page.wait_for_timeout(500)
    watch.hold()


def test_a_hostile_text_that_is_looked_for_is_found_and_not_run(evil, watch):
    page = watch.enter(evil)
    page.get_by_role("link", name="Search").click()
    page.fill("#q", "<script>window.evil=1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#hits li a")
    page.locator("#hits li a").first.click()
    page.wait_for_selector("mark.found")
    watch.hold()


def test_a_name_that_leads_to_this_machine_gets_403(samples, watch):
    port = URL.search(samples)[1]
    for query in ("", samples[samples.index("?") :]):
        answer = watch.page.goto(f"http://{EVIL}:{port}/{query}")
        assert answer.status == 403
    assert watch.page.context.cookies() == []


def test_another_site_cannot_frame_or_read_a_page(samples, watch):
    watch.enter(samples)
    port = URL.search(samples)[1]
    other = watch.page.context.new_page()
    other.route("http://site.example/", lambda route: route.fulfill(
        content_type="text/html", body=f"<iframe src='http://127.0.0.1:{port}/'></iframe>"))  # fmt: skip
    other.goto("http://site.example/")
    frame = other.frames[1]
    assert "Sessions" not in frame.content()


# What people do


def test_a_filter_leaves_what_it_says_and_back_brings_all_again(samples, watch):
    page = watch.enter(samples)
    assert told(page, "found") == "85 of 85 rows"
    page.select_option("select[name=format]", "anthropic")
    page.wait_for_url("**/?*format=anthropic*")
    assert told(page, "found") == "3 of 85 rows"
    assert page.url.endswith("/?format=anthropic")
    page.go_back()
    assert told(page, "found") == "85 of 85 rows"
    page.get_by_role("link", name="tokens").click()
    first = page.locator("table.sessions tbody tr").first.locator("td").nth(5).inner_text()
    assert first == "82,098"
    watch.hold()


def test_keys_lead_to_prompts_errors_and_findings_and_fold(samples, watch):
    page = watch.enter(samples)
    open_session(page, "1768212345678901234")
    went = []
    for key in "jjknf":
        page.keyboard.press(key)
        went.append(page.url.rpartition("#")[2])
    assert went == ["m1", "m17", "m1", "m6", "m6"]
    assert page.evaluate("document.activeElement.id") == "m6"
    folded = page.locator(".conversation details")
    page.keyboard.press("u")
    assert page.locator(".conversation details[open]").count() == folded.count() > 5
    page.keyboard.press("z")
    assert page.locator(".conversation details[open]").count() == 0
    watch.hold()


def test_find_counts_in_the_whole_record_and_opens_what_is_folded(samples, watch):
    page = watch.enter(samples)
    open_session(page, "1768212345678901234")
    page.keyboard.press("z")
    page.keyboard.press("/")
    page.keyboard.type("gateway limit")
    page.keyboard.press("Enter")
    page.wait_for_selector("mark.found")
    assert told(page, "find-told") == "1 of 1"
    assert page.locator("mark.found").inner_text() == "gateway limit"
    assert page.locator("mark.found").is_visible()
    assert page.url.endswith("?find=gateway+limit&hit=1#m6")
    page.reload()
    page.wait_for_selector("mark.found")
    assert told(page, "find-told") == "1 of 1"
    page.fill("#find", "zzz nothing")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#find-told")).to_have_text("0 of 0")
    watch.hold()


def test_find_leads_to_messages_that_are_not_drawn(evil, watch):
    page = watch.enter(evil)
    open_session(page, "long")
    page.fill("#find", "answer 1234")
    page.keyboard.press("Enter")
    page.wait_for_selector("mark.found")
    assert told(page, "find-told") == "1 of 1"
    assert page.url.endswith("?m=2469&find=answer+1234&hit=1#m2469")
    page.go_back()
    page.wait_for_selector("#m0")
    watch.hold()


def test_a_search_shows_what_it_finds_and_can_be_stopped(samples, watch):
    page = watch.enter(samples)
    page.get_by_role("link", name="Search").click()
    page.fill("#q", "timeout")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("#told")).to_have_text("4 records say this.")
    assert page.locator("#hits li").count() == 4
    page.route("**/search/stream*", lambda route: None)  # which never answers
    page.fill("#q", "other")
    page.get_by_role("button", name="Search").click(no_wait_after=True)
    page.get_by_role("button", name="Stop").click()
    playwright.expect(page.locator("#told")).to_have_text("Stopped; 0 found so far.")
    assert page.get_by_role("button", name="Stop").is_disabled()


def test_a_line_of_the_log_is_read_when_it_is_unfolded(samples, watch):
    page = watch.enter(samples)
    open_session(page, "1768212345678901234")
    page.get_by_role("link", name="beside its log").click()
    page.locator(".entry summary").nth(1).click()
    page.wait_for_selector(".entry pre")
    playwright.expect(page.locator(".entry pre")).to_contain_text('"trace_id"')
    watch.hold()


def test_copies_go_to_the_clipboard(samples, watch):
    watch.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = watch.enter(samples)
    open_session(page, "1768212345678901234")
    page.get_by_role("button", name="Copy as JSON").click()
    playwright.expect(page.get_by_role("button", name="Copied")).to_be_visible()
    record = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert record["messages"][0]["role"] == "system"
    watch.hold()


def test_an_open_page_says_when_the_result_was_replaced(browser, tmp_path, watch):
    write_log(tmp_path / "logs/a.jsonl", log_line(user("first"), session_id="a"))
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
    with served(tmp_path / "out") as url:
        page = watch.enter(url)
        open_session(page, "a")
        write_log(tmp_path / "logs/b.jsonl", log_line(user("second"), session_id="b"))
        convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
        page.wait_for_selector("#replaced:not([hidden])")
        page.get_by_role("link", name="see what is there now").click()
        assert "2 of 2 rows" in page.content()
        watch.hold()


# Everybody can use it


PAGES = ("", "/log", "/tree", "/template", "/log/3/difference")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_finds_nothing_serious_and_nothing_is_too_wide(samples, browser, scheme, width):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make test-web does so")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = Watch(context.new_page()).enter(samples)
    session = page.locator("table.sessions td:first-child a").first.evaluate("each => each.href")
    for link in (base(page), *(session + path for path in PAGES), session.split("/s/")[0] + "/search"):
        page.goto(link)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")
        serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
        assert [(link, each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, link
    context.close()


def test_the_keyboard_alone_reaches_everything(samples, watch):
    page = watch.enter(samples)
    open_session(page, "1768212345678901234")
    page.keyboard.press("u")
    wanted = page.evaluate("""() => [...document.querySelectorAll('a[href], button:not(:disabled), input, select, summary')]
        .filter(each => each.checkVisibility()).map((each, at) => { each.dataset.number = at; return at; }).length""")
    reached = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.number"))
    assert {str(number) for number in range(wanted)} <= reached
