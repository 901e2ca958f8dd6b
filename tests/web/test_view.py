"""The viewer in Chromium: nothing of a log runs, nothing leaves the machine, and a reader gets everywhere."""

import json
import re
import shutil

import pytest

from chatsquash import Options, convert
from tests import hostile_logs
from tests.conftest import assistant, log_line, user, write_log
from tests.hostile_logs import ELSEWHERE, SCRIPT
from tests.web.browser import NARROW, ROOT, WIDE, serious, too_wide, unfold, unreached
from tests.web.conftest import Run, served, shown

PAGES = ("", "/log", "/tree", "/template", "/log/3", "/log/3/difference")
"""The pages of a session whose log has three entries."""
LATER = 400
"""Milliseconds after which the page has done what somebody pressed."""
DISK = "1768212345678901234"
"""A session of the sample run."""


def told(page, name):
    return page.locator(f"#{name}").inner_text()


def wait_for(page, name, text):
    page.wait_for_function("([name, text]) => document.getElementById(name).innerText === text", arg=[name, text])


def sessions(page):
    """The sessions of the list: their URLs by the names of their logs, of several in a log that of the last."""
    found = page.locator("table.sessions tbody tr").evaluate_all(
        "all => all.map((each) => [each.lastElementChild.querySelector('[title]').title, each.querySelector('a').href])"
    )
    return {log.rpartition("/")[2]: url for log, url in found}


def title(page, name):
    """The title of a session, by its id."""
    return (
        page.locator("table.sessions tbody tr").filter(has=page.get_by_text(name, exact=True)).first.locator("a.title")
    )


def open_session(page, name):
    title(page, name).click()
    page.wait_for_url("**/s/*")
    page.wait_for_load_state("networkidle")  # facts of replies are requested after the page, and move what follows


def go(page, url):
    """Open a page that is there."""
    assert page.goto(url).status == 200, url


def kinds(page, run):
    """One page of each kind, of a session with calls and findings."""
    found = sessions(page)
    is_hostile = "large.jsonl" in found
    session = next(url for log, url in found.items() if log.startswith("6 " if is_hostile else "disk-alert"))
    result = session.split("/s/")[0]
    word = "hacked" if is_hostile else "timeout"
    others = (run.base, f"{run.base}?text=nothing+is+so", f"{result}/search?q={word}", f"{result}/pairs/1")
    return [*others, *(session + path for path in PAGES)]


def wholly(page, url):
    """Open a page with all that it shows once somebody asks: folds, lines of the log, hits."""
    go(page, url)
    unfold(page)
    if "/search?" in url:
        page.wait_for_selector("#progress", state="hidden")
        assert page.locator("#hits li").count()
    page.wait_for_function("""() => [...document.querySelectorAll("details.entry[data-raw]")].slice(0, 9).every(
        (each) => each.querySelector("pre") && each.querySelector("pre").textContent !== "…")""")


# Nothing of a log runs


def tabs(page):
    """The pages of the session that is shown."""
    return page.eval_on_selector_all("nav.tabs a", "all => all.map((each) => each.href)")


def test_every_page_of_the_samples_is_quiet_and_stays_on_this_machine(samples, viewers):
    with viewers(samples, width=NARROW) as page:
        found = [*sessions(page).values()]
        assert len(found) > 60
        for session in found[::12]:
            go(page, session)
            for url in tabs(page):
                go(page, url)
                unfold(page)
                assert too_wide(page) == [], url


def test_no_page_of_the_hostile_run_runs_or_loads_anything(hostile, viewers):
    with viewers(hostile, width=NARROW) as page:
        found = sessions(page)
        assert len(found) == hostile_logs.SESSIONS
        for log, session in found.items():
            wholly(page, session)
            assert too_wide(page) == [], log
        session = found["all.jsonl"]
        go(page, session)
        for url in (session + path for path in PAGES):
            wholly(page, url)
            assert too_wide(page) == [], url
        go(page, session)
        while (later := page.get_by_role("link", name="Later messages")).count():
            wholly(page, later.evaluate("each => each.href"))
            assert too_wide(page) == [], page.url
        assert page.url.endswith("?m=151")


def test_no_hostile_pair_runs_or_loads_anything(hostile, viewers):
    with viewers(hostile) as page:
        go(page, sessions(page)["large.jsonl"].split("/s/")[0] + "/pairs/1")
        for number in range(2, 8):
            page.get_by_role("link", name="Next pair").click()
            page.wait_for_url(f"**/pairs/{number}")
            unfold(page)
            assert page.locator(".side").count() == 2
            assert too_wide(page) == [], number


