"""Snapshots: the state of a study as plain arrays, so that loading need not replay all events."""

import json
from typing import Any

import numpy as np

from ..policies import POLICIES
from ..policies.saving import Saved, from_bytes, to_bytes
from ..policies.saving import pack as pack_policy
from ..policies.saving import restore as restore_policy
from .decisions import Decisions
from .late import LateRewards
from .metrics import Metrics
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
    }
    if state.late.counts_early:
        study["late"] = state.late.packed()
    if state.rules.control_share is not None:
        study["reserved"] = state.reserved
    if state.settings.consistency is not None:
        study["appended"], study["aside"] = state.appended, state.aside
    own = {**state.decisions.arrays(), **state.metrics.arrays(), **state.guards.arrays()}
    text = np.frombuffer(json.dumps(study).encode(), dtype=np.uint8)
    return to_bytes(Saved(saved.header, {**saved.arrays, **own, "study": text}))


def restore(settings: Settings, content: bytes) -> StudyState:
    """Read back what `pack` gave."""
    saved = from_bytes(content)
    state = StudyState.__new__(StudyState)
    with saved.checked():
        state.begin(settings)
        state.policy = restore_policy(POLICIES[settings.policy], saved)
        state.decisions = Decisions.of(saved.arrays)
        study = json.loads(saved.arrays["study"].tobytes())
        state.parts, state.incomplete = dict(study["parts"]), dict(study["incomplete"])
        state.retired, state.forbidden = set(study["retired"]), set(study["forbidden"])
        state.seq = study["seq"]
        state.appended = int(study.get("appended", 0))
        state.aside = [(position, decision, reason) for position, decision, reason in study.get("aside", [])]
        state.late = LateRewards(settings)
        if "late" in study:
            state.late.fill(study["late"], state.policy)
        state.reserved = [int(each) for each in study.get("reserved", state.reserved)]
        state.metrics = Metrics(state.rules.metrics)
        state.metrics.fill(saved.arrays)
        state.guards.fill(saved.arrays, state.policy.problem)
    return state
