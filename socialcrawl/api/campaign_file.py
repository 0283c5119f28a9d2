"""Campaign files to create and edit, and what can be written into them."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from socialcrawl.api.argument_checks import PATH, SWITCH, TEXT, ArgumentRule, check_arguments
from socialcrawl.campaign.campaign_edits import (
    apply_changes,
    check_digest,
    decode_raw,
    list_changes,
    read_settings_text,
    save_changes,
)
from socialcrawl.campaign.change_rules import compare_plans, list_fixed
from socialcrawl.campaign.cost_outlook import explain_missing_dataset, has_begun
from socialcrawl.campaign.plan import make_plan
from socialcrawl.campaign.settings import Settings, decode_campaign, read_campaign_bytes
from socialcrawl.campaign.settings_schema import describe_sections
from socialcrawl.campaign.template_file import make_template_text, write_new_file
from socialcrawl.crawls.facts import DEFAULT
from socialcrawl.daemon.campaign_check import check_campaign
from socialcrawl.errors import SettingsError, SocialcrawlError, StoreError
from socialcrawl.formats.documents import compute_checksum
from socialcrawl.platforms.facts import DEFAULT as DEFAULT_PLATFORM

if TYPE_CHECKING:
    from socialcrawl.api.campaign_runs import Campaign

BEGINNING = "The campaign has not begun: it will begin with this model."
EPOCH = (
    "A daemon reads the changed file within seconds and begins a new epoch: matches, relevance and links are computed "
    "again from the stored posts, and nothing is bought again. In a terminal, socialcrawl run refuses the change until "
    "it is given --change."
)
MARK = b"\xef\xbb\xbf"  # as Windows editors put it before a text


def _convert_values(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise TypeError
    return dict(given)


VALUES = ArgumentRule('a dict such as {"budget": {"max_money": 20}}', _convert_values)
ANY = ArgumentRule("a value of a campaign file", lambda given: given)


@check_arguments(kind=TEXT, platform=TEXT)
def describe_settings(kind: str = DEFAULT.name, platform: str = DEFAULT_PLATFORM.name) -> list[dict[str, Any]]:
    """Return the sections and keys of campaign files, for forms, as plain values of JSON.

    Each section has `name` ("" for the keys above all sections), `description` and `keys`. Each key has:

    - `name`, `description`, `default`, and `required`: whether the file has to have it;
    - `types`: one or more of string, integer, number, boolean, array and object, as JSON calls them;
    - `choices`: the only values, where there are few; `suggestions`: known values, where others are possible;
    - `bounds`: `minimum`, `maximum`, `above`, `below`, `min_length`, `max_items` and `pattern`, as far as they apply;
    - `in_template`: whether the file that `socialcrawl init` writes shows it: forms can hide the others at first;
    - `schema`: its JSON Schema, for lists and tables.

    What has no effect in this kind is left out, and so is what belongs to other platforms and is refused. Sections of
    kinds that other packages add are part of it.

    Args:
        kind: collect, track, refresh, sample, capture, or one that a package adds.
        platform: x, bluesky, mastodon, web, or one that a package adds.

    Raises:
        SettingsError: there is no such kind or platform.

    Example:
        >>> sections = {section["name"]: section["keys"] for section in sc.describe_settings(kind="track")}
        >>> target = sections["track"][0]
        >>> target["name"], target["default"], target["choices"]
        ('target', 'indegree', ['indegree', 'importance', 'relevance'])
        >>> money = next(key for key in sections["budget"] if key["name"] == "max_money")
        >>> money["types"], money["bounds"], money["description"]
        (['number'], {'above': 0, 'maximum': 1000000000.0}, 'dollars')
    """
    return describe_sections(kind, platform)


class CampaignFile:
    """A campaign file that is edited: its comments, its order and its ends of lines stay as they are.

    Each change is checked as `socialcrawl check` does, with the same messages; one that is refused changes nothing.
    Nothing is written before `save`.

    Example:
        >>> file = sc.CampaignFile.load("edited.toml")
        >>> file
        <CampaignFile edited.toml>
        >>> file.set("budget", "max_money", 20)
        >>> file.update({"seed": 2, "accounts": {"exclude": ["*_bot"]}})
        >>> file.add("seeds", "usernames", "dora")
        >>> file.remove("accounts", "exclude", "*_bot")
        >>> file.values["seeds"]["usernames"], file.settings["budget"]["max_money"]
        (['ann', 'cleo', 'dora'], 20.0)
        >>> try:
        ...     file.set("crawl", "steps", -1)
        ... except sc.SettingsError as error:
        ...     print(error)
        edited.toml, line 14: [crawl] steps = -1: write a number, 1 or more.
        >>> file.check()
        []
        >>> before = file.digest
        >>> file.save()
        >>> file.digest == before, file.path.name, file.text.count("max_money = 20")
        (False, 'edited.toml', 1)
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data = path, data
        self._is_new = False
        self._text = decode_raw(data, path)

    @classmethod
    @check_arguments(path=PATH, digest=TEXT)
    def load(cls, path: str | os.PathLike[str], *, digest: str | None = None) -> Self:
        """Return the campaign file `path`. Its values may be wrong, so that they can be corrected.

        Args:
            path: the file.
            digest: refuse a file of another digest: one that was changed since somebody has seen it.

        Raises:
            ConflictError: the file has another digest.
            SettingsError: the file is missing or no TOML.

        Example:
            >>> file = sc.CampaignFile.load("example.toml")
            >>> sc.CampaignFile.load("example.toml", digest=file.digest).text == file.text
            True
        """
        made = cls(Path(path), read_campaign_bytes(Path(path)))
        check_digest(made.path, made.digest, digest)
        return made

    @classmethod
    @check_arguments(path=PATH, values=VALUES)
    def create(cls, path: str | os.PathLike[str], values: Mapping[str, Any]) -> Self:
        """Write a new campaign file from the template of its kind and platform, with comments, and return it.

        Args:
            path: the file, which is not there yet. Without a `name` among the values, the campaign is called like it.
            values: keys and sections, see `update`. `kind` and `platform` under `source` choose the template.

        Raises:
            SettingsError: with one line for each key that is wrong, or the file exists or cannot be written.

        See also `draft`, which writes nothing yet.

        Example:
            >>> values = {"topic": {"keywords": ["dark sky"]}, "source": {"platform": "bluesky"}}
            >>> file = sc.CampaignFile.create("dark-sky.toml", values)
            >>> file.settings["name"], file.settings["source"]["platform"]
            ('dark-sky', 'bluesky')
        """
        made = cls.draft(path, values)
        made.save()
        return made

    @classmethod
    @check_arguments(path=PATH, values=VALUES)
    def draft(cls, path: str | os.PathLike[str], values: Mapping[str, Any]) -> Self:
        """Return a new campaign file as `create` would write it. `save` writes it, unless a file is there by then.

        Args:
            path: see `create`.
            values: see `create`.

        Raises:
            SettingsError: with one line for each key that is wrong.

        Example:
            >>> draft = sc.CampaignFile.draft("moon.toml", {"topic": {"keywords": ["moon"]}})
            >>> quote = draft.to_campaign().quote()
            >>> quote.to_dict()["campaign"], draft.path.exists()
            ('moon', False)
        """
        source = values.get("source")
        platform = source.get("platform") if isinstance(source, Mapping) else None
        kind = values.get("kind")
        chosen = (platform or DEFAULT_PLATFORM.name, kind or DEFAULT.name)
        text = make_template_text(Path(path), *(str(one) for one in chosen))
        usual = decode_campaign(text.encode(), Path(path))[1].get("source", {}).get("token_env")
        text = apply_changes(text, list_changes(values), Path(path))
        named = source.get("token_env") if isinstance(source, Mapping) else None
        if usual and isinstance(named, str) and named.isidentifier():  # comments of the template name the variable, too
            text = re.sub(rf"\b{usual}(?==|_FILE\b)", named, text)
        made = cls(Path(path), text.encode())
        made._is_new = True
        return made

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._path

    @property
    def text(self) -> str:
        """The text with all changes."""
        return self._text

    @property
    def digest(self) -> str:
        """What tells the file as it was read or saved last from others: a checksum of its bytes."""
        return compute_checksum(self._data)

    @property
    def values(self) -> dict[str, Any]:
        """What the file says, with all changes, without defaults, unchecked; dates are those of Python."""
        return decode_campaign(self._text.encode(), self._path)[1]

    @property
    def settings(self) -> dict[str, Any]:
        """All settings as plain values of JSON, defaults included, as `Campaign.settings`.

        Raises:
            SettingsError: with one line for each key that is wrong.
        """
        return self._read_settings().model_dump(mode="json")

    def __repr__(self) -> str:
        return f"<CampaignFile {self._path}>"

    @check_arguments(section=TEXT, key=TEXT, value=ANY)
    def set(self, section: str, key: str, value: Any) -> None:
        """Set a key of a section; see `update`.

        Args:
            section: its name, such as budget. Keys above all sections: use `update`.
            key: its name.
            value: text, number, True or False, date, list, dict; None: the key is removed, and its default holds.

        Raises:
            SettingsError: with one line for each key that would be wrong.
        """
        self.update({section: {key: value}})

    @check_arguments(section=TEXT, key=TEXT, value=ANY)
    def add(self, section: str, key: str, value: Any) -> None:
        """Add a value to a list, such as a seed or an excluded account; one that is there already stays once.

        Args:
            section: its name, such as seeds.
            key: its name, such as usernames.
            value: what is added, one value.

        Raises:
            SettingsError: the key is no list, or with one line for each key that would be wrong.
        """
        held = self._read_list("add", section, key)
        if value not in held:
            self.set(section, key, [*held, value])

    @check_arguments(section=TEXT, key=TEXT, value=ANY)
    def remove(self, section: str, key: str, value: Any) -> None:
        """Remove a value from a list, such as a seed or an excluded account, wherever it is there.

        Args:
            section: its name, such as accounts.
            key: its name, such as exclude.
            value: what is removed, one value.

        Raises:
            SettingsError: the key is no list, or with one line for each key that would be wrong.
        """
        held = self._read_list("remove", section, key)
        if value in held:
            self.set(section, key, [one for one in held if one != value])

    @check_arguments(values=VALUES)
    def update(self, values: Mapping[str, Any]) -> None:
        """Set several keys at once; they are checked together.

        Args:
            values: keys as `{"seed": 2}`, and sections as `{"budget": {"max_money": 20}}`. Keys that are not named stay
                as they are; None removes a key.

        Raises:
            SettingsError: with one line for each key that would be wrong. Nothing is changed then.
        """
        self._text = apply_changes(self._text, list_changes(values), self._path)

    def check(self) -> list[str]:
        """Check the campaign as `socialcrawl check` does, keywords, seeds and files included; return its warnings.

        One of them is that a campaign of kind `refresh` has no dataset yet.

        Raises:
            SettingsError: with a line for each thing that is wrong.
        """
        plan = check_campaign(self._read_settings())
        missing = None
        with suppress(StoreError):  # a run says what is wrong with its database
            missing = explain_missing_dataset(plan, self._path)
        return [*([] if missing is None else [missing]), *(warning for _, warning in plan.warnings)]

    @property
    def fixed(self) -> list[str]:
        """What cannot change once the campaign has begun: keys, such as "source.platform", and whole sections.

        Raises:
            SettingsError: with one line for each key that is wrong.
        """
        return list_fixed(make_plan(self._read_settings()))

    def check_change(self) -> list[str]:
        """Check that a campaign that has begun can continue with the changes since the file was read or saved.

        Returns:
            The keys whose change begins a new epoch, as `Campaign.run(change=True)` and daemons do: stored posts are
            matched and scored again. Other changes count from the next request or run on.

        Raises:
            SettingsError: a key differs that cannot change, or with one line for each key that is wrong.

        Example:
            >>> file = sc.CampaignFile.load("example.toml")
            >>> file.update({"topic": {"keywords": ["telescope", "moon"]}, "crawl": {"steps": 9}})
            >>> file.check_change(), file.fixed[:4]
            (['topic.keywords'], ['name', 'database', 'kind', 'seed'])
            >>> file.update({"seed": 7})
            >>> try:
            ...     file.check_change()
            ... except sc.SettingsError as error:
            ...     print(error.problems[0][0])
            seed
        """
        after = make_plan(self._read_settings())
        try:
            before = make_plan(read_settings_text(decode_raw(self._data, self._path), self._path))
        except SettingsError:  # what was wrong is corrected: a run compares what it stored
            return []
        return compare_plans(before, after)

    def to_campaign(self) -> "Campaign":
        """Return the campaign as the text with all changes describes it, saved or not.

        Raises:
            SettingsError: with one line for each key that is wrong.

        Example:
            >>> file = sc.CampaignFile.load("edited.toml")
            >>> file.set("crawl", "steps", 2)
            >>> file.to_campaign().settings["crawl"]["steps"]
            2
        """
        from socialcrawl.api.campaign_runs import make_campaign  # noqa: PLC0415 - most programs that edit run nothing

        return make_campaign(self._read_settings())

    @check_arguments(model=PATH, keep_keywords=SWITCH)
    def use_model(self, model: "str | os.PathLike[str]", *, keep_keywords: bool = True) -> str:
        """Have a model decide which posts are on topic, and return what that does to the campaign.

        It sets `model` under [topic], relative to this file where the model lies beside it.

        Args:
            model: a file of `train_model`.
            keep_keywords: whether the keywords stay: then they are searched for, and the model decides on the posts.

        Raises:
            SettingsError: the file is no model, the campaign has begun and cannot change its topic, or something else
                would be wrong, such as no accounts to begin with. Nothing is changed then.
            StoreError: the database cannot be used.

        Example:
            >>> report = sc.train_model("sky-labels.csv", "used.json")
            >>> file = sc.CampaignFile.load("new.toml")
            >>> print(file.use_model("used.json"))
            The campaign has not begun: it will begin with this model. No keyword is searched for.
            >>> file.values["topic"]["keywords"], file.values["topic"]["model"]
            (['telescope'], 'used.json')
        """
        before, folder, place = self._text, self._path.parent.resolve(), Path(model).resolve()
        name = place.relative_to(folder) if place.is_relative_to(folder) else place
        without = {} if keep_keywords else {"keywords": None, "patterns": None}
        try:
            self.update({"topic": {"model": name.as_posix(), "model_checksum": None, **without}})
            plan = check_campaign(self._read_settings())
            begun = has_begun(plan)
            if begun and "topic" in plan.fixed and self._text != before:
                raise SettingsError(
                    f"The campaign {plan.settings.name!r} has begun, and its topic cannot change any more: begin a new "
                    "campaign with this model."
                )
        except SocialcrawlError:
            self._text = before
            raise
        searched = "Keywords are only searched for." if plan.queries else "No keyword is searched for."
        return f"{EPOCH if begun else BEGINNING} {searched}"

    def save(self) -> None:
        """Write the file: as a whole or not at all, with its mode, and only if it is still the one that was read.

        Raises:
            ConflictError: somebody else has changed it, or is saving it now.
            SettingsError: it cannot be written, or is a draft and there is such a file by now.
        """
        if self._is_new:
            write_new_file(self._path, self._text)
            self._data, self._is_new = self._text.encode(), False
            return
        data = (MARK if self._data.startswith(MARK) else b"") + self._text.encode()
        save_changes(self._path, self._data, data)
        self._data = data

    def _read_list(self, act: str, section: str, key: str) -> list[Any]:
        usual = self.settings.get(section, {}).get(key, [])
        held = self.values.get(section, {}).get(key, usual)
        if not isinstance(held, list):
            raise SettingsError(f"{act}({section!r}, {key!r}): this is no list. Use set().")
        return held

    def _read_settings(self) -> Settings:
        return read_settings_text(self._text, self._path)
