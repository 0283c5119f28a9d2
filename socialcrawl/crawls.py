"""The crawl of a campaign of each kind, made of its settings: one place for runs, reports and explanations."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from socialcrawl.collect.control import Controlled
from socialcrawl.collect.crawl import Collect
from socialcrawl.collect.estimators import Estimator, named
from socialcrawl.collect.seeds import Seeds
from socialcrawl.collect.strategies import Strategy, strategy
from socialcrawl.errors import SettingsError
from socialcrawl.model import Act, Node
from socialcrawl.platforms import known
from socialcrawl.refresh.crawl import Refresh
from socialcrawl.refresh.how import How as Order
from socialcrawl.sample.crawl import Sample
from socialcrawl.sample.how import How
from socialcrawl.sample.labels import accounts
from socialcrawl.settings import Settings
from socialcrawl.sources.focusing import Predicate
from socialcrawl.track.choice import Choice
from socialcrawl.track.crawl import Track
from socialcrawl.track.target import Target

Crawling = Collect | Track | Refresh | Sample


def make_crawl(
    settings: Settings,
    seeds: Seeds,
    width: Callable[[Act], int] = lambda _: 1,
    mark: Callable[[float], str] = lambda _: "",
) -> Crawling:
    """Return the crawl of a campaign, which has learned nothing yet.

    Args:
        settings: those of the campaign.
        seeds: where it starts; a refresh has none.
        width: its source's, where it asks anybody.
        mark: likewise.
    """
    if settings.kind == "refresh":
        return refreshing(settings, width)
    if settings.kind == "sample":
        return sampling(settings, seeds, width)
    if settings.kind == "track":
        return tracking(settings, seeds, width, mark)
    estimator, choice = chosen(settings)
    return Collect(seeds, estimator, settings.crawl.steps, width, choice, shadows=looking_on(settings))


def chosen(settings: Settings) -> tuple[Estimator, Strategy]:
    """The estimator and the strategy of a campaign, which have learned nothing yet."""
    how = settings.crawl
    choice = strategy(how.strategy, seed=settings.seed, q=how.q, zeta=how.zeta)
    if how.control:
        choice = Controlled(choice, how.control, settings.seed)
    return _estimator(settings, how.estimator, how.regressor), choice


def past(settings: Settings, names: Sequence[Node], topics: Sequence[int] = (), queries: Sequence[Node] = ()) -> Seeds:
    """The seeds of a crawl that folds a stored history and asks nobody.

    Args:
        settings: those of the campaign.
        names: the accounts it named.
        topics: the first pick.n under each new topic.
        queries: its searches; none where nobody looks at what is searched next.
    """
    asked = known.of(settings)
    look_up = not asked.expanded(settings)
    return Seeds(queries, names, settings.seeds.most, look_up=look_up, topics=topics, known=not asked.look_up)


def tracking(
    settings: Settings,
    seeds: Seeds,
    width: Callable[[Act], int] = lambda _: 1,
    mark: Callable[[float], str] = lambda _: "",
) -> Track:
    """The crawl of a campaign that tracks accounts; `width` and `mark` are its source's, where it asks anybody."""
    track = settings.track
    return Track(
        seeds,
        Choice(track.expansion, track.recrawl, track.p, settings.seed),
        settings.crawl.steps,
        width,
        mark=mark,
        window=track.width,
        rest=track.pause,
        again=track.absence,
        target=aim(settings),
    )


def refreshing(settings: Settings, width: Callable[[Act], int] = lambda _: 1) -> Refresh:
    """The crawl of a campaign that tests an old dataset; `width` is its source's, where it asks anybody."""
    refresh = settings.refresh
    rank, training = refresh.steering(settings.source.platform)
    how = Order(
        rank=rank,
        training=training,
        neighbours=refresh.neighbours,
        z=refresh.z,
        check=refresh.check,
        fraction=refresh.fraction,
        stop=refresh.stop,
        linked=refresh.linked,
        damping=refresh.damping,
        tolerance=refresh.tolerance,
        rounds=refresh.rounds,
        top=refresh.top,
        every=refresh.every,
        worker=(refresh.worker, refresh.workers) if refresh.workers > 1 else None,
    )
    return Refresh(how, settings.seed, settings.crawl.steps, width)


def sampling(settings: Settings, seeds: Seeds, width: Callable[[Act], int] = lambda _: 1) -> Sample:
    """The crawl of a campaign that samples; who mentions an account is asked where its platform can be asked that."""
    sample, platform = settings.sample, settings.source.platform
    how = How(
        focus=sample.focus,
        exact=sample.exact,
        k=sample.reach,
        b=sample.b,
        crude=sample.crude,
        degree=sample.degree,
        weights=sample.weights,
        corrected=sample.corrected,
        walkers=sample.walkers,
        burn_in=sample.burn_in,
        samples=sample.samples,
        length=sample.length,
        inward=sample.inward and bool(known.of(settings).roles.inward),
        mutual=sample.mutual,
        consistency=sample.consistency,
        trap=sample.traps(platform),
        trap_window=sample.trap_window,
        trap_hosts=sample.trap_hosts,
        seed=settings.seed,
    )
    return Sample(seeds, how, settings.crawl.steps, width)


def predicate(settings: Settings) -> Predicate:
    """Who is on the topic of a campaign that samples.

    Raises:
        SettingsError: nothing tells it, or the labels cannot be read.
    """
    sample = settings.sample
    labels = {} if sample.labels is None else accounts(sample.labels)
    return Predicate(sample.occurrences, sample.patterns, sample.expressions, labels)


def wider(settings: Settings) -> Predicate | None:
    """Who is on the wider topic on which walks with focus = "ancestor" go; None: walks have another focus.

    Raises:
        SettingsError: the labels cannot be read, or a pattern cannot be used.
    """
    sample = settings.sample
    if sample.focus != "ancestor":
        return None
    labels = {} if sample.wider_labels is None else accounts(sample.wider_labels)
    return Predicate(sample.wider_least, sample.wider_patterns, sample.wider_expressions, labels)


def aim(settings: Settings) -> Target:
    """What a campaign that tracks accounts is after. It keeps OPIC's cash whatever that is."""
    track = settings.track
    return Target(
        track.target,
        track.topical,
        track.parallel,
        cash=True,
        memory=track.remembered,
        lean=track.lean,
        extra=track.extra,
    )


def steered(settings: Settings) -> None:
    """Nothing, where those who choose for a campaign can be made.

    Raises:
        SettingsError: one of them cannot.
    """
    if settings.kind == "collect":
        chosen(settings)
        looking_on(settings)
    elif settings.kind == "refresh":
        try:
            refreshing(settings)
        except ValueError as error:
            raise SettingsError(f"[refresh] {error}.") from error
    elif settings.kind == "sample":
        predicate(settings)
        wider(settings)


def looking_on(settings: Settings) -> dict[str, Estimator]:
    """The estimators that only look on, by name, in the order of the file; they have learned nothing yet.

    The arguments under `regressor` are those of the estimator that steers: a shadow of scikit-learn has its own
    defaults.

    Raises:
        SettingsError: one of them cannot be made.
    """
    return {name: _estimator(settings, name, {}) for name in settings.crawl.shadows}


def _estimator(settings: Settings, name: str, options: Mapping[str, Any]) -> Estimator:
    how = settings.crawl
    return named(
        name,
        seed=settings.seed,
        switch_after=how.switch_after,
        start=how.start,
        nr_d=how.nr_d,
        features=how.features,
        options=options,
    )
