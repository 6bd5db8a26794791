"""Options, each described once.

A model of options is a class whose annotations are `Annotated[type, Option(help, kind)]`. Python calls, command-line
flags, request bodies, OpenAPI, stored settings and the tables of the documentation are all derived from it, and a
value that cannot be used is rejected in the same words everywhere. To add an option, add a line to its model.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict
from urllib.parse import urlsplit

from ..core.problem import Arm, Level
from ..core.validation import duration, is_number
from ..errors import OptionError, brief, flag, listing, share, whole_number

if TYPE_CHECKING:
    from ..core.policies import Policy

BOUND = re.compile(r"\s*(?P<metric>.+?)\s*(?P<sign><=|>=)\s*(?P<limit>[^<>=]+?)\s*")
SHARES = re.compile(r"\s*(?P<arm>.*?)\s*:\s*(?P<low>[^:-]*)-(?P<high>[^:-]*)")
WEBHOOK_VARIABLE = re.compile(r"\$(CAUSAL_BANDITS_[A-Z0-9_]{1,100})")
_PRINTABLE = re.compile(r"[!-~]{1,2000}")
Schema = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """What values an option takes.

    Args:
        check: Name and value -> the value to use; raises an `OptionError`.
        schema: The JSON schema of a value.
        metavar: How help texts show a value.
        from_text: The value that a text of the command line, the environment or a file stands for.
        many: Whether the command line repeats the flag, once for each item.
    """

    check: Callable[[str, Any], Any]
    schema: Schema
    metavar: str
    from_text: Callable[[str, str], Any] = lambda _, text: text
    many: bool = False


@dataclass(frozen=True)
class Option:
    """An option: what it is for, what values it takes, and its flag where that is not its name."""

    help: str
    kind: Kind
    flag: str = ""


def options_of(model: Any) -> dict[str, Option]:
    """The options of a model, by name."""
    found: dict[str, Option] = {}
    for base in reversed(model.__mro__):
        for name, annotation in getattr(base, "__annotations__", {}).items():
            for each in getattr(annotation, "__metadata__", ()):
                if isinstance(each, Option):
                    found[name] = each
    return found


def checked_options(model: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, checked, in the order of the model; None is an option that was not given.

    >>> checked_options(StudyOptions, {"reward_window": "2h", "cost": None})
    {'reward_window': 7200.0}
    """
    known = options_of(model)
    for name in given:
        if name not in known:
            raise unknown_option(name, known)
    return {name: each.kind.check(name, given[name]) for name, each in known.items() if given.get(name) is not None}


def check_fields(options: Any) -> None:
    """Check the options of a frozen dataclass, from its `__post_init__`."""
    for name, option in options_of(type(options)).items():
        if getattr(options, name) is not None:
            object.__setattr__(options, name, option.kind.check(name, getattr(options, name)))


