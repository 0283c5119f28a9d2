"""A focused crawler for social APIs: it learns where to look, keeps to rate limits and a budget, and stores in SQL.

The names in `__all__` are the public interface: `import socialcrawl as sc`. They are imported when they are first used.
Everything else may change from version to version; docs/how-to/python.md says what is promised.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "Campaign",
    "CampaignEnding",
    "CampaignFile",
    "CampaignFrontier",
    "CampaignPage",
    "CampaignStatus",
    "ConflictError",
    "CostError",
    "Dataset",
    "Estimator",
    "Graph",
    "LabelFile",
    "MatchPreview",
    "ModelPreview",
    "Network",
    "NetworkMap",
    "PluginError",
    "PostsFileError",
    "Project",
    "RunProgress",
    "SettingsError",
    "SimulationResult",
    "SocialcrawlError",
    "SourceError",
    "StoreError",
    "Table",
    "TableColumn",
    "TextReport",
    "describe_model",
    "describe_settings",
    "list_models",
    "match_texts",
    "open",
    "open_project",
    "simulate",
    "train_model",
]  # fmt: skip

_HOMES = {
    "open": ("api.opening", "open_dataset"),
    "CampaignFile": ("api.campaign_file", "CampaignFile"),
    "describe_settings": ("api.campaign_file", "describe_settings"),
    "Campaign": ("api.campaign_runs", "Campaign"),
    "CampaignEnding": ("api.campaign_runs", "CampaignEnding"),
    "RunProgress": ("api.campaign_runs", "RunProgress"),
    "CampaignPage": ("api.text_report", "CampaignPage"),
    "TextReport": ("api.text_report", "TextReport"),
    "Dataset": ("api.dataset", "Dataset"),
    "Estimator": ("crawls.collect.estimators.base", "Estimator"),
    "CampaignFrontier": ("api.frontier", "CampaignFrontier"),
    "Graph": ("api.laboratory", "Graph"),
    "SimulationResult": ("api.laboratory", "SimulationResult"),
    "simulate": ("api.laboratory", "simulate"),
    "MatchPreview": ("api.match_preview", "MatchPreview"),
    "ModelPreview": ("api.match_preview", "ModelPreview"),
    "match_texts": ("api.match_preview", "match_texts"),
    "Network": ("api.network", "Network"),
    "NetworkMap": ("api.network", "NetworkMap"),
    "open_project": ("api.project", "open_project"),
    "Project": ("api.project", "Project"),
    "CampaignStatus": ("api.project_status", "CampaignStatus"),
    "LabelFile": ("api.label_file", "LabelFile"),
    "describe_model": ("api.model_training", "describe_model"),
    "list_models": ("api.model_training", "list_models"),
    "train_model": ("api.model_training", "train_model"),
    "Table": ("api.data_tables", "Table"),
    "TableColumn": ("api.data_tables", "TableColumn"),
    **{
        name: ("errors", name)
        for name in (
            "ConflictError", "CostError", "PluginError", "PostsFileError", "SettingsError", "SocialcrawlError",
            "SourceError", "StoreError",
        )
    },
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return globals().setdefault(name, getattr(import_module(f"{__name__}.{module}"), attribute))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
