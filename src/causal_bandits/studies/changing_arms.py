"""Arms that come and go while a study runs; every change is an event."""

from collections.abc import Callable, Mapping, Sequence

from ..errors import flag
from ..problem import Arm, Level, Problem
from .arms import Change, add_arm, add_level, change_arms
from .levels import having, matching
from .view import Pattern, StudyView


class ChangingArms(StudyView):
    """A study whose arms can be retired, forbidden, allowed and added; repeating a call changes nothing."""

    def retire(self, arm: Pattern) -> Sequence[Arm]:
        """Never choose this arm again; what it taught stays. Returns the arms that changed.

        `...` stands for any level: `{"banner": "red", "discount": ...}` is every arm with the red banner whose other
        levers are idle.
        """
        return self._change("retired", lambda problem: matching(problem, arm))

    def forbid(self, arm: Pattern) -> Sequence[Arm]:
        """Do not choose this arm, or these (see `retire`), until allowed again. Returns the arms that changed."""
        return self._change("forbidden", lambda problem: matching(problem, arm))

    def allow(self, arm: Pattern) -> Sequence[Arm]:
        """Choose a forbidden arm again, or several (see `retire`). Returns the arms that changed."""
        return self._change("allowed", lambda problem: matching(problem, arm))

    def retire_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Never choose an arm with this level of a lever again. Returns the arms that changed."""
        return self._change("retired", lambda problem: having(problem, lever, level))

    def forbid_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Do not choose any arm with this level of a lever until it is allowed. Returns the arms that changed."""
        return self._change("forbidden", lambda problem: having(problem, lever, level))

    def allow_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """Choose forbidden arms with this level of a lever again. Returns the arms that changed."""
        return self._change("allowed", lambda problem: having(problem, lever, level))

    def _change(self, how: Change, named: Callable[[Problem], Sequence[int]]) -> Sequence[Arm]:
        return self._session.write(lambda draft: change_arms(draft, how, named(draft.state.problem)))

    def add_arm(self, settings: Mapping[str, Level], *, new_levels: bool = False) -> Arm:
        """One more arm from now on; with `new_levels` its levers may have values that no arm had before.

        An arm that is there already stays as it is; one that was retired is an error, since that is for good.
        """
        return self._session.write(lambda draft: add_arm(draft, settings, new_levels=flag("new_levels", new_levels)))

    def add_level(self, lever: str, level: Level) -> Sequence[Arm]:
        """A new level of a lever, with every setting of the other levers that an arm not retired has.

        Returns the arms that are new: for a level that is there already the combinations that were not arms yet.
        """
        return self._session.write(lambda draft: add_level(draft, lever, level))