def test_the_images_of_a_record_are_shown(hostile, viewers):
    with viewers(hostile) as page:
        go(page, sessions(page)["images.jsonl"])
        assert page.locator("img").count() == 1
        page.wait_for_function("() => document.querySelector('img').naturalWidth === 2")


def test_a_hostile_text_that_is_looked_for_is_found_and_not_run(hostile, viewers):
    with viewers(hostile) as page:
        page.get_by_role("link", name="Search").click()
        page.fill("#q", SCRIPT)
        page.keyboard.press("Enter")
        page.locator("#hits li a").first.click()
        page.locator("mark.found").first.wait_for()
        assert "".join(page.locator("mark.found").first.all_inner_texts()) in SCRIPT
        assert re.fullmatch(r"1 of [\d,]+", told(page, "find-told"))


# Who is let in


def test_who_has_no_token_a_wrong_one_or_another_name_for_this_machine_gets_403(samples, browser):
    context = browser.new_context()
    page = context.new_page()
    other = samples.url.replace("127.0.0.1", ELSEWHERE)
    assert other != samples.url
    for url in (samples.base, f"{samples.base}?token=wrong", other, other.split("?")[0]):
        answer = page.goto(url)
        assert answer.status == 403, url
        assert "Sessions" not in page.content()
    assert context.cookies() == []
    assert page.goto(samples.url).status == 200
    page.wait_for_selector("table.sessions")
    assert page.goto(other.split("?")[0]).status == 403
    context.close()


def test_another_site_cannot_frame_or_read_a_page(samples, browser):
    context = browser.new_context()
    page = context.new_page()
    page.goto(samples.url)
    page.wait_for_selector("table.sessions")
    other = context.new_page()
    inside = f"<iframe src='{samples.base}'></iframe>"
    other.route("http://site.example/", lambda route: route.fulfill(content_type="text/html", body=inside))
    other.goto("http://site.example/")
    assert "Sessions" not in other.frames[1].content()
    read = "url => fetch(url, { credentials: 'include', mode: 'no-cors' }).then(() => 'read', () => 'refused')"
    assert other.evaluate(read, samples.base) == "refused"
    context.close()


# What people do


def test_a_filter_leaves_what_it_says_and_back_brings_all_again(samples, viewers):
    with viewers(samples) as page:
        assert told(page, "found") == "85 of 85 sessions, 79 of 79 records"
        page.select_option("select[name=format]", "anthropic")
        page.wait_for_url("**/?format=anthropic")
        assert told(page, "found") == "3 of 85 sessions, 3 of 79 records"
        page.go_back()
        assert told(page, "found") == "85 of 85 sessions, 79 of 79 records"
        page.get_by_role("link", name="tokens").click()
        page.wait_for_url("**sort=-tokens*")
        column = page.locator("table.sessions tbody td[data-name=tokens]").all_inner_texts()
        counts = [int(each.replace(",", "")) for each in column if each]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 80_000


def test_filters_apply_as_somebody_types_and_are_in_the_url(samples, viewers):
    with viewers(samples) as page:
        page.locator("input[name=text]").press_sequentially("disk-alert")
        wait_for(page, "found", "1 of 85 sessions, 1 of 79 records")
        assert page.locator("table.sessions tbody tr").count() == 1
        assert page.evaluate("location.search") == "?text=disk-alert"
        assert page.evaluate("document.activeElement.name") == "text"
        open_session(page, DISK)
        page.go_back()
        assert told(page, "found") == "1 of 85 sessions, 1 of 79 records"
        assert page.input_value("input[name=text]") == "disk-alert"
        page.fill("input[name=text]", "")
        wait_for(page, "found", "85 of 85 sessions, 79 of 79 records")
        assert page.evaluate("location.search") == ""
        page.fill("input[name=turns]", "4")
        page.wait_for_url("**/?turns=4")


def test_a_filter_follows_a_result_that_replaced_the_one_on_the_page(browser, viewers, tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line(user("first"), session_id="a"))
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
    with served(tmp_path / "out") as (url, base), viewers(Run("", url, base)) as page:
        write_log(tmp_path / "logs/b.jsonl", log_line(user("second"), session_id="b"))
        convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
        page.fill("input[name=text]", "b.jsonl")
        page.wait_for_url("**/?text=b.jsonl")
        page.get_by_text("1 of 2 sessions, 1 of 2 records").wait_for()


