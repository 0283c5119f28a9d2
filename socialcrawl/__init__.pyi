from socialcrawl.api.campaign_file import CampaignFile as CampaignFile
from socialcrawl.api.campaign_file import describe_settings as describe_settings
from socialcrawl.api.campaign_runs import Campaign as Campaign
from socialcrawl.api.campaign_runs import CampaignEnding as CampaignEnding
from socialcrawl.api.campaign_runs import RunProgress as RunProgress
from socialcrawl.api.data_tables import Table as Table
from socialcrawl.api.data_tables import TableColumn as TableColumn
from socialcrawl.api.dataset import Dataset as Dataset
from socialcrawl.api.frontier import CampaignFrontier as CampaignFrontier
from socialcrawl.api.label_file import LabelFile as LabelFile
from socialcrawl.api.laboratory import Graph as Graph
from socialcrawl.api.laboratory import SimulationResult as SimulationResult
from socialcrawl.api.laboratory import simulate as simulate
from socialcrawl.api.match_preview import MatchPreview as MatchPreview
from socialcrawl.api.match_preview import ModelPreview as ModelPreview
from socialcrawl.api.match_preview import match_texts as match_texts
from socialcrawl.api.model_training import describe_model as describe_model
from socialcrawl.api.model_training import list_models as list_models
from socialcrawl.api.model_training import train_model as train_model
from socialcrawl.api.network import Network as Network
from socialcrawl.api.network import NetworkMap as NetworkMap
from socialcrawl.api.opening import open_dataset as open  # noqa: A004
from socialcrawl.api.project import Project as Project
from socialcrawl.api.project import open_project as open_project
from socialcrawl.api.project_status import CampaignStatus as CampaignStatus
from socialcrawl.api.text_report import CampaignPage as CampaignPage
from socialcrawl.api.text_report import TextReport as TextReport
from socialcrawl.crawls.collect.estimators.base import Estimator as Estimator
from socialcrawl.errors import ConflictError as ConflictError
from socialcrawl.errors import CostError as CostError
from socialcrawl.errors import PluginError as PluginError
from socialcrawl.errors import PostsFileError as PostsFileError
from socialcrawl.errors import SettingsError as SettingsError
from socialcrawl.errors import SocialcrawlError as SocialcrawlError
from socialcrawl.errors import SourceError as SourceError
from socialcrawl.errors import StoreError as StoreError

__version__: str
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
