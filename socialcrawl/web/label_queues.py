"""Posts that wait for their labels: chosen some at a time, as looking through the stored posts may take seconds."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import socialcrawl as sc
from socialcrawl.web.edit_drafts import has_begun
from socialcrawl.web.file_edits import compare_settings, describe_effect

BATCH = 50  # posts that are chosen together
LOOKED_AT = 50_000  # stored posts among which they are chosen; two seconds
MOST = 64  # queues that are kept
FEW_LABELS = 100  # below which a model is warned of
MUCH = 3  # times as many posts on topic, or as few
MODELS = 20  # that are listed, the newest


@dataclass(frozen=True, slots=True)
class LabelQueue:
    """What there is to label.

    Attributes:
        labels: those that are there.
        model: the file of the model whose doubt chose the posts; None: they were drawn.
        posts: those that wait, as `Dataset.choose_posts_to_label` returns them.
        stored: whether the campaign has stored any that can be labelled, of the account that was asked for.
    """

    labels: sc.LabelFile
    model: Path | None
    posts: Sequence[Mapping[str, Any]]
    stored: bool = True


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """What it would change if a campaign used a model; nothing is saved.

    Attributes:
        model: the name of its file.
        file: the campaign file with the change.
        settings: (key, value now, value then) of what changes in the file; None: it is not set.
        preview: which posts and accounts change sides; None: the campaign has not begun.
        at_most: what the campaign can still request and cost with the change; see `Campaign.quote`.
        warnings: why somebody should think twice, a sentence each.
    """

    model: str
    file: sc.CampaignFile
    settings: Sequence[tuple[str, Any, Any]]
    preview: sc.ModelPreview | None
    at_most: Mapping[str, Any]
    warnings: Sequence[str] = ()


class LabelQueues:
    """The queues of all campaigns; methods may be called from any thread.

    Args:
        project: the campaigns.
    """

    def __init__(self, project: sc.Project) -> None:
        self._project = project
        # By campaign, model and author.
        self._kept: OrderedDict[tuple[str, str, str | None], list[Mapping[str, Any]]] = OrderedDict()
        self._lock = threading.RLock()
        self._training = threading.Lock()

    def open_labels(self, status: sc.CampaignStatus) -> sc.LabelFile:
        """Return the labels of a campaign as they are now.

        Raises:
            SettingsError: they cannot be read, or have no place.
        """
        return self._project.open_labels(status.key)

    def read(self, status: sc.CampaignStatus, *, drawn: bool = False, author: str | None = None) -> LabelQueue:
        """Return the queue of a campaign: posts of doubt, if there is a model and they are not to be `drawn`.

        With an author, a username or id, only that account's posts are in it.

        Raises:
            SocialcrawlError: the labels, the model or the database cannot be read.
        """
        labels = self.open_labels(status)
        models = [] if drawn else sc.list_models(labels.path)
        model = models[-1] if models else None
        place = status.key, "" if model is None else model.name, author
        with self._lock:
            waiting = self._list_waiting(place, labels)
        stored = True
        if not waiting:
            with self._project.open(status.key) as data:
                given: dict[str, Any] = {"most": LOOKED_AT, "author": author, "campaign": status.name}
                chosen = data.choose_posts_to_label(labels, count=BATCH, model=model, **given)
                stored = bool(chosen or data.choose_posts_to_label(count=1, **given))
            with self._lock:
                self._kept[place] = list(chosen)
                while len(self._kept) > MOST:
                    self._kept.popitem(last=False)
                waiting = self._list_waiting(place, labels)
        return LabelQueue(labels, model, waiting, stored)

    def put(self, status: sc.CampaignStatus, post_id: str, *, on_topic: bool | None) -> sc.LabelFile:
        """Label a post that waits or has a label; return the labels.

        Raises:
            SettingsError: it neither waits nor has a label, or the label cannot be written.
        """
        labels = self.open_labels(status)
        with self._lock:
            known = [post for (key, *_), posts in self._kept.items() if key == status.key for post in posts]
        text = next((post["text"] for post in (*labels.posts, *known) if post["id"] == post_id), None)
        if text is None:
            raise sc.SettingsError("This post does not wait for a label any more: go on with the next one.")
        labels.put(post_id, text, on_topic=on_topic)
        return labels

    def delete(self, status: sc.CampaignStatus, post_id: str) -> sc.LabelFile | None:
        """Delete the label of a post, which comes next again; return the labels, None where it had none.

        Raises:
            SettingsError: the file cannot be written.
        """
        labels = self.open_labels(status)
        post = next((post for post in labels.posts if post["id"] == post_id), None)
        if post is None or not labels.delete(post_id):
            return None
        with self._lock:
            for (key, _, author), posts in self._kept.items():
                known = next((one for one in posts if one["id"] == post_id), None if author else post)
                if key == status.key and known is not None:
                    posts[:] = [known, *(one for one in posts if one["id"] != post_id)]
        return labels

    def train(self, status: sc.CampaignStatus, learner: str, without: Sequence[str]) -> sc.TextReport:
        """Train a model from the labels of a campaign, into a new file beside them; return how well it judges.

        Raises:
            SettingsError: there are too few labels, or another model is being trained.
        """
        if not self._training.acquire(blocking=False):
            raise sc.SettingsError("Another model is being trained: try again when it is done.")
        try:
            labels = self.open_labels(status)
            _check_enough(labels)
            return sc.train_model(labels.path, learner=learner, without=without)
        finally:
            self._training.release()

    def preview_model(self, status: sc.CampaignStatus, name: str, *, keep_keywords: bool) -> ModelPlan:
        """Return what it would change if a trained model decided which posts of a campaign are on topic.

        Raises:
            SocialcrawlError: see `use_model`, or the database cannot be read.
        """
        file = self._change(status, name, None, keep_keywords=keep_keywords)
        preview, begun = None, has_begun(self._project, status)
        if begun:
            with self._project.open(status.key) as data:
                preview = data.preview_model(file, most=LOOKED_AT, campaign=status.name)
        before = self._project.load_file(status.key, digest=file.digest).values
        quote = file.to_campaign().quote().to_dict()
        about = sc.describe_model(self._find_model(status, name)).to_dict()
        warnings = [*warn_of_model(about, preview)]
        return ModelPlan(name, file, compare_settings(before, file.values), preview, quote["at_most"], warnings)

    def use_model(self, status: sc.CampaignStatus, name: str, digest: str | None, *, keep_keywords: bool) -> str:
        """Have a trained model decide which posts of a campaign are on topic; return what that does to the campaign.

        Raises:
            ConflictError: somebody else has changed the campaign file.
            SettingsError: there is no such model, or the campaign cannot change to it.
        """
        self._change(status, name, digest, keep_keywords=keep_keywords).save()
        return describe_effect(status, epoch=True)

    def _change(
        self, status: sc.CampaignStatus, name: str, digest: str | None, *, keep_keywords: bool
    ) -> sc.CampaignFile:
        """Return the file of a campaign with a model, not saved; see `use_model`."""
        model = self._find_model(status, name)
        file = self._project.load_file(status.key, digest=digest)
        file.use_model(model, keep_keywords=keep_keywords)
        return file

    def _find_model(self, status: sc.CampaignStatus, name: str) -> Path:
        model = next((path for path in sc.list_models(self.open_labels(status).path) if path.name == name), None)
        if model is None:
            raise sc.SettingsError(f"There is no model {name!r} beside the labels: choose one from the list.")
        return model

    def find_file(self, status: sc.CampaignStatus) -> sc.CampaignFile | None:
        """Return the file of a campaign; None where it has none that can be changed here."""
        try:
            return self._project.load_file(status.key)
        except sc.SettingsError:
            return None

    def _list_waiting(self, place: tuple[str, str, str | None], labels: sc.LabelFile) -> list[Mapping[str, Any]]:
        known = {post["id"] for post in labels.posts}
        return [post for post in self._kept.get(place, ()) if post["id"] not in known]


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model of a campaign.

    Attributes:
        path: its file.
        report: how well it judges, and by which words.
        used: whether the campaign file names it.
    """

    path: Path
    report: sc.TextReport
    used: bool


