"""How messages are worded that many commands share."""

from socialcrawl.text.wording import explain_unknown


def test_an_unknown_value_is_answered_with_the_known_ones():
    assert explain_unknown("topic", "tee", ("tea", "chess")) == "Unknown topic 'tee'. Choose one of: tea, chess."
    assert explain_unknown("topic", "tee", ["tea"], " Did you mean 'tea'?") == (
        "Unknown topic 'tee'. Did you mean 'tea'? Choose one of: tea."
    )
