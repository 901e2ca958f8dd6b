"""A report in Chromium: nothing of a log runs, nothing leaves the machine, and a reader gets everywhere."""

import re

import pytest

from chatsquash import Options, convert
from chatsquash.pages.report import report
from tests.conftest import log_line, write_log
from tests.web.browser import NARROW, WIDE, serious, too_wide, unfold, unreached, watched


def told(page, name):
    return page.locator(f"#{name}").inner_text()


def after(page, name, act):
    """What is told once something was done, which the page does a moment later."""
    before = told(page, name)
    act()
    page.wait_for_function("([name, old]) => document.getElementById(name).innerText !== old", arg=[name, before])
    return told(page, name)


def open_some(page):
    """Open what has a fold but for all sessions: of these two that have a conversation, with all that is in them."""
    for inside in ("figure", ".keys"):
        unfold(page, inside)
    page.eval_on_selector_all("#f-rows > details", "all => all.slice(0, 3).forEach((each) => { each.open = true; })")
    page.eval_on_selector_all(
        "details.session:has(.message)", "all => all.slice(0, 2).forEach((each) => { each.open = true; })"
    )
    unfold(page, "details.session[open]")


def test_all_of_it_unfolded_runs_and_loads_nothing(either, reports):
    with reports(either) as page:
        unfold(page)
        page.keyboard.press("End")
        page.wait_for_timeout(200)
        assert page.evaluate("document.scripts.length") == 1
        assert page.title().startswith("chatsquash report: ")
        assert page.locator("img, iframe, object, embed, link, base, math").count() == 0


def test_findings_are_filtered_and_counted(samples, reports):
    with reports(samples) as page:
        total = int(told(page, "f-count").split()[2])
        assert told(page, "f-count") == f"{total} of {total} findings"
        rows = page.locator("#f-rows tbody tr:visible")
        shown = after(page, "f-count", lambda: page.select_option("#f-severity", "error"))
        assert shown == f"{rows.count()} of {total} findings"
        assert 0 < rows.count() < total
        after(page, "f-count", lambda: page.select_option("#f-severity", ""))
        option = page.locator("#f-code option").nth(1)
        code = option.get_attribute("value")
        after(page, "f-count", lambda: page.select_option("#f-code", code))
        groups = page.locator("#f-rows > details:visible")
        assert {group.get_attribute("data-code") for group in groups.all()} == {code}
        assert option.inner_text() == f"{code} ({rows.count()})"
        assert after(page, "f-count", lambda: page.fill("#f-text", "no such finding")) == f"0 of {total} findings"
        assert groups.count() == 0


def test_findings_are_folded_until_they_are_filtered(samples, reports):
    with reports(samples) as page:
        groups = page.locator("#f-rows > details")
        assert groups.count() > 5
        assert page.locator("#f-rows > details[open]").count() == 0
        after(page, "f-count", lambda: page.select_option("#f-severity", "error"))
        shown = page.locator("#f-rows > details:visible")
        assert shown.count() == page.locator("#f-rows > details[open]").count() > 0
        after(page, "f-count", lambda: page.select_option("#f-severity", ""))
        assert page.locator("#f-rows > details[open]").count() == 0
        assert shown.count() == groups.count()


def test_a_thing_to_do_first_leads_to_its_findings(samples, reports):
    with reports(samples) as page:
        link = page.locator(".first a").first
        group = page.locator(link.get_attribute("href"))
        link.click()
        page.wait_for_function("each => each.open", arg=group.element_handle())
        assert group.locator("tbody tr").first.is_visible()
        assert 1 <= page.locator(".first li").count() <= 5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_secrets_are_red_in_light_and_dark(browser, tmp_path, scheme):
    write_log(tmp_path / "logs/a.jsonl", log_line("export DB_PASSWORD=kettle9drum"))
    convert(tmp_path / "logs", tmp_path / "out", Options(workers=1))
    url = report(tmp_path / "out").as_uri()
    with watched(browser, url, color_scheme=scheme) as watch:
        watch.page.goto(url)
        for shown in (".first .secret", "#f-rows .secret"):
            colour = watch.page.locator(shown).first.evaluate("each => getComputedStyle(each).borderTopColor")
            red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
            assert red > green + 50
            assert red > blue + 50