def test_sessions_are_cards_on_a_phone(samples, viewers):
    with viewers(samples, width=NARROW) as page:
        card = title(page, DISK).locator("xpath=ancestor::tr")
        box = card.bounding_box()
        for cell in card.locator("td:visible").all():
            inner = cell.bounding_box()
            assert box["x"] <= inner["x"]
            assert inner["x"] + inner["width"] <= box["x"] + box["width"]
        names = card.locator("td").evaluate_all("all => all.map((each) => getComputedStyle(each, '::before').content)")
        assert names[1:4] == ['"agent"', '"model"', '"began"']
        assert too_wide(page) == []


def test_sub_agents_unfold_below_their_session(browser, viewers, tmp_path):
    golden = ROOT / "tests/golden/claude_code/a_sub_agent_in_a_folder_of_its_session/logs"
    shutil.copytree(golden, tmp_path / "logs")
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False, conversations="all"))
    with served(tmp_path / "out") as (url, base), viewers(Run("", url, base)) as page:
        assert page.locator(".children a").is_hidden()
        page.get_by_text("1 sub-agent").click()
        page.locator(".children a").click()
        page.wait_for_url("**/s/0")


TOKEN = "ghp_x7Tq9VbN2mKd8RwZ4LcJ6yHs1PfG3eAu0BtQ"
PROMPT = f"# Fix it\n\nUse `{TOKEN}`, **then** see [this](https://example.com/a).\n\n|a|b|\n|-|-|\n|{'x' * 300}|2|"


@pytest.fixture(scope="module")
def edited(browser, tmp_path_factory):
    """A session with Markdown, a secret and an edit, whose second try is in a record of its own, and another one."""
    folder = tmp_path_factory.mktemp("edited")
    edit = json.dumps({"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"})
    call = {"id": "c", "type": "function", "function": {"name": "Edit", "arguments": edit}}
    result = {"role": "tool", "tool_call_id": "c", "content": "done"}
    first = assistant("**Now.**", tool_calls=[call])
    lines = [log_line(PROMPT, reply=first, session_id="a")]
    lines += [log_line(PROMPT, first, result, text, reply=f"to {text}", session_id="a") for text in ("one", "two")]
    for line in lines:
        line["response"] |= {"model": "m-1", "usage": {"prompt_tokens": 7, "completion_tokens": 5}}
    write_log(folder / "logs/a.jsonl", *lines)
    write_log(folder / "logs/b.jsonl", log_line("another", session_id="b"))
    with shown(folder, Options(anonymize=False, conversations="all")) as run:
        yield run


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_a_conversation_is_rendered_with_its_edits_secrets_and_facts(edited, viewers, width):
    with viewers(edited, width=width) as page:
        title(page, "a").click()
        page.wait_for_url("**/s/*")
        page.locator(".logged").first.wait_for()
        assert page.locator(".logged").all_inner_texts() == ["2026-01-13 10:00:00, m-1, 7 tokens in, 5 tokens out"] * 2
        assert page.locator("#m0 .markdown .h1").inner_text() == "Fix it"
        assert page.locator("#m0 .markdown td").nth(1).inner_text() == "2"
        link = page.locator("#m0 .markdown a")
        assert (link.get_attribute("href"), link.get_attribute("rel")) == (
            "https://example.com/a",
            "noopener noreferrer nofollow",
        )
        assert page.locator("#m1 pre.edit .added").inner_text() == "+x = 2"
        assert page.locator("#m1 pre.edit .removed").is_visible()
        assert page.locator(".training").count() == 2
        red = page.locator("#m0 mark.secret")
        assert red.inner_text() == TOKEN
        assert red.evaluate("each => getComputedStyle(each).color") == "rgb(164, 14, 38)"
        assert too_wide(page) == []
        assert serious(page) == []


def test_find_counts_and_marks_in_rendered_texts(edited, viewers):
    with viewers(edited) as page:
        open_session(page, "a")
        page.fill("#find", "then")
        page.keyboard.press("Enter")
        wait_for(page, "find-told", "1 of 1")
        assert page.locator(".markdown mark.found").all_inner_texts() == ["then"]
        page.fill("#find", "x = 2")
        page.keyboard.press("Enter")
        page.locator("mark.found", has_text="x = 2").wait_for()
        assert told(page, "find-told") == "1 of 1"
        assert page.locator("mark.found").count() == 1


