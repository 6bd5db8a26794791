"""Request bodies and tables in them. Unknown fields are rejected; the library validates values."""

import inspect
import io
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

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
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ...errors import OptionError, brief
from ..options import SECONDS, Option, StudyOptions, options_of, unknown_option
from .gate import RefusedError
from .operations import SPELLED, Operation
from .problems import sentence

Level = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Value = Annotated[Any, WithJsonSchema({"type": ["string", "number", "boolean", "null"]})]
"""A level or a value; the library validates it."""
Settings = Annotated[
    dict[str, Level], Field(description="An arm: lever -> level; a lever that is not named is at its control level.")
]
AnyArm = Annotated[
    Any, WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
]
Text = Annotated[Any, WithJsonSchema({"type": "string"})]
Pair = Annotated[Any, WithJsonSchema({"type": "array", "items": {}})]
Whole = StrictInt
Number = StrictInt | StrictFloat
Duration = Annotated[Any, WithJsonSchema(SECONDS.schema)]

MOST_DECISIONS = 10_000
"""In one request: this many take half a second, for which a study answers nobody else."""

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
                    "unknown_option", "{said}", {"said": str(unknown_option(name, cls.model_fields))}
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


class NamedProblem(Body):
    """A study to create."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "checkout", "problem": PROBLEM_EXAMPLE, "seed": 1}]}
    )
    name: StrictStr
    problem: dict[str, Any] = Field(
        description="target, observed and interventions; other entries, such as reward and arms, are optional."
    )


def _asked(option: Option) -> Any:
    """The field of an option; the library checks its value."""
    schema = {"anyOf": [option.kind.schema, {"type": "null"}], "default": None}
    return Annotated[Any, WithJsonSchema(schema)], Field(None, description=option.help)


if TYPE_CHECKING:
    NewStudy = NamedProblem
else:
    _OPTIONS = {name: _asked(option) for name, option in options_of(StudyOptions).items()}
    NewStudy = create_model("NewStudy", __base__=NamedProblem, **_OPTIONS)


def _few(count: int) -> int:
    if count > MOST_DECISIONS:
        raise ValueError(f"expected at most {MOST_DECISIONS:,} decisions in one request; ask for the rest in others")
    return count


class Ask(Body):
    """Decisions to make."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 1}, {"count": 2, "arms": [{"banner": "red"}]}]})
    count: Annotated[Whole, AfterValidator(_few)] = Field(
        1,
        ge=1,
        json_schema_extra={"maximum": MOST_DECISIONS},
        description="Number of decisions, all made from the same state.",
    )
    segment: Settings | None = Field(None, description="The segment, if the problem has segments.")
    arms: list[AnyArm] | None = Field(None, description="Choose only among these arms.")
    key: Text | None = Field(
        None,
        description="The visitor: the same key returns the same decisions, for as long as the option `sticky` allows.",
    )


class Outcome(Body):
    """The outcome of a decision, complete or partial."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"mediators": {"clicked": 1, "cart": "some"}, "reward": 0}, {"reward": 1}]}
    )
    mediators: dict[str, Value] | None = Field(None, description="Variable -> value; null marks a variable as missing.")
    reward: Value = None
    final: StrictBool = Field(False, description="Treat unreported variables as missing.")


class KeyedOutcome(Outcome):
    """The outcome of the decision of a key."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"key": "visitor-42", "mediators": {"clicked": 1}, "reward": 1}]}
    )
    key: Text = Field(description="Key passed to `ask`.")


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
    arm: Settings | None = Field(None, description="The arm of every row; {} for rows of the control.")


class ArmState(Body):
    """Whether an arm is chosen."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "forbidden"}]})
    state: Literal["allowed", "forbidden", "retired"]


class NewArm(Body):
    """One more arm."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"arm": {"banner": "green"}, "new_levels": True}]})
    arm: Settings
    new_levels: StrictBool = Field(False, description="Allow new levels.")


