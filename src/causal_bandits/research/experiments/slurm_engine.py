"""Slurm, through submitit: one job array, each element of which runs one chunk.

What submitit does not set is Slurm's to read: `SBATCH_PARTITION`, `SBATCH_ACCOUNT`, `SBATCH_TIMELIMIT` and the like.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError
from submitit.helpers import as_completed

from ...errors import EngineError

CLUSTER = "slurm"
FOLDER = "slurm-jobs"
"""Where submitit keeps what it sends and what comes back; nodes must see the same folder."""
MINUTES = 60
"""Time limit of an element, unless `SBATCH_TIMELIMIT` says otherwise."""
POLL = 5.0
"""Seconds between two looks at the array."""
AT_ONCE = 256
"""Elements that run at the same time, unless told."""

Work = Callable[[bytes, str], Any]
Workers = Callable[[list[bytes]], Iterator[tuple[int, Any]]]


def array_of_jobs(stack: contextlib.ExitStack, work: Work, version: str, jobs: int | None) -> Workers:
    """What submits packed chunks and gives their numbers and results as they end; a closed stack cancels the rest."""
    try:
        executor = submitit.AutoExecutor(folder=FOLDER, cluster=CLUSTER)
    except RuntimeError:
        raise EngineError(
            "Slurm's commands are not on this machine; run this on a login node of the cluster, or use --engine local"
        ) from None
    executor.update_parameters(name="causal-bandits", timeout_min=MINUTES, cpus_per_task=1)
    executor.update_parameters(slurm_array_parallelism=jobs or AT_ONCE)

    def run(chunks: list[bytes]) -> Iterator[tuple[int, Any]]:
        submitted = executor.map_array(work, chunks, [version] * len(chunks))
        stack.callback(_cancel, submitted)
        return _as_they_end(submitted)

    return run


def _as_they_end(jobs: list[Any]) -> Iterator[tuple[int, Any]]:
    numbers = {job.job_id: number for number, job in enumerate(jobs)}
    for job in as_completed(jobs, poll_frequency=POLL):
        try:
            yield numbers[job.job_id], job.result()
        except (FailedJobError, UncompletedJobError) as error:
            reason = str(error).strip().splitlines()[-1][:200] if str(error).strip() else type(error).__name__
            raise EngineError(
                f"Slurm job {job.job_id} failed ({reason}); its log is {str(job.paths.stderr)!r}; finished work is "
                "kept, run the same command again to resume"
            ) from None


def _cancel(jobs: list[Any]) -> None:
    for job in jobs:
        if job.state not in {"COMPLETED", "DONE", "FINISHED", "FAILED"}:
            job.cancel(check=False)
