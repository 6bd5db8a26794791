"""The OpenFeature provider, on a storage and on a real server: what OpenFeature asks of every provider, and outcomes.

The first half has the contract of OpenFeature's provider tests: values keep their type, falsy values are values, the
wrong type, an unknown flag and an unreachable backend give the caller's default and a code, and nothing raises.
"""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import causal_bandits as cb
from tests.service.servers import running

openfeature = pytest.importorskip("openfeature", reason="openfeature-sdk is not installed; `make setup` installs it")

from openfeature import api  # noqa: E402
from openfeature.client import OpenFeatureClient  # noqa: E402
from openfeature.evaluation_context import EvaluationContext  # noqa: E402
from openfeature.exception import ProviderNotReadyError  # noqa: E402
from openfeature.provider import ProviderStatus  # noqa: E402
from openfeature.track import TrackingEventDetails  # noqa: E402

from causal_bandits.product.openfeature import Provider  # noqa: E402

LEVELS: dict[str, list[Any]] = {
    "boolean": [False, True],
    "text": ["bye", "hi"],
    "whole": [0, 2**53 - 1],
    "number": [0.25, 0.5],
    "integral": [1.5, 10.0],
    "zero-boolean": [True, False],
    "zero-text": ["hi", ""],
    "zero-whole": [1, 0],
    "zero-number": [0.1, 0.0],
}
DEFAULTS: dict[str, Any] = {"boolean": True, "string": "uh-oh", "integer": 13, "float": 0.1, "object": {"a": 1}}
"""What callers want when a flag cannot be evaluated, by kind."""
VISITOR = EvaluationContext("visitor-42", {"device": "phone", "unused": 1})


def flags(storage: str) -> None:
    """Studies with one lever of each type, of which only the second level is left, and one with two levers."""
    for name, levels in LEVELS.items():
        study = cb.Study.create(name, cb.Problem("Y", {"A": 2}, {"lever": levels}), storage=storage, seed=1)
        study.retire_level("lever", levels[0])
    problem = cb.Problem(
        "purchase",
        {"clicked": 2, "cart": ["empty", "full"]},
        {"banner": ["none", "red"], "boxes": [1, 2]},
        segments={"device": ["phone", "desktop"]},
    )
    cb.Study.create("shop.checkout", problem, storage=storage, seed=1, metrics={"refund": "bool"})


