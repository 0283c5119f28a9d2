"""The list of ids of a capture: each is asked for until an answer came, whatever the groups, failures and restarts."""

from hypothesis import given
from hypothesis import strategies as st

from socialcrawl.crawls.capture.crawl import Capture
from socialcrawl.crawls.capture.rules import CaptureRules
from socialcrawl.crawls.seeds import TRIES
from socialcrawl.engine.model import ID_LIST, Act, Node, Outcome, Pick, Reason, Stop, StopKind
from socialcrawl.engine.positions import parse_positions, write_positions

NEVER = CaptureRules(float(2**62))
FATES = st.sampled_from(["all", "part", "none"])


def bring(crawl, begin, end, width):
    """Import the positions from `begin` to before `end` into a crawl."""
    pick = Pick(crawl.picks, ID_LIST, Act.IMPORT, since=write_positions(begin, end))
    return (pick,), [Outcome(pick.n, ID_LIST, 0.0, mark=str(width))]


def answer(pick, fate):
    """The outcome of a pick whose ids were all answered about, the first of them, or none."""
    begin, end = parse_positions(pick.since)
    if fate == "none" or (fate == "part" and end - begin == 1):
        return Outcome(pick.n, ID_LIST, 1.0, missing=Reason.TEMPORARY), set()
    reached = begin + (end - begin) // 2 if fate == "part" else end
    mark = str(reached) if reached < end else ""
    return Outcome(pick.n, ID_LIST, 1.0, posts=reached - begin, mark=mark), set(range(begin, reached))


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.integers(1, 25),
    st.integers(1, 5),
    st.lists(FATES, max_size=120),
)
def test_every_id_is_answered_about_once_or_was_tried_often_enough(imports, width, size, fates):
    crawl, position, history = Capture(NEVER, (), 1), 0, []
    waiting, left = list(imports), list(fates)
    answered, tried = [], {}
    while waiting or not isinstance(crawl.choose(size, 0.0), Stop):
        if waiting:  # one more list comes, perhaps while others are worked on
            history.append(bring(crawl, position, position + waiting[0], width))
            position += waiting.pop(0)
            crawl.absorb(*history[-1])
        batch = crawl.choose(size, 0.0)
        assert batch == crawl.choose(size, 0.0), "choosing changes nothing"
        assert all(pick.act == Act.HYDRATE and pick.n == crawl.picks + i for i, pick in enumerate(batch))
        outcomes = []
        for pick in batch:
            begin, end = parse_positions(pick.since)
            assert 0 < end - begin <= width
            outcome, some = answer(pick, left.pop() if left else "all")
            outcomes.append(outcome)
            answered += some
            for place in range(begin, end):
                tried[place] = tried.get(place, 0) + (outcome.missing is not None)
        history.append((batch, outcomes))
        crawl.absorb(batch, outcomes)
    failed = {place for one in crawl.ids.failed for place in range(one.begin, one.end)}
    assert len(answered) == len(set(answered)), "nothing is paid twice"
    assert set(answered) | failed == set(range(sum(imports)))
    assert not set(answered) & failed
    assert all(tried[place] >= TRIES for place in failed)
    assert (crawl.ids.asked, crawl.ids.left, crawl.ids.given) == (len(answered), 0, sum(imports))
    again = Capture(NEVER, (), 1)
    again.fold(history)
    assert vars(again.ids) == vars(crawl.ids), "folding is living through it"
    again.fold(history)
    assert vars(again.ids) == vars(crawl.ids), "folding twice changes nothing"
    assert crawl.choose(size, 0.0).kind == StopKind.DONE


def test_without_ids_and_queries_it_says_what_to_do():
    stop = Capture(NEVER, (), 1).choose(1, 0.0)
    assert stop.kind == StopKind.FAILED
    assert "socialcrawl import FILE --as ids" in stop.why


def test_a_limit_of_steps_counts_groups_of_ids():
    crawl = Capture(NEVER, (Node(-1),), 1, steps=2)
    crawl.absorb(*bring(crawl, 0, 30, 10))
    batch = crawl.choose(5, 0.0)
    assert [pick.since for pick in batch] == ["0/10", "10/20"]
    crawl.absorb(batch, [answer(pick, "all")[0] for pick in batch])
    assert "the limit of 2 slices is reached" in crawl.choose(5, 0.0).why