def test_texts_are_shown_as_they_are_written_on_request(edited, viewers):
    with viewers(edited) as page:
        open_session(page, "a")
        page.get_by_role("link", name="As written").click()
        page.wait_for_url("**as=written*")
        assert page.locator("#m0 pre.said").inner_text().startswith("# Fix it")
        page.get_by_role("link", name="Rendered", exact=True).click()
        page.locator("#m0 .markdown").wait_for()


def test_brackets_lead_to_the_sessions_around_in_the_list_that_is_filtered(edited, viewers):
    with viewers(edited) as page:
        page.fill("input[name=text]", ".jsonl")
        page.wait_for_url("**/?text=.jsonl")
        open_session(page, "b")
        page.keyboard.press("[")
        page.wait_for_url("**/s/1?*")
        page.keyboard.press("[")
        page.wait_for_url("**/s/0?*")
        page.keyboard.press("]")
        page.wait_for_url("**/s/1?*")
        page.get_by_role("link", name="All matches").click()
        page.wait_for_url("**/?text=.jsonl")


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_tree_is_drawn_and_each_path_leads_to_its_record(edited, viewers, width):
    with viewers(edited, width=width) as page:
        open_session(page, "a")
        page.get_by_role("link", name="tree", exact=True).click()
        page.wait_for_url("**/tree")
        paths = page.locator(".tree .path")
        assert sorted(paths.all_inner_texts()) == ["branch", "main"]
        boxes = {name: page.locator(f".tree .{name}").bounding_box() for name in ("main", "branch")}
        assert boxes["branch"]["x"] > boxes["main"]["x"]
        assert page.locator(".tree svg rect").count() == 3
        assert too_wide(page) == []
        other = page.locator(".tree .path:not([aria-current])")
        to = other.get_attribute("href")
        other.click()
        page.wait_for_url(f"**{to}")
        assert page.locator(".conversation .message").count() > 2


def test_keys_lead_to_prompts_errors_and_findings_and_fold(samples, viewers):
    with viewers(samples) as page:
        open_session(page, DISK)
        went = []
        for key in "jjknf":
            page.keyboard.press(key)
            went.append(page.evaluate("location.hash.slice(1)"))
        assert went == ["m1", "m17", "m1", "m6", "m6"]
        assert page.evaluate("document.activeElement.id") == "m6"
        folded = page.locator(".conversation details")
        page.keyboard.press("u")
        assert page.locator(".conversation details[open]").count() == folded.count() > 5
        page.keyboard.press("z")
        assert page.locator(".conversation details[open]").count() == 0


@pytest.fixture(scope="module")
def asked(browser, tmp_path_factory):
    """A session of several pages, whose every prompt says the same, and which ends with a failed call."""
    folder = tmp_path_factory.mktemp("asked")
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    messages = [each for at in range(40) for each in (user(f"question {at}"), assistant(f"answer {at}"))]
    messages += [
        assistant(None, tool_calls=[call]),
        {"role": "tool", "tool_call_id": "c", "content": "Error: it failed"},
    ]
    write_log(folder / "logs/a.jsonl", log_line(*messages, reply="done", session_id="a"))
    with shown(folder, Options(anonymize=False)) as run:
        yield run


def at(page):
    """The message that the URL names, once it has the focus."""
    page.wait_for_function("document.activeElement.id === location.hash.slice(1)")
    return page.url.rpartition("#m")[2]


def test_keys_go_on_from_the_message_that_they_led_to_on_another_page(asked, viewers):
    with viewers(asked) as page:
        open_session(page, "a")
        go(page, f"{page.url}?m=46#m46")
        went = [at(page)]
        for key in "jjjnk":
            page.keyboard.press(key)
            if went[-1] == "48":
                page.wait_for_url("**/s/*?m=50#m50")
                page.wait_for_load_state()
            went.append(at(page))
        assert went == ["46", "48", "50", "52", "80", "78"]
        assert told(page, "keys-told") == "prompt 40 of 40"
        words = [("j", "no later prompt"), ("n", "error 1 of 2"), ("f", "finding 2 of 2"), ("f", "no later finding")]
        for key, word in words:
            page.keyboard.press(key)
            wait_for(page, "keys-told", word)


