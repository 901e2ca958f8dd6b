"""Who is let in, and with which headers everybody is answered."""

import pytest
from starlette.testclient import TestClient

from chatsquash.view.app import app
from chatsquash.view.guard import DATA_POLICY, POLICY, Keys
from chatsquash.view.logs import Viewer
from tests.conftest import cases
from tests.view.conftest import BASE, Reader

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@pytest.fixture
def keys():
    return Keys()


@pytest.fixture
def stranger(samples, keys):
    return TestClient(app(Viewer(samples), keys), base_url=BASE)


@pytest.mark.parametrize("path", ["/", "/state", "/static/page.js", "/r/x/s/0", "/r/x/search/stream?q=a", "/nowhere"])
def test_nobody_without_the_cookie_gets_anything(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "printed by chatsquash view" in answer.text


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 43])
def test_a_wrong_token_gives_no_cookie(stranger, token):
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_gives_a_cookie_that_only_this_site_gets_and_no_script_reads(stranger, keys):
    answer = stranger.get("/", params={"token": keys.token})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert cookie == f"{keys.name}={keys.cookie}; Path=/; HttpOnly; SameSite=Strict"
    assert keys.token not in cookie
    assert keys.token not in answer.text
    assert stranger.get("/").status_code == 200


def test_the_token_works_on_the_first_page_alone(stranger, keys):
    assert stranger.get("/state", params={"token": keys.token}).status_code == 403


def test_the_token_that_a_browser_is_started_with_lets_in_once(stranger, keys):
    once = keys.once
    assert stranger.get("/", params={"token": once}).status_code == 200
    assert stranger.get("/", params={"token": once}).status_code == 403


@cases(
    "host",
    "evil.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "127.0.0.1:8000.evil.example",
    "localhost:x",
    "",
    "[::2]",
)
@pytest.mark.parametrize("with_token", [False, True])
def test_another_host_is_refused_even_with_the_keys(stranger, keys, host, with_token):
    stranger.get("/", params={"token": keys.token})
    params = {"token": keys.token} if with_token else {}
    cookie = {"cookie": f"{keys.name}={keys.cookie}"}
    answer = stranger.get("/", params=params, headers={"host": host, **cookie})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9999", "LOCALHOST", "[::1]:8000", "[::1]"])
def test_the_names_of_loopback_are_taken_at_any_port_since_ssh_may_forward_another(stranger, keys, host):
    cookie = {"cookie": f"{keys.name}={keys.cookie}"}
    assert stranger.get("/state", headers={"host": host, **cookie}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_sent(sample_reader, method):
    assert sample_reader.client.request(method, "/").status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_or_port_gets_nothing(sample_reader, site):
    assert sample_reader.client.get("/state", headers={"sec-fetch-site": site}).status_code == 403
    assert sample_reader.client.get("/state", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_two_viewers_of_one_machine_do_not_take_each_others_cookies(samples):
    one, other = Reader(samples), Reader(samples)
    assert one.keys.name != other.keys.name
    held = f"{one.keys.name}={one.keys.cookie}; {other.keys.name}={other.keys.cookie}"
    for reader in (one, other):
        assert reader.client.get("/state", headers={"cookie": held}).status_code == 200
    swapped = f"{one.keys.name}={other.keys.cookie}"
    assert TestClient(one.client.app, base_url=BASE).get("/", headers={"cookie": swapped}).status_code == 403


@cases(
    "other",
    'other={"a": "b"}',
    "=",
    "x",
    "a=b=c",
    "n\u00e4me=\u00e4",
    '"',
    "{ours}=x",
    "{ours}",
    "$Version=1",
    'a="b;c"',
)
def test_cookies_of_others_do_not_hide_ours(sample_reader, other):
    keys = sample_reader.keys
    told, ours = other.replace("{ours}", keys.name), f"{keys.name}={keys.cookie}"
    client = TestClient(sample_reader.client.app, base_url=BASE)
    for header, status in ((f"{told}; {ours}", 200), (f"{ours};{told}", 200), (f"{told}; {ours}x", 403), (told, 403)):
        assert client.get("/state", headers={"cookie": header.encode("latin-1")}).status_code == status


@pytest.mark.parametrize("path", ["/", "/state", "/nowhere", "/static/view.css", "/static/../guard.py"])
def test_every_answer_has_the_headers(sample_reader, path):
    answer = sample_reader.get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    is_page = answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"] == (POLICY if is_page else DATA_POLICY)


def test_a_refusal_has_the_headers_too(stranger):
    answer = stranger.get("/")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["content-security-policy"] == POLICY


def test_the_policy_lets_no_script_run_but_files_of_ours():
    told = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert told["default-src"] == "'none'"
    assert told["script-src"] == told["style-src"] == told["img-src"] == "'self'"
    assert told["base-uri"] == told["frame-ancestors"] == "'none'"
    assert "unsafe" not in POLICY


@pytest.mark.parametrize("name", ["x.js", "..%2fguard.py", "static/page.js", "__init__.py"])
def test_only_files_of_ours_are_sent(sample_reader, name):
    assert sample_reader.get(f"/static/{name}").status_code == 404


def test_an_error_says_nothing_of_itself_on_the_page(samples, monkeypatch):
    from chatsquash.view import app as module

    def fail(*_):
        raise RuntimeError("<script>secret")

    monkeypatch.setattr(module, "select_sessions", fail)
    reader = Reader(samples)
    client = TestClient(app(reader.viewer, reader.keys), base_url=BASE, raise_server_exceptions=False)
    client.get("/", params={"token": reader.keys.token})
    answer = client.get("/")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["content-security-policy"] == POLICY
