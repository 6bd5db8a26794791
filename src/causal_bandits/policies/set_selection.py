"""By what the set of each arm is chosen: an option that policies over counts and over moments share."""

from typing import Literal, get_args

from ..discovery import Findings
from ..errors import OptionError

Choice = Literal["variance", "squared-error"]


def doubts(choice: str) -> bool:
    """Whether a set that may not separate is weighed by what its bias would cost."""
    if choice not in get_args(Choice):
        raise OptionError(f"choice={choice!r}; expected 'variance' or 'squared-error'")
    return choice == "squared-error"


def check_weighed(discovery: object, found: Findings | None) -> None:
    """Refuse a discovery that does not say how probable its sets are."""
    if found is not None and found.probability is None:
        raise OptionError(
            f"choice='squared-error' weighs sets by Bayes factors, which {type(discovery).__name__} does not "
            "give; use discovery=BayesFactors()"
        )
