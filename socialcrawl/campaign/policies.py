"""Policy tables, those in `config/` and a campaign's own: TOML data, checked, as the value that planners work with."""

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from socialcrawl.engine.model import MILLS_PER_DOLLAR
from socialcrawl.errors import SettingsError
from socialcrawl.formats.documents import explain_toml_error, read_toml
from socialcrawl.platforms.facts import find_platform_facts
from socialcrawl.ratelimit.policy import Endpoint, Policy, Pool, Rule, parse_host
from socialcrawl.storage.queries.latest_windows import WindowRule
from socialcrawl.system.files import find_folder

LONGEST = 366 * 86_400  # seconds of a window


def _check_mills(dollars: float) -> float:
    mills = dollars * MILLS_PER_DOLLAR
    if abs(mills - round(mills)) > 1e-6 * max(1.0, mills):
        raise ValueError("write dollars in steps of 0.00001 (a thousandth of a cent)")
    return dollars


Price = Annotated[float, Field(ge=0, le=1e9), AfterValidator(_check_mills)]


class CheckedTable(BaseModel):
    """A table of a policy file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RuleTable(CheckedTable):
    """At most k requests per d seconds."""

    k: Annotated[int, Field(ge=1)]
    d: Annotated[float, Field(gt=0, le=LONGEST)]
    kind: Literal["fixed", "aligned", "sliding"] = "fixed"


class PoolTable(CheckedTable):
    """The rules that several endpoints of a server share, for tokens of apps, of users, and for nobody's."""

    app: list[RuleTable] = []
    user: list[RuleTable] = []
    public: list[RuleTable] = []


class EndpointTable(PoolTable):
    """The pools, rules, page size, kind of resource and fee of an endpoint."""

    pools: list[str] = []
    page: Annotated[int, Field(ge=1)] = 1
    smallest: Annotated[int, Field(ge=1)] | None = None
    returns: str = "post"
    fee: Price = 0.0
    advance: bool = False


class PolicyTable(CheckedTable):
    """A platform: where it is, what it allows, what it charges, and where that is written."""

    platform: str
    base_url: str
    as_of: date
    source: str = ""
    once_a_day: bool = False
    cap: Annotated[int, Field(ge=1)] | None = None
    page_parameter: str = ""
    prices: dict[str, Price] = {}
    pools: dict[str, PoolTable] = {}
    endpoints: dict[str, EndpointTable]

    @model_validator(mode="after")
    def _check_pools(self) -> "PolicyTable":
        for name, endpoint in self.endpoints.items():
            wrong = next((one for one in endpoint.pools if one not in self.pools), None)
            if wrong is not None:
                raise ValueError(f'[endpoints."{name}"] names a pool that is not there: add [pools.{wrong}]')
            if endpoint.smallest is not None and endpoint.smallest > endpoint.page:
                raise ValueError(f'[endpoints."{name}"] has a smallest page above its page: lower smallest')
            if len({*endpoint.pools}) < len(endpoint.pools):
                raise ValueError(f'[endpoints."{name}"] names a pool twice')
        return self


@cache
def load_policy(platform: str) -> Policy:
    """Return the policy of a platform as the project, or the package that adds it, knows it."""
    return load_policy_file(find_folder("config") / (find_platform_facts(platform).policy or f"{platform}.toml"))


def load_policy_file(path: Path) -> Policy:
    """Return the policy in the file `path`.

    Raises:
        SettingsError: the file is missing, is not TOML, or a key is unknown or out of range.
    """
    try:
        table = PolicyTable.model_validate(read_toml(path))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"The policy {path} is not valid TOML: {explain_toml_error(error, path)}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The policy {path} cannot be read ({error}): copy one from the config folder.") from error
    except ValidationError as error:
        wrong = error.errors()[0]
        place = "".join(f"{part}." for part in wrong["loc"]).removesuffix(".")
        said = str(wrong["ctx"]["error"]) if wrong["type"] == "value_error" and not place else wrong["msg"].lower()
        raise SettingsError(f"The policy {path}: {place}{': ' if place else ''}{said}.") from error
    pools = {name: Pool(name, **_make_rules(given)) for name, given in table.pools.items()}
    endpoints = {name: _make_endpoint(given, pools) for name, given in table.endpoints.items()}
    values = table.model_dump(exclude={"pools", "endpoints", "as_of"})
    return Policy(endpoints=endpoints, as_of=table.as_of.isoformat(), **values)


def _make_endpoint(given: EndpointTable, pools: Mapping[str, Pool]) -> Endpoint:
    return Endpoint(
        page=given.page,
        smallest=given.smallest or 0,
        returns=given.returns,
        fee=given.fee,
        advance=given.advance,
        pools=tuple(pools[name] for name in given.pools),
        **_make_rules(given),
    )


def _make_rules(given: PoolTable) -> dict[str, tuple[Rule, ...]]:
    kinds = (("app", given.app), ("user", given.user), ("public", given.public))
    return {kind: tuple(Rule(rule.k, rule.d, rule.kind) for rule in rules) for kind, rules in kinds}


def check_endpoint(policy: Policy, endpoint: str) -> None:
    """Check that a campaign's policy knows an endpoint.

    Raises:
        SettingsError: it does not, as a policy file of the campaign's own may be older.
    """
    if policy.find_endpoint(endpoint) is None:
        raise SettingsError(
            f"The campaign's own policy has no [endpoints.{endpoint!r}]: copy it from config/{policy.platform}.toml."
        )


def find_window_rule(settings: Mapping[str, Any], endpoint: str) -> WindowRule | None:
    """Return the rule of the rate limit of an endpoint that a campaign requests; None where none is known.

    It is the rule for one token of an app where there is one, else for one of a user, or for nobody's.

    Args:
        settings: those of the campaign, as they are stored.
        endpoint: its path, which may be named with its host.
    """
    source, limits = settings.get("source") or {}, settings.get("limits") or {}
    try:
        own = source.get("policy")
        table = load_policy(source["platform"]) if own is None else load_policy_file(Path(own))
        rules = table.override_limits(limits.get("k"), limits.get("d"))
        found = rules.get_endpoint(endpoint)
    except (SettingsError, KeyError):  # of another machine, or of a package that is not installed
        return None
    rule = next(iter(found.get_rules("app") or found.get_rules("user") or found.get_rules("public")), None)
    pools = {pool.name for pool in found.pools}

    def shares(other: str) -> bool:
        if other == endpoint or parse_host(other) != parse_host(endpoint) or not pools:
            return other == endpoint
        try:
            return not pools.isdisjoint(pool.name for pool in rules.get_endpoint(other).pools)
        except KeyError:
            return False

    return None if rule is None else WindowRule(rule.k, rule.d, rule.kind == "aligned", shares)
