"""International domain names: the site that is meant, in the letters of the network."""

import unicodedata

import idna
import pytest
from example_counts import many
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from socialcrawl.platforms.mastodon import account_names
from socialcrawl.platforms.web.urls import join_url, normalize_url
from socialcrawl.system.host_names import AllowedHosts
from socialcrawl.text.domains import encode_domain

MEANT = [
    # what people write, the domain that browsers go to, and the one that IDNA 2003 makes of it
    ("straße.de", "xn--strae-oqa.de", "strasse.de"),
    ("FAẞ.example", "xn--fa-hia.example", "fass.example"),
    ("ολόγος.gr", "xn--oxaplcp1d.gr", "xn--oxaplcu5c.gr"),
    ("www.faß。de", "www.xn--fa-hia.de", "www.fass.de"),
    ("*.straße.de", "*.xn--strae-oqa.de", "*.strasse.de"),
]


@pytest.mark.parametrize(("name", "domain", "other"), MEANT)
def test_letters_that_idna_2003_replaces_are_kept(name, domain, other):
    assert name.encode("idna").decode() == other
    assert encode_domain(name) == domain


@pytest.mark.parametrize(
    "name",
    ["bücher.example", "BÜCHER.Example", "münchen.example.", "例え.テスト", "пример.рф", "☃.net", "i❤.ws", "é_a.de"],
)
def test_other_names_and_names_that_idna_2008_refuses_are_encoded_as_they_always_were(name):
    assert encode_domain(name) == name.encode("idna").decode().lower()


@pytest.mark.parametrize("name", ["é..de", ".é.de", "ñ" * 64 + ".de", f"{'a' * 64}.é.de", "xn--ü.de"])
def test_what_is_no_domain_is_still_refused(name):
    with pytest.raises(UnicodeError):
        name.encode("idna")
    with pytest.raises(UnicodeError):
        encode_domain(name)
    assert normalize_url(f"http://{name}/") is None


def test_every_way_to_a_host_takes_the_same_letters():
    assert normalize_url("http://Straße.de/weg") == "http://xn--strae-oqa.de/weg"
    assert join_url("http://example.org/", "//straße.de") == "http://xn--strae-oqa.de/"
    assert account_names.complete_name("anna@straße.de", "home.example") == "anna@xn--strae-oqa.de"
    assert account_names.compile_pattern(["*.straße.de"]).fullmatch("a.xn--strae-oqa.de")
    assert AllowedHosts.of(["*.straße.de"], listening="127.0.0.1").allow("a.xn--strae-oqa.de")


LETTERS = st.sampled_from("aZ09-ßςéÉöøłżжЖαΩ中あアกא")


@given(st.lists(st.text(LETTERS, min_size=1, max_size=20), min_size=1, max_size=3))
@example(["0ß--0"])  # IDNA 2008 refuses it, and by IDNA 2003 it was 0ss--0
@settings(max_examples=many(300), deadline=None)
def test_a_domain_names_what_was_written_and_encoding_twice_changes_nothing(labels):
    name = ".".join(labels)
    try:
        domain = encode_domain(name)
    except UnicodeError:
        return
    assert domain.isascii()
    assert encode_domain(domain) == domain
    try:
        back = idna.decode(domain)
    except idna.IDNAError:  # only IDNA 2003 knows it
        assume(False)
    assert back == unicodedata.normalize("NFC", name).lower()