def test_back_leads_to_the_place_before_each_jump(asked, viewers):
    with viewers(asked) as page:
        open_session(page, "a")
        session = page.url
        for key in "jj":
            page.keyboard.press(key)
        page.fill("#find", "question 2")
        for _ in range(3):
            page.keyboard.press("Enter")
            page.wait_for_timeout(LATER)
        places = []
        for _ in range(6):
            places.append((told(page, "find-told"), page.url.removeprefix(session)))
            page.go_back()
            page.wait_for_timeout(LATER)
        query = "?find=question+2&hit="
        assert places == [
            ("3 of 11", f"{query}3#m42"),
            ("2 of 11", f"{query}2#m40"),
            ("1 of 11", f"{query}1#m4"),
            ("", "#m2"),
            ("", "#m0"),
            ("", ""),
        ]
        assert page.locator(".now, mark.found").count() == 0


def test_enter_goes_on_with_hits_on_other_pages(asked, viewers):
    with viewers(asked) as page:
        open_session(page, "a")
        go(page, f"{page.url}?find=answer&hit=24#m47")
        wait_for(page, "find-told", "24 of 40")
        for hit in range(25, 28):
            page.keyboard.press("Enter")
            wait_for(page, "find-told", f"{hit} of 40")
            assert page.evaluate("document.activeElement.id") == "find"
        page.keyboard.press("Shift+Enter")
        wait_for(page, "find-told", "26 of 40")
        assert page.url.endswith("?find=answer&hit=26&m=51#m51")


def test_find_counts_in_the_whole_record_and_opens_what_is_folded(samples, viewers):
    with viewers(samples) as page:
        open_session(page, DISK)
        page.keyboard.press("z")
        page.keyboard.press("/")
        page.keyboard.type("gateway limit")
        page.keyboard.press("Enter")
        wait_for(page, "find-told", "1 of 1")
        assert page.locator("mark.found").inner_text() == "gateway limit"
        assert page.locator("mark.found").is_visible()
        assert page.evaluate("location.search + location.hash") == "?find=gateway+limit&hit=1#m6"
        page.reload()
        wait_for(page, "find-told", "1 of 1")
        page.fill("#find", "zzz nothing")
        page.keyboard.press("Enter")
        wait_for(page, "find-told", "0 of 0")


def test_find_leads_to_messages_that_are_not_drawn(hostile, viewers):
    with viewers(hostile) as page:
        open_session(page, "long")
        page.fill("#find", "answer 1234")
        page.keyboard.press("Enter")
        page.wait_for_url("**/s/*?m=2469&find=answer+1234&hit=1#m2469")
        wait_for(page, "find-told", "1 of 1")
        assert page.locator("mark.found").inner_text() == "answer 1234"
        page.go_back()
        page.wait_for_selector("#m0")


def test_a_search_shows_what_it_finds_and_can_be_stopped(samples, viewers):
    with viewers(samples) as page:
        page.get_by_role("link", name="Search").click()
        page.fill("#q", "timeout")
        page.keyboard.press("Enter")
        wait_for(page, "told", "4 records say this.")
        assert page.locator("#hits li").count() == 4
        page.route("**/search/stream*", lambda route: None)  # which never answers
        page.fill("#q", "other")
        page.get_by_role("button", name="Search").click(no_wait_after=True)
        page.get_by_role("button", name="Stop").click()
        wait_for(page, "told", "Stopped; 0 found so far.")
        assert page.get_by_role("button", name="Stop").is_disabled()


def test_a_line_of_the_log_is_read_when_it_is_unfolded(samples, viewers):
    with viewers(samples) as page:
        open_session(page, DISK)
        page.get_by_role("link", name="with its log").click()
        page.locator(".entry summary").nth(1).click()
        page.locator(".entry pre", has_text='"trace_id"').wait_for()


def test_both_replies_of_a_pair_stand_side_by_side(samples, viewers):
    with viewers(samples) as page:
        page.get_by_role("link", name="Preference pairs").click()
        page.wait_for_url("**/pairs/1")
        page.wait_for_load_state()
        boxes = [page.locator(".side", has_text=name).bounding_box() for name in ("chosen", "rejected")]
        assert boxes[0]["y"] == boxes[1]["y"]
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        assert [page.locator(".side h2").nth(at).inner_text() for at in (0, 1)] == ["chosen", "rejected"]
        assert page.locator(".side .assistant").count() >= 2
        assert page.locator("[id^=prompt-]").first.is_visible()


def test_copies_go_to_the_clipboard(samples, viewers):
    with viewers(samples) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        open_session(page, DISK)
        page.get_by_role("button", name="Copy as JSON").click()
        page.get_by_role("button", name="Copied").wait_for()
        record = json.loads(page.evaluate("navigator.clipboard.readText()"))
        assert record["messages"][0]["role"] == "system"


