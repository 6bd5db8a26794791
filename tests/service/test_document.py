"""The OpenAPI document against the application: schemathesis makes requests of it, good and bad, and reads answers."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .conftest import OpenApp

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
ENDLESS, LAST = "/events", "delete"
PROBES = ("/healthz", "/readyz")
"""They take nothing, not even a token, so there are no invalid requests to them."""
TIMEOUT = 120.0


def check_operation(
    operation: schemathesis.APIOperation[Any, Any, Any, Any], mode: GenerationMode, examples: int
) -> None:
    """Requests to one address; every other one is about a study, a decision and an arm that there are."""

    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_known=st.booleans(), number=st.integers(1, 6))
    def requests(case: schemathesis.Case[Any], is_known: bool, number: int) -> None:
        if is_known and operation.method != LAST:
            known = {"name": "shop", "id": number, "arm": "banner=red"}
            case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
        body: Any = case.body
        if isinstance(body, dict) and isinstance(body.get("count"), int):
            body["count"] %= 1000  # thousands at once are allowed, and take their time
        case.call_and_validate(checks=CHECKS, timeout=TIMEOUT)

    requests()


@pytest.mark.parametrize("examples", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_every_answer_is_one_that_the_document_allows(open_app: OpenApp, examples: int) -> None:
    call = open_app(hosts=("testserver",))
    shop = call.create()
    call("POST", f"{shop}/decisions", {"count": 5})
    call("PATCH", f"{shop}/decisions/1", {"mediators": {"clicked": 1, "cart": "some"}, "reward": 1})
    document = schemathesis.openapi.from_asgi("/openapi.json", call.app)
    found: Any = document.get_all_operations()
    operations = [each.ok() for each in found]
    assert len(operations) > 30
    for operation in operations:
        if not operation.path.endswith(ENDLESS):
            modes = (GenerationMode.POSITIVE,) if operation.path in PROBES else GenerationMode
            for mode in modes:
                check_operation(operation, mode, examples)
