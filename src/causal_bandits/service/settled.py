"""What a study is from the start, in plain values."""

from typing import Any

from ..studies import Study
from ..studies.decisions import moment


def study_settings(study: Study) -> dict[str, Any]:
    """Settings as an answer shows them, with the arms of today."""
    session = study._session
    about = session.settings
    given = {"consistency": about.consistency, "rules": about.rules}
    return {
        **{name: value for name, value in given.items() if value is not None},
        "name": study.name,
        "created": moment(session.row.created).isoformat(),
        "policy": about.policy,
        "options": about.options,
        "seed": about.seed,
        "expire_after": about.expire_after,
        "reward_window": about.reward_window,
        "problem": study.problem.to_dict(),
    }