def test_an_open_page_says_when_the_result_was_replaced(browser, viewers, tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line(user("first"), session_id="a"))
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
    with served(tmp_path / "out") as (url, base), viewers(Run("", url, base)) as page:
        page.clock.install()
        open_session(page, "a")
        page.wait_for_load_state("networkidle")  # the facts of replies are asked for after the page
        write_log(tmp_path / "logs/b.jsonl", log_line(user("second"), session_id="b"))
        convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
        page.clock.fast_forward(6_000)
        page.get_by_role("link", name="see what is there now").click()
        page.get_by_text("2 of 2 sessions, 2 of 2 records").wait_for()


def test_on_paper_a_conversation_has_no_folds_and_no_bars(samples, viewers):
    with viewers(samples, color_scheme="dark") as page:
        open_session(page, DISK)
        page.keyboard.press("z")
        page.emulate_media(media="print")
        texts = page.locator(".conversation pre")
        assert page.locator(".conversation pre:visible").count() == texts.count() > 10
        assert page.locator("nav:visible, form:visible, button:visible").count() == 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        go(page, page.url.split("#")[0] + "/log")
        boxes = [
            page.locator(".side").nth(at).evaluate("each => [each.scrollHeight, each.clientHeight]") for at in (0, 1)
        ]
        assert [height for height, _ in boxes] == [shown for _, shown in boxes]


# Everybody can use it


def test_the_keyboard_alone_reaches_everything(either, viewers):
    with viewers(either) as page:
        for url in kinds(page, either):
            wholly(page, url)
            assert unreached(page) == [], url


def test_the_keyboard_alone_leads_from_the_list_to_what_a_tool_said(samples, viewers):
    with viewers(samples) as page:
        link = title(page, DISK)
        for _ in range(200):
            page.keyboard.press("Tab")
            if link.evaluate("each => each === document.activeElement"):
                break
        page.keyboard.press("Enter")
        page.wait_for_url("**/s/*")
        page.wait_for_load_state()
        fold = page.locator(".message details.call").first
        for _ in range(200):
            page.keyboard.press("Tab")
            if fold.evaluate("each => each.querySelector('summary') === document.activeElement"):
                break
        page.keyboard.press("Enter")
        assert fold.evaluate("each => each.open")
        assert fold.locator("pre").is_visible()


@pytest.mark.parametrize("width", [NARROW, 1000, WIDE])
@pytest.mark.parametrize("path", ["", "/log"])
def test_what_is_gone_to_stands_below_the_bar_that_stays(samples, viewers, path, width):
    with viewers(samples, width=width) as page:
        open_session(page, DISK)
        url = page.url
        page.goto("about:blank")
        go(page, f"{url}{path}#m17")
        for key, message in {"": "m17", "k": "m1", "n": "m6"}.items():
            if key:
                page.keyboard.press(key)
            top = page.locator(f"#{message}").bounding_box()["y"]
            bar = page.locator(".toolbar").bounding_box()
            assert max(0, bar["y"] + bar["height"]) <= top < 500, (key, message)


def test_what_has_the_focus_does_not_stand_behind_the_bar_that_stays(samples, viewers):
    with viewers(samples) as page:
        open_session(page, DISK)
        page.keyboard.press("u")
        # A key would scroll over several frames, which move the page while the focus moves.
        page.evaluate("scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })")
        page.locator(".message summary").last.focus()
        hidden = []
        for _ in range(page.locator(".message summary, .message a").count() - 1):
            page.keyboard.press("Shift+Tab")
            hidden += page.evaluate("""() => {
              const each = document.activeElement;
              const { left, top, bottom } = each.getBoundingClientRect();
              const bar = document.querySelector(".toolbar");
              const isBehind = !bar.contains(each) && bottom <= bar.getBoundingClientRect().bottom && top >= 0;
              return isBehind ? [each.outerHTML.slice(0, 100)] : [];
            }""")
        assert hidden == []


def test_axe_finds_nothing_serious_and_no_page_scrolls_sideways(either, viewers):
    with viewers(either) as page:
        for url in kinds(page, either):
            wholly(page, url)
            for width in (WIDE, NARROW):
                page.set_viewport_size({"width": width, "height": 800})
                assert serious(page) == [], (url, width)
            assert too_wide(page) == [], url
