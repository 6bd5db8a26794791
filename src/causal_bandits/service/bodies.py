"""What requests say. Unknown fields are refused; what values mean is the library's to check."""

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..errors import OptionError, brief
from .problems import sentence

Level = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Value = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
"""What a level or a value may be: the library knows, and has the sentence for what it may not be."""
Settings = Annotated[dict[str, Level], Field(description="An arm: lever -> level; a lever that is not named is idle.")]
AnyArm = Annotated[
    Any, WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
]
Text = Annotated[Any, WithJsonSchema({"type": "string"})]
Pair = Annotated[Any, WithJsonSchema({"type": "array", "items": {}})]
Whole = StrictInt
Number = StrictInt | StrictFloat
Duration = Annotated[Number | StrictStr, Field(description='Seconds, or a text such as "14d", "36h", "90m" or "45s".')]

MOST_DECISIONS = 10_000
"""In one request: so many take half a second, for which a study answers nobody else."""

PROBLEM_EXAMPLE: dict[str, Any] = {
    "target": "purchase",
    "observed": {"clicked": 2, "cart": ["empty", "some", "full"]},
    "interventions": {"banner": ["none", "red", "blue"], "discount": ["none", "10%"]},
}


class Body(BaseModel):
    """A JSON object with these fields and no others.

    Validation stops at the first unknown field, and the items of lists and objects are for the library to check: an
    error for each of many would take far longer than reading them.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                raise PydanticCustomError(
                    "unknown_field",
                    "{field} is not a field of this request; leave it out",
                    {"field": brief(name)[1:-1]},
                )
        return given

    @classmethod
    def of(cls, given: Any) -> Self:
        """A body from its JSON value, or one sentence."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first: dict[str, Any] = dict(error.errors(include_url=False)[0])
        raise OptionError(sentence({**first, "loc": ("body", *first["loc"])}))


class NewStudy(Body):
    """A study to create."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "checkout", "problem": PROBLEM_EXAMPLE, "seed": 1}]}
    )
    name: StrictStr
    problem: dict[str, Any] = Field(description="target, observed and interventions; optionally arms, idle, reward.")
    policy: StrictStr | None = Field(None, description="Preset (safe by default, or paper) or policy name.")
    options: dict[str, Any] | None = Field(None, description="Options of the policy.")
    seed: Whole | None = Field(None, description="Seed of its decisions; random by default.", ge=0)
    expire_after: Duration | None = Field(None, description="Time after which an open decision is closed.")
    reward_window: Duration | None = Field(None, description="Time in which a reward must come; then it is 0.")
    control: dict[str, Any] | StrictStr | None = Field(None, description="The arm that others are compared with.")
    control_share: Number | None = Field(None, description="Share of decisions that the control gets.")
    shares: dict[str, Pair] | None = Field(
        None, description='Arm, written "lever=level,...", -> [least, greatest] share; null for no limit.'
    )
    min_share: Number | None = Field(None, description="Least share of every arm.")
    max_share: Number | None = Field(None, description="Largest share of every arm.")
    guardrails: dict[str, Pair] | None = Field(
        None, description='Metric -> ["<=" or ">=", limit]; a limit is a number or "0.95 x control".'
    )
    guardrail_confidence: Number | None = Field(None, description="How sure it must be that an arm breaks one.")
    metrics: dict[str, Any] | None = Field(
        None, description='Guardrail metrics: name -> "bool", "float" or [lowest, highest].'
    )
    cost: dict[str, Any] | None = Field(None, description='Lever -> {level: cost}, or "lever=level,..." -> cost.')
    reward_value: Number | None = Field(None, description="What one unit of the reward is worth, in units of cost.")
    consistency: StrictStr | None = Field(None, description="strict (the default), or served, on PostgreSQL.")
    publish_rows: Whole | None = Field(
        None, description="Served: rows after which to publish a snapshot; 1% more by default."
    )
    publish_seconds: Number | None = Field(None, description="Served: seconds after which to publish a snapshot.")


def _few(count: int) -> int:
    if count > MOST_DECISIONS:
        raise ValueError(f"expected at most {MOST_DECISIONS:,} decisions in one request; ask for the rest in others")
    return count


class Ask(Body):
    """Decisions to make."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 1}, {"count": 2, "arms": [{"banner": "red"}]}]})
    count: Annotated[Whole, AfterValidator(_few)] = Field(
        1, ge=1, json_schema_extra={"maximum": MOST_DECISIONS}, description="How many, all from the same state."
    )
    segment: Settings | None = Field(None, description="Which segment they are for, where the problem has segments.")
    arms: list[AnyArm] | None = Field(None, description="Choose among these arms alone.")


class Outcome(Body):
    """What came of a decision, whole or in part."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"metrics": {"clicked": 1, "cart": "some"}, "reward": 0}, {"reward": 1}]}
    )
    metrics: dict[str, Value] | None = Field(None, description="Variable -> value; null marks a variable as missing.")
    reward: Value = None
    final: StrictBool = Field(False, description="Treat variables that are still unknown as missing.")


class Table(Body):
    """A table by its columns: an empty cell is not known yet."""

    columns: dict[str, list[Value]]


class Rows(Body):
    """Logged rows to import, by rows or by columns."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"rows": [{"banner": "red", "discount": "none", "clicked": 1, "cart": "some", "purchase": 0}]},
                {"columns": {"clicked": [0, 1], "cart": ["empty", "some"], "purchase": [0, 1]}, "arm": {}},
            ]
        }
    )
    rows: list[dict[str, Value]] | None = None
    columns: dict[str, list[Value]] | None = None
    arm: Settings | None = Field(None, description="The arm of every row; {} for rows from before any lever moved.")


class ArmState(Body):
    """Whether an arm is chosen."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "forbidden"}]})
    state: Literal["allowed", "forbidden", "retired"]


class NewArm(Body):
    """One more arm."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"arm": {"banner": "green"}, "new_levels": True}]})
    arm: Settings
    new_levels: StrictBool = Field(False, description="Its levers may have levels that no arm had before.")


class NewLevel(Body):
    """A new level of a lever, with every setting of the other levers."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"lever": "banner", "level": "green"}]})
    lever: StrictStr
    level: Level


class Expiry(Body):
    """Which open decisions to close."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"older_than": 86400}]})
    older_than: Duration = Field(description="Age of the decisions to close.")