def warn_of_model(about: Mapping[str, Any], preview: sc.ModelPreview | None) -> Iterator[str]:
    """Yield why somebody should think twice before a campaign uses a model.

    Args:
        about: what `describe_model` says of it.
        preview: which posts change sides; None: that is not known.
    """
    labels, off = about["on_topic"] + about["off_topic"], about["kept_out"] + about["wrong"]
    if labels < FEW_LABELS:
        yield f"It was trained from {labels:,} labels: label {FEW_LABELS:,} or more before you rely on it."
    if off and about["kept_out"] < off / 2:
        yield (
            f"It judges badly what is off topic: of {off:,} such posts that were labelled, it takes {about['wrong']:,} "
            "for posts on topic."
        )
    if preview is not None:
        now, then = preview.posts, preview.posts + preview.posts_on - preview.posts_off
        if max(now, then) > MUCH * min(now, then):
            yield (
                f"It changes how much is on topic more than {MUCH}-fold: from {now:,} to {then:,} posts of "
                f"{preview.examined:,}. Look at the examples first."
            )


def list_trained(file: sc.CampaignFile | None, labels: sc.LabelFile) -> list[TrainedModel]:
    """Return the models that were trained from some labels, the newest first; files that are no models are left out."""
    used = None if file is None else _find_used(file)
    found = []
    for path in reversed(sc.list_models(labels.path)[-MODELS:]):
        try:
            found.append(TrainedModel(path, sc.describe_model(path), path.resolve() == used))
        except sc.SettingsError:
            continue
    return found


def _check_enough(labels: sc.LabelFile) -> None:
    """Check that there are as many labels as a model needs.

    Raises:
        SettingsError: there are not.
    """
    lacking = {kind: labels.LEAST - labels.counts[kind] for kind in ("on_topic", "off_topic")}
    wanted = [f"{count:,} more {kind.replace('_', ' ')}" for kind, count in lacking.items() if count > 0]
    if wanted:
        raise sc.SettingsError(f"A model needs {labels.LEAST} posts of each kind: label {' and '.join(wanted)}.")


def _find_used(file: sc.CampaignFile) -> Path | None:
    """Return the file of the model that a campaign file names; None where it names none."""
    topic = file.values.get("topic")
    name = topic.get("model") if isinstance(topic, dict) else None
    return (file.path.parent / name).resolve() if isinstance(name, str) else None
