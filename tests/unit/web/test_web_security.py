"""Sessions, the token and its file, back-off, and what counts as coming from our own pages. No server."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_pages import TOKEN, HeldClock

from socialcrawl.web.security import (
    COOKIE,
    FREE,
    LASTING,
    LONGEST_WAIT,
    Access,
    EndedSessions,
    LoginBackoff,
    LoginSessions,
    PageVisitor,
    choose_next,
    is_same_origin,
    may_change,
    read_token,
)


@pytest.fixture
def clock():
    return HeldClock()


@pytest.fixture
def sessions(clock):
    return LoginSessions(TOKEN, clock, EndedSessions())


def test_the_token_has_32_random_bytes_stays_the_same_and_only_its_owner_can_read_it(tmp_path):
    first = read_token(tmp_path)
    assert len(bytes.fromhex(first)) == 32
    assert read_token(tmp_path) == first
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = tmp_path / "other"
    other.mkdir()
    assert read_token(other) != first


def test_a_token_file_that_was_cut_is_replaced(tmp_path):
    (tmp_path / "ui-token").write_text("abc", "utf-8")
    made = read_token(tmp_path)
    assert len(made) == 64
    assert (tmp_path / "ui-token").read_text("utf-8") == made


def test_a_session_is_known_until_it_is_too_old_and_each_has_its_own_csrf_token(sessions, clock):
    one, two = sessions.begin(), sessions.begin()
    assert sessions.recognize(one).known
    assert sessions.recognize(one).csrf != sessions.recognize(two).csrf
    assert TOKEN not in one
    clock.at += LASTING
    assert not sessions.recognize(one).known


def test_a_session_that_was_ended_is_none_for_all_servers_also_after_a_restart_and_others_stay(tmp_path, clock):
    path = tmp_path / "ended"
    here, beside = (LoginSessions(TOKEN, clock, EndedSessions(path)) for _ in range(2))
    mine, other = here.begin(), here.begin()
    assert beside.recognize(mine).known
    here.end(mine)
    here.end("forged.1800000000.0")
    for sessions in (here, beside, LoginSessions(TOKEN, clock, EndedSessions(path))):
        assert [sessions.recognize(one).known for one in (mine, other)] == [False, True]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text("ascii").split() == [mine.rpartition(".")[0]]
    clock.at += LASTING
    later = here.begin()
    here.end(later)
    assert path.read_text("ascii").split() == [later.rpartition(".")[0]], "what is too old in any case is forgotten"


@pytest.mark.parametrize(
    "path",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "\\\\evil.example",
     "javascript:alert(1)", "evil.example", "", " /", "/a\r\nset-cookie: x=1", "/\n/evil.example", "/é",
     "/" + "a" * 9_000],
)  # fmt: skip
def test_after_logging_in_nobody_is_led_to_another_site(path):
    assert choose_next(path) == "/"


def test_after_logging_in_people_are_where_they_were():
    for path in ("/", "/campaigns/sky-1/edit", "/campaigns/sky-1/search?query=a%20b&topic=all", "/a//b"):
        assert choose_next(path) == path


@given(st.text(max_size=200))
def test_no_other_text_is_a_session_or_the_token(text):
    sessions = LoginSessions(TOKEN, HeldClock(), EndedSessions())
    assert sessions.recognize(text) == PageVisitor()
    assert not sessions.is_token(text)


def test_a_session_of_another_token_or_with_a_letter_changed_is_none(sessions, clock):
    made = sessions.begin()
    assert not LoginSessions("f" * 64, clock, EndedSessions()).recognize(made).known
    for place in range(len(made)):
        other = "0" if made[place] != "0" else "1"
        assert not sessions.recognize(made[:place] + other + made[place + 1 :]).known


def test_wrong_tokens_cost_twice_the_wait_each_time_and_the_right_one_forgets_them(clock):
    backoff = LoginBackoff(clock)
    waits = []
    for _ in range(FREE + 12):
        backoff.fail("10.0.0.1")
        waits.append(backoff.get_wait("10.0.0.1"))
    assert waits[:5] == [0.0, 0.0, 1.0, 2.0, 4.0]
    assert waits[-1] == LONGEST_WAIT
    assert backoff.get_wait("10.0.0.2") == 0.0, "another address is free"
    clock.at += LONGEST_WAIT
    assert backoff.get_wait("10.0.0.1") == 0.0
    backoff.fail("10.0.0.1")
    assert backoff.get_wait("10.0.0.1") == LONGEST_WAIT, "waiting forgets nothing"
    backoff.succeed("10.0.0.1")
    assert backoff.get_wait("10.0.0.1") == 0.0


def test_a_bearer_token_is_known_by_itself_and_a_wrong_one_is_counted_and_waits(sessions, clock):
    access = Access(sessions, LoginBackoff(clock))
    right, wrong = {"authorization": f"Bearer {TOKEN}"}, {"authorization": "Bearer nonsense"}
    assert access.find_visitor(right, "a") == PageVisitor(known=True, by_header=True)
    for _ in range(FREE):
        assert access.find_visitor(wrong, "a") == PageVisitor()
    assert access.find_visitor(right, "a") == PageVisitor(), "also the right one waits"
    clock.at += 1.0
    assert access.find_visitor(right, "a").known


def test_a_change_needs_the_csrf_token_of_its_own_session_or_the_bearer_token(sessions):
    mine, other = (sessions.recognize(sessions.begin()) for _ in range(2))
    assert may_change(mine, mine.csrf)
    assert not may_change(mine, other.csrf)
    assert not may_change(mine, "")
    assert may_change(PageVisitor(known=True, by_header=True), "")
    assert not may_change(PageVisitor(), "")


@pytest.mark.parametrize(
    ("headers", "same"),
    [({}, True), ({"sec-fetch-site": "same-origin", "origin": "null"}, True), ({"sec-fetch-site": "none"}, True),
     ({"sec-fetch-site": "cross-site"}, False), ({"sec-fetch-site": "same-site"}, False),
     ({"origin": "http://127.0.0.1:8002", "host": "127.0.0.1:8002"}, True),
     ({"origin": "http://127.0.0.1:8003", "host": "127.0.0.1:8002"}, False),
     ({"origin": "https://evil.example", "host": "127.0.0.1:8002"}, False)],
)  # fmt: skip
def test_what_other_pages_make_a_browser_send_is_seen(headers, same):
    assert is_same_origin(headers) is same


@pytest.mark.parametrize("header", ["", "a=b", "\x00", f"{COOKIE}=", f"{COOKIE}=a.b.c; other=1", "=;=;", '"'])
def test_a_cookie_header_that_is_nonsense_is_nobody(sessions, clock, header):
    access = Access(sessions, LoginBackoff(clock))
    assert access.find_visitor({"cookie": header}, "a") == PageVisitor()


def test_the_templates_mark_as_html_only_what_is_made_of_elements():
    folder = Path(__file__).parents[3] / "socialcrawl/web/templates"
    texts = {file.name: file.read_text("utf-8") for file in folder.glob("*.html")}
    assert not [name for name, text in texts.items() if "|safe" in text or "autoescape" in text or " style=" in text]
    trusted = [line.strip() for text in texts.values() for line in text.splitlines() if "trusted(" in line]
    assert sorted(trusted) == [
        '<div class="story">{{ trusted(model.report.to_fragment()) }}</div>',
        "{{ trusted(section) }}",
        "{{ trusted(text) }}",
    ]