Pattern = Annotated[
    Settings, AfterValidator(lambda arm: {lever: ... if level is None else level for lever, level in arm.items()})
]
ARGUMENTS: dict[str, Any] = {
    "id": Annotated[Whole | None, Field(description="The decision.")],
    "ids": Annotated[list[Whole] | None, Field(description="Decisions.")],
    "key": Annotated[Text | None, Field(description="Key passed to `ask`.")],
    "mediators": Annotated[dict[str, Value] | None, Field(description="Variable -> value.")],
    "reward": Value,
    "reason": Annotated[Text, Field(description="Why.")],
    "since": Annotated[Text | None, Field(description="Decisions made at or after this time, such as 2026-11-18.")],
    "until": Annotated[Text | None, Field(description="Decisions made before this time.")],
    "arm": Annotated[Pattern | None, Field(description="Decisions for this arm; null matches any level of a lever.")],
    "segment": Annotated[Settings | None, Field(description="Their segment.")],
    "key_prefix": Annotated[Text | None, Field(description="Decisions whose key starts with this text.")],
    "lever": StrictStr,
    "level": Level,
    "text": Annotated[StrictStr | None, Field(description="The note; null removes it.")],
    "at": Annotated[
        StrictStr | None,
        Field(description="Date or time in ISO 8601, UTC unless an offset is given [default: now]."),
    ],
    "older_than": Annotated[Duration, Field(description="Minimum age of the decisions to close.")],
}
"""The fields of the bodies that have the arguments of a method of `Study`."""


def body_of(name: str, operation: Operation, parameters: Iterable[inspect.Parameter]) -> type[Body]:
    """The body of a request with these arguments."""
    fields: dict[str, Any] = {}
    for each in parameters:
        field = SPELLED.get(each.name, each.name)
        fields[field] = (ARGUMENTS[field], ... if each.default is each.empty else each.default)
    made = create_model("".join(map(str.title, name.split("_"))), __base__=Body, **fields)
    made.model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [operation.example]})
    return made


# Tables: a JSON array of rows, NDJSON, or columns


MOST_NESTED = 1_000_000
"""Brackets in a body: a list of empty lists takes 20 times its length in memory."""

Row = dict[str, Any]
Columns = dict[str, list[Any]]


def table_in(content: bytes, most: int, *, ndjson: bool) -> list[Row] | Columns:
    """Rows (an array or NDJSON) or columns (an object) with at most this many rows."""
    if ndjson:
        return rows_in_lines(content, most)
    found = json_in(content)
    if isinstance(found, list):
        return checked_rows(found, most)
    if not isinstance(found, dict):
        raise OptionError(f"the body is {brief(found)}; expected an array of rows, or an object with columns")
    if "columns" not in found:
        raise OptionError(
            "the body is one object without columns; expected a list of rows, or an object with columns, each a list "
            "of values"
        )
    for name in found:
        if name != "columns":
            raise unknown_option(name, ["columns"])
    return checked_columns(found["columns"], most)


def rows_in_lines(content: bytes, most: int) -> list[Row]:
    """The rows of NDJSON: one object per line; empty lines do not count."""
    lines = [(number, line) for number, line in enumerate(io.BytesIO(content), 1) if line.strip()]
    if len(lines) > most:
        raise too_many(most)
    rows = []
    for number, line in lines:
        found = json_in(line, f"line {number}")
        if not isinstance(found, dict):
            raise OptionError(f"line {number} is {brief(found)}; expected an object with names and values")
        rows.append(found)
    return rows


def checked_rows(found: Any, most: int) -> list[Row]:
    """Rows as a request has them."""
    if not isinstance(found, list):
        raise OptionError(f"rows={brief(found)}; expected a list of objects")
    if len(found) > most:
        raise too_many(most)
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise OptionError(f"row {number} is {brief(row)}; expected an object with names and values")
    return found


def checked_columns(found: Any, most: int) -> Columns:
    """Columns as a request has them."""
    if not isinstance(found, dict):
        raise OptionError(f"columns={brief(found)}; expected an object with a list for each name")
    for name, column in found.items():
        if not isinstance(column, list):
            raise OptionError(f"the column {brief(name)} is {brief(column)}; expected a list of values")
        if len(column) > most:
            raise too_many(most)
    return found


def too_many(most: int) -> RefusedError:
    """The error for a table with too many rows."""
    return RefusedError(413, f"the table has more than {most:,} rows; send it in parts")


def json_in(content: bytes, what: str = "the body") -> Any:
    """The value of a JSON text."""
    if content.count(b"[") + content.count(b"{") > MOST_NESTED:
        raise RefusedError(413, f"{what} has more than {MOST_NESTED:,} brackets; send it in parts")
    try:
        return json.loads(content.decode())
    except RecursionError:
        raise OptionError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise RefusedError(400, f"{what} is not JSON ({' '.join(str(error).split())[:160]})") from None
