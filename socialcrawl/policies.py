"""Policy tables, those in `config/` and a campaign's own: TOML data, checked, as the value that planners work with."""

import tomllib
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from socialcrawl.errors import SettingsError
from socialcrawl.limits.policy import Endpoint, Policy, Rule
from socialcrawl.model import MILLS_PER_DOLLAR
from socialcrawl.resources import folder

LONGEST = 366 * 86_400  # seconds of a window


def _whole(dollars: float) -> float:
    mills = dollars * MILLS_PER_DOLLAR
    if abs(mills - round(mills)) > 1e-6 * max(1.0, mills):
        raise ValueError("write dollars in steps of 0.00001 (a thousandth of a cent)")
    return dollars


Price = Annotated[float, Field(ge=0, le=1e9), AfterValidator(_whole)]


class Table(BaseModel):
    """A table of a policy file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RuleTable(Table):
    """At most k requests per d seconds."""

    k: Annotated[int, Field(ge=1)]
    d: Annotated[float, Field(gt=0, le=LONGEST)]
    kind: Literal["fixed", "aligned", "sliding"] = "fixed"


class EndpointTable(Table):
    """The rules, page size, kind of resource and fee of an endpoint."""

    app: list[RuleTable] = []
    user: list[RuleTable] = []
    page: Annotated[int, Field(ge=1)] = 1
    returns: str = "post"
    fee: Price = 0.0


class PolicyTable(Table):
    """A platform: where it is, what it allows, what it charges, and where that is written."""

    platform: str
    base_url: str
    as_of: date
    source: str = ""
    once_a_day: bool = False
    cap: Annotated[int, Field(ge=1)] | None = None
    prices: dict[str, Price] = {}
    endpoints: dict[str, EndpointTable]


@cache
def policy(platform: str) -> Policy:
    """The policy of a platform as the project knows it, from `config/`."""
    return policy_in(folder("config") / f"{platform}.toml")


def policy_in(path: Path) -> Policy:
    """The policy in the file `path`.

    Raises:
        SettingsError: the file is missing, is not TOML, or a key is unknown or out of range.
    """
    try:
        table = PolicyTable.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"The policy {path} cannot be read ({error}): copy one from the config folder.") from error
    except ValidationError as error:
        wrong = error.errors()[0]
        raise SettingsError(
            f"The policy {path}: {'.'.join(map(str, wrong['loc']))}: {wrong['msg'].lower()}."
        ) from error
    endpoints = {name: _endpoint(given) for name, given in table.endpoints.items()}
    whole = table.model_dump(exclude={"endpoints", "as_of"})
    return Policy(endpoints=endpoints, as_of=table.as_of.isoformat(), **whole)


def _endpoint(given: EndpointTable) -> Endpoint:
    app, user = (tuple(Rule(rule.k, rule.d, rule.kind) for rule in rules) for rules in (given.app, given.user))
    return Endpoint(app, user, given.page, given.returns, given.fee)
