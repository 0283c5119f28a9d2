"""How messages are worded that many commands share."""

from socialcrawl.text.wording import explain_unknown


def test_an_unknown_value_is_answered_with_the_known_ones():
    assert explain_unknown("topic", "go", ("tea", "chess")) == "Unknown topic 'go'. Choose one of: tea, chess."
    assert explain_unknown("limit", None, (1, 2)) == "Unknown limit None. Choose one of: 1, 2."


def test_the_nearest_of_the_known_values_is_suggested_in_whatever_case_it_was_written():
    assert explain_unknown("platform", "mastadon", ("x", "bluesky", "mastodon")) == (
        "Unknown platform 'mastadon'. Did you mean 'mastodon'? Choose one of: x, bluesky, mastodon."
    )
    assert "Did you mean 'EU'?" in explain_unknown("region", "eu", ("EU", "US"))
