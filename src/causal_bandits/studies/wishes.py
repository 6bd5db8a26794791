"""What a study may be asked to keep to, beside its problem and its policy."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from ..errors import OptionError, brief, listing
from ..problem import Arm, Level


class Wishes(TypedDict, total=False):
    """What a caller of `Study.create` asks for, unchecked; `Study.create` describes each."""

    expire_after: float | str | None
    reward_window: float | str | None
    control: Arm | Mapping[str, Level] | str | None
    control_share: float | None
    shares: Mapping[Any, Sequence[float | None]] | None
    min_share: float | None
    max_share: float | None
    guardrails: Mapping[Any, Sequence[Any]] | None
    guardrail_confidence: float | None
    metrics: Mapping[str, Any] | None
    cost: Mapping[Any, Any] | None
    reward_value: float | None
    consistency: str | None
    publish_rows: int | None
    publish_seconds: float | None


def wished(wishes: Wishes) -> Wishes:
    """Those of them that say something; a name that is none of them is refused.

    >>> wished({"control_share": 0.1, "cost": None})
    {'control_share': 0.1}
    """
    for name in wishes:
        if name not in Wishes.__annotations__:
            raise OptionError(f"a study has no {brief(name)}; expected {listing(Wishes.__annotations__, limit=20)}")
    return cast(Wishes, {name: value for name, value in wishes.items() if value is not None})