def unknown_option(name: object, known: Iterable[str], what: str = "option") -> OptionError:
    """The error for an option or a parameter that does not exist.

    >>> print(unknown_option("sed", ["policy", "seed"]))
    unknown option 'sed' (did you mean 'seed'?); expected one of 'policy', 'seed'
    """
    allowed = sorted(known)
    close = difflib.get_close_matches(str(name)[:100], allowed, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    one_of = "one of " if len(allowed) > 1 else ""
    return OptionError(f"unknown {what} {brief(name)}{hint}; expected {one_of}{listing(allowed, limit=40)}")


# Kinds


def _parsed(make: Callable[[str], Any]) -> Callable[[str, str], Any]:
    """A number where the text is one; another text is left for the check to reject."""

    def read(_: str, text: str) -> Any:
        try:
            return make(text)
        except ValueError:
            return text

    return read


_number_in, _whole_in = _parsed(float), _parsed(int)


def json_in(name: str, text: str) -> Any:
    """The values of a JSON text."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise OptionError(f"{name} is not JSON ({' '.join(str(error).split())[:160]})") from None
    except RecursionError:
        raise OptionError(f"{name} is nested too deeply; use fewer levels") from None


def _above_zero(name: str, value: object) -> float:
    if not is_number(value) or not 0 < float(value) < float("inf"):  # type: ignore[arg-type]
        raise OptionError(f"{name}={brief(value)}; expected a number above 0")
    return float(value)  # type: ignore[arg-type]


def _mapping(name: str, value: object) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise OptionError(f"{name}={brief(value)}; expected a mapping")
    return value


def _items(expected: str, read: Callable[[str], tuple[str, Any] | None]) -> Callable[[str, Any], Mapping[Any, Any]]:
    """The check of a mapping that may also be written as a list of texts."""

    def check(name: str, value: Any) -> Mapping[Any, Any]:
        if isinstance(value, Mapping):
            return value
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise OptionError(f"{name}={brief(value)}; expected a mapping, or a list of strings such as {expected}")
        found = {}
        for text in value:
            item = read(text) if isinstance(text, str) else None
            if item is None:
                raise OptionError(f"{name}={brief(text)}; expected {expected}")
            found[item[0]] = item[1]
        return found

    return check


def _guardrail(text: str) -> tuple[str, Any] | None:
    match = BOUND.fullmatch(text)
    return None if match is None else (match["metric"], (match["sign"], _number_in("", match["limit"])))


def _share_of_arm(text: str) -> tuple[str, Any] | None:
    match = SHARES.fullmatch(text)
    return match and (match["arm"], tuple(_number_in("", end) if end else None for end in match.group("low", "high")))


def _metric(text: str) -> tuple[str, Any] | None:
    name, sign, kind = text.rpartition("=")
    ends = [_number_in("", end) for end in kind.split(":")] if ":" in kind else kind.strip()
    return (name.strip(), ends) if sign else None


def _flag_in(_: str, text: str) -> Any:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str | Path):
        raise OptionError(f"{name}={brief(value)}; expected a string")
    return str(value)


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(each, str) for each in value):
        raise OptionError(f"{name}={brief(value)}; expected a list of strings")
    return tuple(value)


def _webhook(name: str, value: object) -> str:
    """An address that alarms may be posted to, or $NAME for the one in an environment variable."""
    text = _text(name, value)
    if WEBHOOK_VARIABLE.fullmatch(text):
        return text
    if text.startswith("$"):
        raise OptionError(f"{name}={brief(text)}; expected a variable whose name begins with $CAUSAL_BANDITS_")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not _PRINTABLE.fullmatch(text):
        shown = brief(f"{parts.scheme}:..." if parts.scheme else text[:20])  # the rest may be a secret
        raise OptionError(f"{name}={shown}; expected an address such as https://example.com/alarms, http or https")
    if "@" in parts.netloc:
        raise OptionError(f"{name} has a user or password in its address; sign requests instead (webhook_secret_file)")
    return text


def whole(least: int, most: int) -> Kind:
    """Whole numbers in a range."""
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Kind(lambda name, value: whole_number(name, value, least, most), schema, "N", _whole_in)


def choice(*allowed: str) -> Kind:
    """One of some words."""

    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise OptionError(f"{name}={brief(value)}; expected one of {listing(allowed)}")
        return value

    return Kind(check, {"enum": [*allowed]}, "|".join(allowed))


def text_up_to(most: int) -> Kind:
    """Texts that are not empty and not too long."""

    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or not value.strip() or len(value) > most:
            raise OptionError(f"{name}={brief(value)}; expected a non-empty string of at most {most:,} characters")
        return value

    return Kind(check, {"type": "string", "minLength": 1, "maxLength": most}, "TEXT")


TEXT = Kind(_text, {"type": "string"}, "TEXT")
FILE = Kind(_text, {"type": "string"}, "FILE")
TEXTS = Kind(_texts, {"type": "array", "items": {"type": "string"}}, "TEXT", many=True)
FLAG = Kind(flag, {"type": "boolean"}, "", _flag_in)
SECONDS = Kind(duration, {"type": ["number", "string"], "examples": ["14d", 3600]}, "DURATION")
SHARE = Kind(share, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "SHARE", _number_in)
ABOVE_ZERO = Kind(_above_zero, {"type": "number", "exclusiveMinimum": 0}, "NUMBER", _number_in)
JSON = Kind(_mapping, {"type": "object"}, "JSON", json_in)
POLICY = Kind(lambda _, value: value, {"type": "string"}, "NAME")
ARM = Kind(lambda _, value: value, {"type": ["object", "string"]}, "LEVER=VALUE,...")
GUARDRAILS = Kind(_items("metric<=limit or metric>=limit", _guardrail), {"type": "object"}, "METRIC<=LIMIT", many=True)
ARM_SHARES = Kind(
    _items("lever=value,...:min-max", _share_of_arm),
    {"type": "object"},
    "LEVER=VALUE,...:MIN-MAX",
    many=True,
)
METRICS = Kind(
    _items("name=bool, name=float or name=lowest:highest", _metric), {"type": "object"}, "NAME=KIND", many=True
)
WEBHOOK = Kind(_webhook, {"type": "string", "examples": ["https://example.com/alarms"]}, "URL")
WEBHOOK_FORMAT = choice("json", "slack")


def _sticky(name: str, value: object) -> float | str:
    if isinstance(value, str) and value in ("forever", "never"):
        return value
    try:
        return duration(name, value)
    except OptionError:
        raise OptionError(
            f"{name}={brief(value)}; expected 'forever', 'never' or a duration such as 30d, 36h, 90m or 45s"
        ) from None


STICKY = Kind(
    _sticky, {"type": ["number", "string"], "examples": ["forever", "30d", "never"]}, "forever|never|DURATION"
)
LOG_LEVEL = choice("debug", "info", "warning", "error")
SECONDS_HELP = "in seconds or as 14d, 36h, 90m or 45s"


class StudyOptions(TypedDict, total=False):
    """Options of a study besides its problem; None means that an option is not set."""

    title: Annotated[str | None, Option("Display name of the study, on pages and in reports.", text_up_to(200))]
    description: Annotated[str | None, Option("What the study is about, in a sentence or two.", text_up_to(2000))]
    policy: Annotated[
        "str | Policy[Any] | None", Option("Preset (safe or paper) or policy name (ts, ...) [default: safe].", POLICY)
    ]
    options: Annotated[Mapping[str, Any] | None, Option("Options of the policy.", JSON)]
    seed: Annotated[
        int | None,
        Option("Seed: the same seed gives the same decisions [default: random].", whole(0, 2**128 - 1)),
    ]
    expire_after: Annotated[
        float | str | None,
        Option(
            f"Close decisions that are open for this long, {SECONDS_HELP}; until then late outcomes count.",
            SECONDS,
        ),
    ]
    reward_window: Annotated[
        float | str | None,
        Option(
            f"Time within which a reward must arrive, {SECONDS_HELP}. Rewards count when the window of their decision "
            "closes; missing rewards count as 0.",
            SECONDS,
        ),
    ]
    sticky: Annotated[
        float | str | None,
        Option(
            "How long a key keeps its decision: forever, a duration such as 30d, or never (every ask is new) "
            "[default: forever].",
            STICKY,
        ),
    ]
    after_finish: Annotated[
        str | None,
        Option(
            "What `ask` returns after `finish`: the winner, or an error [default: winner].",
            choice("winner", "error"),
        ),
    ]
    control: Annotated[
        Arm | Mapping[str, Level] | str | None,
        Option("Baseline arm for lift, a mapping or lever=value,... [default: every lever at its control level].", ARM),
    ]
    control_share: Annotated[float | None, Option("Exact share of decisions for the control.", SHARE)]
    shares: Annotated[
        Mapping[Any, Sequence[float | None]] | Sequence[str] | None,
        Option(
            'Minimum and maximum share of individual arms: {"banner=red": [0.05, 0.5]} or banner=red:0.05-0.5.',
            ARM_SHARES,
            "--share",
        ),
    ]
    min_share: Annotated[float | None, Option("Minimum share of every other arm.", SHARE)]
    max_share: Annotated[float | None, Option("Maximum share of every other arm.", SHARE)]
    metrics: Annotated[
        Mapping[str, Any] | Sequence[str] | None,
        Option(
            'Additional guardrail metrics: {"refund": "bool", "minutes": [0, 60]} or refund=bool, minutes=0:60.',
            METRICS,
            "--metric",
        ),
    ]
    guardrails: Annotated[
        Mapping[Any, Sequence[Any]] | Sequence[str] | None,
        Option(
            'Limits on the mean of a mediator, a metric or the reward under each arm: {"refund": ["<=", 0.02]}, '
            "refund<=0.02 or revenue>=0.95 x control. An arm that breaks one is not chosen.",
            GUARDRAILS,
            "--guardrail",
        ),
    ]
    guardrail_confidence: Annotated[
        float | None,
        Option("Guardrail confidence level [default: 0.95].", SHARE),
    ]
    cost: Annotated[
        Mapping[Any, Any] | None,
        Option('Costs of levels or arms in units of the reward: {"lever": {"level": 0.1}, "lever=value": 1}.', JSON),
    ]
    reward_value: Annotated[
        float | None, Option("Value of a reward of 1, in the unit of the costs [default: 1].", ABOVE_ZERO)
    ]
    mode: Annotated[
        str | None,
        Option(
            "transactional, or high-throughput: many decisions per second on PostgreSQL, from snapshots in memory "
            "[default: transactional].",
            choice("transactional", "high-throughput"),
        ),
    ]
    publish_rows: Annotated[
        int | None,
        Option(
            "High throughput: publish a snapshot after this many decisions and outcomes "
            "[default: 1% of the rows at the last one, at most 1000].",
            whole(1, 1_000_000),
        ),
    ]
    publish_seconds: Annotated[
        float | str | None,
        Option(
            f"High throughput: publish once the oldest row has waited this long, {SECONDS_HELP} [default: 1].",
            SECONDS,
        ),
    ]
    webhook: Annotated[
        str | None,
        Option(
            "URL that alarms of the study are posted to, or $CAUSAL_BANDITS_... for an environment variable of the "
            "server, which delivers them.",
            WEBHOOK,
        ),
    ]
    webhook_format: Annotated[
        str | None, Option("Webhook payload format: json or slack [default: json].", WEBHOOK_FORMAT)
    ]
    allow_private_webhook: Annotated[
        bool | None,
        Option(
            "Permit a webhook on this machine or in a private network; over HTTP the server must permit it too.", FLAG
        ),
    ]


@dataclass(frozen=True)
class AlarmOptions:
    """How alarms of all studies are found and delivered."""

    webhook: Annotated[
        str | None,
        Option(
            "URL that alarms of all studies are posted to, or $CAUSAL_BANDITS_... for an environment variable.", WEBHOOK
        ),
    ] = None
    webhook_format: Annotated[str, Option("Webhook payload format: json or slack.", WEBHOOK_FORMAT)] = "json"
    webhook_secret_file: Annotated[
        str | None, Option("File with the secret that signs every request to a webhook (HMAC-SHA256).", FILE)
    ] = None
    allow_private_webhooks: Annotated[
        bool, Option("Permit webhooks on this machine or in a private network.", FLAG)
    ] = False
    check_seconds: Annotated[
        float, Option(f"Minimum time between checks of a study with new events, {SECONDS_HELP}.", SECONDS)
    ] = 60.0

    def __post_init__(self) -> None:
        check_fields(self)
