"""Snapshots: the state of a study as plain arrays, so that loading need not replay all events."""

import json
from typing import Any

import numpy as np

from ...core.policies import POLICIES
from ...core.policies.saving import Saved, from_bytes, to_bytes
from ...core.policies.saving import pack as pack_policy
from ...core.policies.saving import restore as restore_policy
from .changes import Correction, Exclusion, Finished
from .decisions import Decisions
from .settings import Settings
from .state import StudyState


def pack(state: StudyState) -> bytes:
    """Everything as plain arrays."""
    saved = pack_policy(state.policy)
    study: dict[str, Any] = {
        "seq": state.seq,
        "parts": [[number, part] for number, part in state.parts.items()],
        "incomplete": [[number, part] for number, part in state.incomplete.items()],
        "retired": sorted(state.retired),
        "forbidden": sorted(state.forbidden),
        "late": state.late.packed(),
        "annotations": [*state.annotations.items()],
        "excluded_rows": state.excluded_rows.packed(),
        "exclusions": state.exclusions,
        "corrections": [[number, made] for number, made in state.corrections.items()],
        "finished": state.finished,
    }
    if state.rules.control_share is not None:
        study["reserved"] = state.reserved
    if state.settings.mode is not None:
        study["appended"], study["aside"] = state.appended, state.aside
    own = {**state.decisions.arrays(), **state.metrics.arrays(), **state.guards.arrays()}
    text = np.frombuffer(json.dumps(study).encode(), dtype=np.uint8)
    return to_bytes(Saved(saved.header, {**saved.arrays, **own, "study": text}))


def restore(settings: Settings, content: bytes) -> StudyState:
    """Read back what `pack` gave."""
    saved = from_bytes(content)
    with saved.checked():
        state = StudyState(settings, restore_policy(POLICIES[settings.policy], saved))
        state.decisions = Decisions.of(saved.arrays)
        study = json.loads(saved.arrays["study"].tobytes())
        state.parts, state.incomplete = dict(study["parts"]), dict(study["incomplete"])
        state.retired, state.forbidden = set(study["retired"]), set(study["forbidden"])
        state.seq = study["seq"]
        state.appended = int(study.get("appended", 0))
        state.aside = [(position, decision, reason) for position, decision, reason in study.get("aside", [])]
        state.late.fill(study["late"], state.policy)
        state.annotations = {float(time): text for time, text in study["annotations"]}
        state.excluded_rows.fill(study["excluded_rows"])
        state.exclusions = [Exclusion(*each) for each in study["exclusions"]]
        state.corrections = {number: [Correction(*each) for each in made] for number, made in study["corrections"]}
        state.finished = None if study["finished"] is None else Finished(*study["finished"])
        state.reserved = [int(each) for each in study.get("reserved", state.reserved)]
        state.metrics.fill(saved.arrays)
        state.guards.fill(saved.arrays, state.policy.problem)
    return state
