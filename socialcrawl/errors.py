"""What can go wrong, and what a person can do about it.

    SocialcrawlError
      - SettingsError     a campaign file, option or environment variable is not usable
          - ConflictError a campaign file was changed by somebody else since it was read
          - CostError     a run may cost more than was agreed to
      - PostsFileError    a file of posts cannot be read
      - StoreError        the database cannot be used (newer schema, full disk, locked)
          - HeldError     another process runs the campaign or uses the token
          - OutdatedError an older version wrote it, and it stays as it is
      - SourceError       the platform refuses the work (token, access, vocabulary)
      - PluginError       what another package adds breaks its contract
      - MockError         the mock server cannot start (port in use)

Every message says what is wrong and what to do next; the command line prints it without a traceback.
One bad account is not an error: it is an `Outcome` whose `missing` names the reason.
"""

from collections.abc import Iterable


class SocialcrawlError(Exception):
    """The root of all failures that a person can fix; `str(error)` is one or two plain sentences.

    Example:
        >>> try:
        ...     sc.open("missing.db")
        ... except sc.SocialcrawlError as error:
        ...     print(type(error).__name__)
        StoreError
    """


class SettingsError(SocialcrawlError):
    """A setting is missing, unknown or out of range; the message names file, key and remedy.

    Attributes:
        problems: for forms: the key of each thing that is wrong in a campaign file, such as "budget.max_money", and
            what to do about it, without the value; empty where that is not known.
        secrets: the keys whose values may be a token or a password: those that look like one, unknown keys, and a
            database that is refused. Do not show them.

    Example:
        >>> try:
        ...     data.accounts(top=-1)
        ... except sc.SettingsError as error:
        ...     print(error)
        accounts(top=-1): give a whole number, 0 or more (at most 1,000,000,000).
        >>> try:
        ...     sc.CampaignFile.load("edited.toml").set("crawl", "steps", -1)
        ... except sc.SettingsError as error:
        ...     print(error.problems, error.secrets)
        (('crawl.steps', 'write a number, 1 or more.'),) ()
    """

    def __init__(
        self, message: str = "", problems: Iterable[tuple[str, str]] = (), secrets: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.problems, self.secrets = tuple(problems), tuple(secrets)


class ConflictError(SettingsError):
    r"""A campaign file is no longer the one that was read; nothing was saved.

    Attributes:
        difference: the lines that differ, as far as that is known: those that begin with "-" were read, those with "+"
            are in the file now. A value that may be a secret is left out.

    Example:
        >>> mine, yours = (sc.CampaignFile.load("edited.toml") for _ in range(2))
        >>> yours.set("crawl", "steps", 5)  # it was 4
        >>> yours.save()
        >>> mine.set("crawl", "steps", 6)
        >>> try:
        ...     mine.save()
        ... except sc.ConflictError as error:
        ...     print(*error.difference, sep="\n")
        -steps = 4
        +steps = 5
    """

    def __init__(self, message: str, difference: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.difference = difference


class CostError(SettingsError):
    """A run may cost more than `confirm_above` under [budget], and nobody has agreed; nothing was sent.

    Attributes:
        excess: what it may cost and the limit, as a clause.

    Example:
        >>> campaign = sc.Campaign(name="dear", topic={"keywords": ["telescope"]}, budget={"max_money": 500})
        >>> try:
        ...     campaign.run()
        ... except sc.CostError as error:
        ...     print(error.excess[:31])
        This run may cost up to $500.00
    """

    def __init__(self, message: str, excess: str) -> None:
        super().__init__(message)
        self.excess = excess


class PostsFileError(SocialcrawlError):
    """A file of posts is missing, unreadable or lacks a column; the message names file and column.

    Example:
        >>> try:
        ...     sc.Graph.from_posts("missing.csv", keywords=["telescope"])
        ... except sc.PostsFileError as error:
        ...     print(error)
        There is no file missing.csv. Give the path of a Parquet, CSV or JSON lines file.
    """


class StoreError(SocialcrawlError):
    """The database cannot be opened or written; what was committed before is safe.

    Example:
        >>> try:
        ...     data.posts(campaign="sea")
        ... except sc.StoreError as error:
        ...     print(error)
        There is no campaign 'sea' in this database; there are: sky.
    """


class HeldError(StoreError):
    """Another process runs the campaign, or uses the token: it has to let go first."""


class OutdatedError(StoreError):
    """An older version wrote the database, and it is not to be changed: another command upgrades it."""


class EmptyDatabaseError(StoreError):
    """A database is there, and no campaign has begun in it."""


class SourceError(SocialcrawlError):
    """The platform refuses to answer in a way that asking again cannot fix.

    Example:
        >>> try:
        ...     ending = sc.Campaign.load("new.toml").run()
        ... except sc.SourceError as error:  # such as a token that the platform refuses
        ...     print(error)
    """


class PluginError(SocialcrawlError):
    """What another package adds failed or broke its contract; the message names it, the method and the cause.

    Example:
        >>> class Broken(sc.Estimator):
        ...     name = "broken"
        ...
        ...     def score(self, graph, rows, n):
        ...         return [1.0, 2.0, 3.0]
        >>> try:
        ...     sc.simulate(graph, [Broken()], steps=3, seeds=1, seeds_per_set=1)
        ... except sc.PluginError as error:
        ...     print(error)
        the estimator 'broken' returned from score a list of shape (3,), where 1 numbers are needed.
    """


class MockError(SocialcrawlError):
    """The mock API server cannot start or has died."""
