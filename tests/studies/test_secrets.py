"""Passwords are never shown: in errors, reprs, pages or on the command line, however the address is spelt."""

import contextlib
import json
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import causal_bandits as cb
from causal_bandits.core.secrecy import shown_argument, without_secrets
from causal_bandits.errors import CausalBanditsError
from causal_bandits.product.studies.storage.address import read_url, shown
from tests.command_line import exit_code

from .cases import SHOP

SECRET = st.builds(
    lambda a, odd, b: f"Hunter{a}{odd}{b}",
    st.text("abcXYZ019", min_size=1, max_size=4),
    st.sampled_from(["", "@", "/", "%", "#", "&", ":", " ", "=", "'", '"', "?", "ü", "\\", "$"]),
    st.text("abcXYZ019", min_size=1, max_size=4),
)
SHAPES = [
    "postgresql://me:{}@127.0.0.1:1/shop",
    "postgresql+psycopg://me:{}@127.0.0.1:1/shop",
    "postgres://me:{}@127.0.0.1:1/shop",
    "mysql://me:{}@127.0.0.1:1/shop",
    "nonsense://me:{}@127.0.0.1:1/shop",
    " postgresql://me:{}@127.0.0.1:1/shop",
    "\tpostgresql://me:{}@127.0.0.1:1/shop\n",
    "postgresql:/me:{}@127.0.0.1:1/shop",
    "postgresql:me:{}@127.0.0.1:1/shop",
    "postgresql:///me:{}@127.0.0.1:1/shop",
    "postgresql://me:{}",
    "postgresql://me:{}@127.0.0.1:port/shop",
    "postgresql://:{}@127.0.0.1:1/shop",
    "postgresql%3A%2F%2Fme%3A{}%40127.0.0.1%3A1%2Fshop",
    "//me:{}@127.0.0.1/shop",
    "me:{}@127.0.0.1/shop",
    "host=127.0.0.1 port=1 user=me password={}",
    "host=127.0.0.1 port=1 user=me password = '{}'",
    "postgresql://127.0.0.1:1/shop?password={}",
    "postgresql://127.0.0.1:1/shop?user=me&password={}&sslmode=disable",
    "postgresql://127.0.0.1:1/shop?sslpassword={}",
    "postgresql://127.0.0.1:1/shop?sslkey=x&sslmode={}",
    "postgresql://127.0.0.1:1/shop?token={}",
    "postgresql://127.0.0.1:1/shop?options={}",
    "postgresql://127.0.0.1:1/shop?connect_timeout={}",
    "sqlite:///me:{}@127.0.0.1/shop",
    "sqlite://me:{}@127.0.0.1/shop",
    "sqlite:///postgresql://me:{}@127.0.0.1/shop",
    "sqlite:////nowhere/shop.db?password={}",
    "sqlite:////nowhere/shop.db?timeout={}",
    "sqlite:////nowhere/host=x password={}",
    "studies.db?password={}",
    "sqlite:{}@x",
]
ADDRESS = st.builds(
    lambda shape, secret, coded: (shape.format(quote(secret, safe="") if coded else secret), secret),
    st.sampled_from(SHAPES),
    SECRET,
    st.booleans(),
)


def said_about(storage: object) -> str:
    """Everything that is said when a storage is used that cannot be reached."""
    try:
        cb.Study.load("s", storage=storage)  # type: ignore[arg-type]
    except CausalBanditsError as error:
        # As a log would show it, with the errors it came from; the lines of source are not data.
        lines = traceback.TracebackException.from_exception(error, lookup_lines=False)
        return f"{error} {error!r} {''.join(lines.format_exception_only())} {error.__cause__!r}"
    raise AssertionError("it can be reached")


def occurs(secret: str, text: str) -> bool:
    """Whether the secret, or the start of it, is in the text in any spelling."""
    return "hunter" in text.lower() or secret in text or quote(secret) in text


@given(ADDRESS)
def test_no_error_shows_a_secret(address: tuple[str, str]) -> None:
    storage, secret = address
    assert not occurs(secret, said_about(storage))


@given(ADDRESS)
def test_a_url_object_shows_no_secret_either(address: tuple[str, str]) -> None:
    storage, secret = address
    with contextlib.suppress(CausalBanditsError, sa.exc.ArgumentError, ValueError):
        assert not occurs(secret, shown(read_url(sa.make_url(storage))))


@given(ADDRESS)
def test_a_command_that_is_kept_shows_no_secret(address: tuple[str, str]) -> None:
    """The manifest of an experiment keeps its command; options that only might be secrets stay out of addresses."""
    storage, secret = address
    if not any(f"?{option}=" in storage for option in ("sslkey", "options", "connect_timeout", "timeout")):
        assert not occurs(secret, shown_argument(storage))


@pytest.mark.parametrize("storage", [b"postgresql://me:Hunter2@h/x", {"password": "Hunter2"}, ["Hunter2"]])
def test_what_is_no_text_is_not_repeated(storage: object) -> None:
    assert not occurs("Hunter2", said_about(storage))


def test_a_study_that_can_be_reached_shows_no_secret(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db?timeout=31.4159"
    study = cb.Study.create("s", SHOP, storage=storage)
    study.ask()
    page = tmp_path / "page.html"
    from causal_bandits.reporting.study_page import study_page

    page.write_text(study_page(study.describe(history=True)), encoding="utf-8")
    said = f"{study!r} {study!s} {json.dumps(study.describe())} {page.read_text(encoding='utf-8')}"
    assert "31.4159" not in said
    with pytest.raises(CausalBanditsError) as caught:
        cb.Study.load("another", storage=storage)
    assert "31.4159" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["study", "ask", "s", "--storage", "postgresql:/me:Hunter2@127.0.0.1/x"],
        ["study", "list", "--storage", "postgresql://127.0.0.1:1/x?password=Hunter2"],
        ["study", "ask", "s", "postgresql://me:Hunter2@127.0.0.1/x"],
        ["study", "postgresql://me:Hunter2@127.0.0.1/x"],
        ["study", "show", "host=x password=Hunter2", "--storage", "sqlite:///x.db"],
        ["study", "ask", "s", "-n", "postgresql://me:Hunter2@127.0.0.1/x"],
        ["compare", "--worlds", "postgresql://me:Hunter2@127.0.0.1/x"],
    ],
)
def test_the_command_line_shows_no_secret(
    arguments: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(arguments, monkeypatch) not in (0, None)
    said = capfd.readouterr()
    assert said.err
    assert "Hunter2" not in said.out + said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("text", ["x" * 200_000, "password" * 20_000, "a:/" * 60_000])
def test_a_long_message_is_searched_in_linear_time(text: str) -> None:
    """Quadratic time would be minutes."""
    assert without_secrets(text) == text
