"""What a dataset says of one of its campaigns: report, explanations, what comes next, posts to label, and files."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from socialcrawl.api.argument_checks import (
    FUNCTION,
    KEYWORDS,
    PATH,
    SWITCH,
    TEXT,
    check_arguments,
    make_type_rule,
    make_whole_rule,
)  # fmt: skip
from socialcrawl.api.data_export import KEY, export_dataset
from socialcrawl.api.dataset_reports import describe_terms, make_explanation, make_report, make_sheet, read_frontier
from socialcrawl.api.frontier import CampaignFrontier
from socialcrawl.api.label_file import LABELS, LabelFile, choose_unlabelled
from socialcrawl.api.match_preview import ModelPreview, preview_model
from socialcrawl.api.post_search import describe_posts
from socialcrawl.api.text_report import CampaignPage, TextReport
from socialcrawl.campaign.campaign_edits import read_settings_text
from socialcrawl.campaign.plan import make_topic
from socialcrawl.crawls.kept_crawls import KeptCrawls
from socialcrawl.crawls.text_models.model_file import read_model
from socialcrawl.errors import SettingsError
from socialcrawl.exporters.export import ExportOptions
from socialcrawl.storage.queries.read_session import ReadSession
from socialcrawl.storage.queries.summary import find_campaign

SHOWN = ("author", "author_id", "created_at", "page")  # of a post to label, beside its text


@runtime_checkable
class EditedFile(Protocol):
    """What a CampaignFile has for previews."""

    @property
    def path(self) -> Path:
        """Where the file is."""

    @property
    def text(self) -> str:
        """The text with all changes."""


EDITED = make_type_rule(EditedFile, "a CampaignFile")


class CampaignAnswers:
    """The part of a `Dataset` that is about one campaign.

    Args:
        session: reads the database.
        crawls: keeps rebuilt crawls for a while; None: nothing is kept.
    """

    def __init__(self, session: ReadSession, crawls: KeptCrawls | None = None) -> None:
        self._session, self._crawls = session, crawls

    @check_arguments(campaign=TEXT, top=make_whole_rule(0))
    def report(self, *, campaign: str | None = None, top: int = 15) -> CampaignPage:
        """Return what a campaign found and what it took, as `socialcrawl report` shows it.

        Args:
            campaign: its name.
            top: the number of accounts to list.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> report = data.report(top=3)
            >>> print(report.text.splitlines()[2].strip())
            topic              telescope
            >>> report.to_dict()["accounts_on_topic"]
            5
        """
        return make_report(self._session, campaign, top)

    @check_arguments(user=TEXT, campaign=TEXT, top=make_whole_rule(0))
    def explain(self, user: str, *, campaign: str | None = None, top: int = 10) -> TextReport:
        """Return why a campaign read an account or did not, as `socialcrawl explain` shows it.

        An account that the campaign has never seen is no error: the text says so.

        Args:
            user: a username or id.
            campaign: its name.
            top: the number of links to the account to list.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> print(data.explain("dora").text.splitlines()[0])
            @dora in the campaign sky
        """
        return make_explanation(self._session, user, campaign, top, self._crawls)

    @check_arguments(top=make_whole_rule(1), campaign=TEXT)
    def frontier(self, top: int = 20, *, campaign: str | None = None) -> CampaignFrontier:
        """Return what a campaign would read next, and why, as of the answers that are stored; nobody is asked.

        Its crawl is built from the database as after a restart, which takes as long. A `Project` keeps the crawl of
        one large campaign for ten minutes, so that the next question about its frontier is answered at once.

        Args:
            top: how many decisions.
            campaign: its name.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> [row["account"] for row in data.frontier(top=5).accounts]
            ['emil']
        """
        return read_frontier(self._session, campaign, top, self._crawls)

    @check_arguments(campaign=TEXT)
    def datasheet(self, *, campaign: str | None = None) -> TextReport:
        """Return how the data came about, for publication, as an export writes it.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> print(data.datasheet().text.splitlines()[0])
            # Datasheet: sky
        """
        return make_sheet(self._session, campaign)

    @check_arguments(campaign=TEXT)
    def describe_terms(self, *, campaign: str | None = None) -> str:
        """Return what the terms of the campaign's platform let you publish, in words.

        Raises:
            StoreError: there is no such campaign.

        Example:
            >>> data.describe_terms()[:48]
            "X's terms restrict what you may publish: neither"
        """
        return describe_terms(self._session, campaign)

    @check_arguments(
        folder=PATH, formats=KEYWORDS, campaign=TEXT, pseudonymise=SWITCH, key_env=TEXT, only_active=SWITCH,
        only_on_topic=SWITCH, safe_csv=SWITCH, watch=FUNCTION,
    )  # fmt: skip
    def export(
        self,
        folder: "str | os.PathLike[str]",
        *,
        formats: Sequence[str] = ("parquet",),
        campaign: str | None = None,
        pseudonymise: bool = False,
        key_env: str = KEY,
        only_active: bool = False,
        only_on_topic: bool = False,
        safe_csv: bool = False,
        watch: Callable[[str, int], Any] | None = None,
    ) -> TextReport:
        """Write the data of a campaign as files, as `socialcrawl export` does, and return their datasheet.

        Args:
            folder: where; it is made, or has to be empty.
            formats: of parquet, csv, jsonl (tables), gexf, graphml (the network), ids and warc.
            campaign: its name.
            pseudonymise: replace names and ids by keyed hashes.
            key_env: the environment variable that holds their key.
            only_active: of a campaign that refreshes a dataset: only accounts found active.
            only_on_topic: of the network: only mentions in matching posts.
            safe_csv: in CSV, put an apostrophe before texts that spreadsheets would take for formulas.
            watch: called with what is being written and its rows so far; an error that it raises ends the export.

        Raises:
            SettingsError: what is wanted cannot be had together, the key is missing, or the folder is not free.
            StoreError: there is no such campaign, or the database or the disk fails.

        Example:
            >>> data.export("ids", formats=["ids"]).to_dict()["files"][0]["name"]
            'post_ids.txt'
        """
        wanted = ExportOptions(
            campaign, formats=tuple(formats), active=only_active, safe_csv=safe_csv, on_topic=only_on_topic
        )
        return export_dataset(self._session, Path(folder), wanted, key_env if pseudonymise else None, watch)

    @check_arguments(
        labels=LABELS, count=make_whole_rule(1), model=PATH, most=make_whole_rule(1), seed=make_whole_rule(0),
        author=TEXT, campaign=TEXT,
    )  # fmt: skip
    def choose_posts_to_label(
        self,
        labels: LabelFile | None = None,
        *,
        count: int = 50,
        model: "str | os.PathLike[str] | None" = None,
        most: int | None = None,
        seed: int = 1,
        author: str | None = None,
        campaign: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return stored posts of a campaign whose labels teach a model most.

        They are dicts of id, text, matches, author, author_id, created_at and page, as `posts` has them.
        None has a label, nor the words of one that has.

        Args:
            labels: the labels that are there.
            count: how many posts.
            model: a file of `train_model`: choose the posts that it is least sure of (uncertainty sampling). None: half
                of the posts match the topic, half do not, all drawn at random.
            most: the number of stored posts to look at, drawn from all; None: all.
            seed: of the draws.
            author: only posts of this username or id.
            campaign: its name.

        Raises:
            SettingsError: the model cannot be read.
            StoreError: there is no such campaign, or no account is called `author`.

        Example:
            >>> [post["matches"] for post in data.choose_posts_to_label(count=3)]
            [True, False, True]
            >>> [post["author"] for post in data.choose_posts_to_label(author="ben")]
            ['ben']
        """
        learned = None if model is None else read_model(Path(model))
        with self._session.open_reader() as connection:
            number, _ = find_campaign(connection, campaign)
            found = choose_unlabelled(connection, number, labels, (count, seed, most), learned, author=author)
        rows = describe_posts(self._session, number, [one.id for one in found])
        return [asdict(one) | {name: rows.get(one.id, {}).get(name) for name in SHOWN} for one in found]

    @check_arguments(
        file=EDITED, limit=make_whole_rule(0), most=make_whole_rule(1), seed=make_whole_rule(0), campaign=TEXT,
    )  # fmt: skip
    def preview_model(
        self,
        file: EditedFile,
        *,
        limit: int = 5,
        most: int | None = None,
        seed: int = 1,
        campaign: str | None = None,
    ) -> ModelPreview:
        """Return which stored posts and accounts change sides if a campaign file with a model is saved.

        Args:
            file: a CampaignFile, saved or not, after `use_model`.
            limit: the number of examples of each sort.
            most: the number of stored posts to judge, drawn from all; None: all.
            seed: of the draws.
            campaign: its name.

        Raises:
            SettingsError: the file names no model, or one that cannot be read.
            StoreError: there is no such campaign.

        Example:
            >>> file = sc.CampaignFile.load("example.toml")
            >>> report = sc.train_model("sky-labels.csv", "wanted.json")
            >>> effect = file.use_model("wanted.json", keep_keywords=True)
            >>> data.preview_model(file, most=5).examined <= 7
            True
        """
        topic = make_topic(read_settings_text(file.text, file.path))
        if topic.judge is None:
            raise SettingsError(f"{file.path} names no model: call use_model() first.")
        return preview_model(self._session, campaign, topic, (seed, most), limit)