def test_a_page_with_room_for_some_findings_says_how_many_the_result_has(browser, tmp_path):
    write_log(tmp_path / "logs/a.jsonl", *[log_line("one")] * 3, *["no JSON"] * 2_000)
    convert(tmp_path / "logs", tmp_path / "out", Options(workers=1, on_invalid="keep"))
    url = report(tmp_path / "out").as_uri()
    with watched(browser, url) as watch:
        page = watch.page
        page.goto(url)
        held = page.locator("#f-rows tbody tr").count()
        option = page.locator("#f-code option[value=bad-line]")
        assert option.inner_text() == "bad-line (2,000)"
        assert told(page, "f-count").startswith(f"{held:,} of 2,00")
        shown = after(page, "f-count", lambda: page.select_option("#f-code", "bad-line"))
        rows = page.locator("#f-rows tbody tr:visible").count()
        assert shown == f"{rows:,} of 2,000 findings are on this page"
        shown = after(page, "f-count", lambda: page.fill("#f-text", "not a JSON object"))
        assert shown == f"{rows:,} of {held:,} findings on this page"


@pytest.mark.parametrize(("name", "word"), [("samples", "linkwalk"), ("hostile", "<script>window.hacked")])
def test_search_finds_and_opens_what_is_folded(request, reports, name, word):
    with reports(request.getfixturevalue(name)) as page:
        found = after(page, "q-count", lambda: page.fill("#q", word))
        assert re.search(r"^[\d,]+ of [\d,]+ sessions, (1 match|[\d,]+ matches)$", found)
        page.press("#q", "Enter")
        assert re.search(r"^[\d,]+ of [\d,]+ sessions, match 1 of [\d,]+$", told(page, "q-count"))
        hit = page.evaluate("""() => {
          const [range] = CSS.highlights.get("here");
          const { top, bottom } = range.getBoundingClientRect();
          const isVisible = range.startContainer.parentElement.checkVisibility();
          return { text: range.toString(), isVisible, isInside: top >= 0 && bottom <= innerHeight };
        }""")
        assert hit == {"text": hit["text"], "isVisible": True, "isInside": True}
        assert hit["text"].lower() == word
        assert after(page, "q-count", lambda: page.fill("#q", "no session says this")).startswith("0 of ")
        assert page.locator("details.session:visible").count() == 0


def test_the_keyboard_alone_reaches_everything(either, reports):
    with reports(either) as page:
        assert unreached(page) == []
        open_some(page)
        assert unreached(page) == []


def test_keys_lead_through_sessions_and_fold(either, reports):
    with reports(either) as page:
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        first = page.locator("details.session").first
        assert page.evaluate("document.activeElement.closest('details.session').id") == first.get_attribute("id")
        page.keyboard.press("Enter")
        assert first.evaluate("each => each.open")
        page.keyboard.press("u")
        assert first.evaluate("each => [...each.querySelectorAll('details')].every((fold) => fold.open)")
        for key, focused in {"/": "q", "f": "f-text"}.items():
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.id") == focused
            page.keyboard.press("Escape")
        page.get_by_text("Keyboard shortcuts", exact=True).click()
        page.get_by_label("Enable single-key shortcuts").uncheck()
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.id") == "keys"


def test_a_link_opens_what_is_folded(either, reports):
    with reports(either) as page:
        last = page.locator("details.session:has(article[id])").last
        assert not last.evaluate("each => each.open")
        last.evaluate("each => { location.hash = each.querySelector('article[id]').id; }")
        page.wait_for_function("each => each.open", arg=last.element_handle())
        assert page.evaluate("document.querySelector(':target').checkVisibility()")


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_axe_finds_nothing_serious(either, reports, width):
    with reports(either, width=width) as page:
        page.eval_on_selector_all(
            "details.session, #f-rows tr", "all => all.slice(60).forEach((each) => each.remove())"
        )
        open_some(page)
        assert serious(page) == []


def test_no_width_needs_scrolling_sideways(either, reports):
    with reports(either) as page:
        unfold(page)
        for width in (NARROW, 800, WIDE, 1600):
            page.set_viewport_size({"width": width, "height": 800})
            assert too_wide(page) == [], width


def test_on_paper_what_is_open_has_no_folds_and_what_works_on_a_screen_alone_is_left_out(either, reports):
    with reports(either, width=700, color_scheme="dark") as page:
        page.emulate_media(media="print")
        session = page.locator("details.session:has(.message details:not([open]))").first
        texts = session.locator(".conversation pre")
        assert texts.count() > 1
        assert page.locator("details.session .message:visible").count() == 0
        session.evaluate("each => { each.open = true; }")
        assert session.locator(".conversation details:not([open])").count() > 0
        assert session.locator(".conversation pre:visible").count() == texts.count()
        assert page.locator("form:visible, nav:visible, .keys:visible, button:visible").count() == 0
        assert page.locator("figure svg:visible").count() == page.locator("figure svg").count() > 3
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert too_wide(page) == []
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_scripts_all_of_it_is_there(samples, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(samples.report)
    assert page.locator("details.session > summary:visible").count() == 50
    assert page.locator("form:visible").count() == 0
    session = page.locator("details.session:has(.message)").first
    session.locator("summary").first.click()
    assert session.locator(".message").first.is_visible()
    context.close()