@pytest.fixture(params=["storage", "client", "mapping"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenFeatureClient]:
    storage = f"sqlite:///{tmp_path}/studies.db"
    flags(storage)
    try:
        if request.param == "client":
            with running() as apps:
                api.set_provider_and_wait(Provider(cb.Client(apps.serve(storage))))
                yield api.get_client()
                api.clear_providers()
        else:
            names = [*LEVELS, "shop.checkout"]
            studies = {name: cb.Study.load(name, storage=storage) for name in names}
            api.set_provider_and_wait(Provider(storage if request.param == "storage" else studies))
            yield api.get_client()
    finally:
        api.clear_providers()


def test_what_openfeature_asks_of_a_provider(client: OpenFeatureClient) -> None:
    metadata = client.provider.get_metadata()
    assert metadata.name == "causal-bandits"
    assert client.get_provider_status() == ProviderStatus.READY
    right = {
        "boolean": client.get_boolean_details("boolean", False, VISITOR),
        "text": client.get_string_details("text.lever", "x", VISITOR),
        "whole": client.get_integer_details("whole", 1, VISITOR),
        "number": client.get_float_details("number", 0.1, VISITOR),
        "integral": client.get_integer_details("integral", 1, VISITOR),
    }
    for name, details in right.items():
        assert details.value == LEVELS[name][1]
        assert type(details.value) is type(LEVELS[name][1]) or name == "integral"
        assert (details.error_code, details.error_message, details.reason) == (None, None, "SPLIT")
        assert details.variant == str(LEVELS[name][1])
    assert client.get_float_details("integral", 0.1, VISITOR).value == 10.0
    wrong = [
        client.get_boolean_details("text", False, VISITOR),
        client.get_integer_details("boolean", 1, VISITOR),
        client.get_float_details("boolean", 0.1, VISITOR),
        client.get_string_details("whole", "x", VISITOR),
        client.get_integer_details("number", 1, VISITOR),
        client.get_string_details("shop.checkout", "x", EvaluationContext("v", {"device": "phone"})),
        client.get_object_details("text.lever", {}, VISITOR),
    ]
    for details in wrong:
        assert (details.error_code, details.reason) == ("TYPE_MISMATCH", "ERROR")
        assert details.value in (False, 1, 0.1, "x", {})
    for kind, default in DEFAULTS.items():
        for flag in ("absent", "absent.lever", "text.absent", ""):
            details = getattr(client, f"get_{kind}_details")(flag, default, VISITOR)
            assert (details.value, details.error_code, details.reason) == (default, "FLAG_NOT_FOUND", "ERROR")
            assert details.flag_key == flag
    for context in (None, EvaluationContext(attributes={"device": "phone"}), EvaluationContext("")):
        details = client.get_string_details("text", "x", context)
        assert (details.value, details.error_code) == ("x", "TARGETING_KEY_MISSING")
    found = asyncio.run(client.get_boolean_details_async("boolean", False, VISITOR))
    assert found.value is True


def test_a_value_that_is_nothing_is_a_value(client: OpenFeatureClient) -> None:
    """False, an empty text and 0 are no errors; an attribute without a value says nothing."""
    visitor = EvaluationContext("visitor-42", {"email": None})  # type: ignore[dict-item]
    for name, kind in (("boolean", "boolean"), ("text", "string"), ("whole", "integer"), ("number", "float")):
        details = getattr(client, f"get_{kind}_details")(f"zero-{name}", DEFAULTS[kind], visitor)
        nothing = LEVELS[f"zero-{name}"][1]
        assert (details.value, type(details.value)) == (nothing, type(nothing))
        assert (details.error_code, details.reason, details.flag_key) == (None, "SPLIT", f"zero-{name}")
        assert details.flag_metadata == {"study": f"zero-{name}", "decision": 1}


@pytest.mark.parametrize("source", ["sqlite:////nowhere/studies.db", "http://127.0.0.1:9/"])
def test_a_backend_that_cannot_be_reached_is_an_error_and_gives_defaults(source: str) -> None:
    try:
        with pytest.raises(ProviderNotReadyError, match=r"does not exist|cannot be reached"):
            api.set_provider_and_wait(Provider(cb.Client(source, timeout=1.0) if source.startswith("http") else source))
        client = api.get_client()
        assert client.get_provider_status() == ProviderStatus.ERROR
        details = client.get_boolean_details("boolean", False, VISITOR)
        assert (details.value, details.reason) == (False, "ERROR")
        assert details.error_code is not None
        client.track("purchase", VISITOR)
        for kind, default in DEFAULTS.items():
            assert getattr(client, f"get_{kind}_value")("boolean", default, VISITOR) == default
    finally:
        api.clear_providers()


def test_decisions_are_for_the_targeting_key_and_events_report_outcomes(
    client: OpenFeatureClient, caplog: pytest.LogCaptureFixture
) -> None:
    found: Any = client.get_object_details("shop.checkout", {}, VISITOR)
    assert found.error_code is None, found.error_message
    assert found.value.keys() == {"banner", "boxes"}
    assert found.value == client.get_object_value("shop.checkout", {}, VISITOR)  # for as long as the study says
    assert client.get_string_value("shop.checkout.banner", "x", VISITOR) == found.value["banner"]
    assert found.variant == f"banner={found.value['banner']}, boxes={found.value['boxes']}"
    decision = found.flag_metadata["decision"]
    provider: Any = client.provider
    study = provider._study("shop.checkout").study
    assert study.decision(decision)["arm"]["device"] == "phone"
    client.track("clicked", VISITOR)
    client.track("shop.checkout.cart", VISITOR, TrackingEventDetails(attributes={"cart": "full"}))
    client.track("shop.checkout", VISITOR, TrackingEventDetails(1.0, {"refund": False}))
    assert study.decision(decision)["outcome"].items() >= {"clicked": 1, "cart": "full", "purchase": 1}.items()
    client.track("clicked", VISITOR)  # the same again changes nothing
    with caplog.at_level(logging.INFO, "causal_bandits.openfeature"):
        client.track("clicked", VISITOR, TrackingEventDetails(0))
        client.track("clicked", EvaluationContext("never-seen"))
        client.track("clicked")
        client.track("shop.checkout", VISITOR, TrackingEventDetails(attributes={"nonsense": 1}))
        client.track("scrolled", VISITOR)
    assert len(caplog.records) == 5
    assert "is no variable of a study" in caplog.text
    assert study.decision(decision)["outcome"].items() >= {"clicked": 1, "cart": "full", "purchase": 1}.items()
    other = client.get_object_details("shop.checkout", {}, EvaluationContext("v", {"device": "watch"}))
    assert other.value == {}
    assert other.error_code in ("INVALID_CONTEXT", "GENERAL")
