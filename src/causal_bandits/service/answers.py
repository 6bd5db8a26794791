"""What a request that changes something is answered with; all other answers are the classes of the library.

They are typed dictionaries, so that the OpenAPI document and the answers come from the same serializer.
"""

from typing import Literal, TypedDict

from pydantic import BaseModel, ConfigDict

from ..policies.posterior import Source
from ..problem import Arm
from ..studies import DecisionRow


class Problem(BaseModel):
    """An error: one sentence, and the library's name for it where it has one."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "decision 9 is not known; the study has made decisions 1 to 1",
                    "error": "UnknownDecisionError",
                }
            ]
        }
    )
    type: str
    title: str
    status: int
    detail: str
    error: str | None = None


class Recorded(TypedDict):
    """A decision about which something is stored now."""

    id: int


class Told(TypedDict):
    """How many rows of a batch added something."""

    told: int


class Imported(TypedDict):
    """How many rows are new; 0 where the key had imported them before."""

    imported: int


class Expired(TypedDict):
    """Decisions that were closed."""

    expired: list[int]


class Arms(TypedDict):
    """Arms that changed."""

    arms: list[Arm]


class DecisionPage(TypedDict):
    """Some decisions; `next` is the id to pass as `after`, null at the end."""

    decisions: list[DecisionRow]
    next: int | None


class SetDrift(TypedDict):
    """Whether a set that is in use still holds: above 0 its evidence says that it does not."""

    variables: list[str]
    alarm: bool
    evidence: float
    row: int


class Drifts(TypedDict):
    """The sets in use; `alarms` counts those that no longer hold."""

    alarms: int
    sets: list[SetDrift]


class PosteriorDraws(TypedDict):
    """The posterior of all arms' means, in the order of the problem's arms."""

    rows: int
    means: list[float]
    sources: list[Source]
    draws: list[list[float]]
    """Joint draws: one row each, one column per arm."""


class Propensity(TypedDict):
    """The probability with which a decision's arm was chosen."""

    id: int
    propensity: float


class Ready(TypedDict):
    """The server takes requests."""

    status: Literal["ok"]


class Unready(TypedDict):
    """Why the server takes no requests now."""

    status: Literal["stopping", "storage unavailable"]
