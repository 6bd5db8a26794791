import os
from pathlib import Path

import pytest

from causal_bandits.core.files import output_folder, replacing
from causal_bandits.errors import OutputError


def test_replacing_writes_the_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".json"
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt()])
def test_a_writer_that_fails_leaves_the_old_file_alone(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")

    def half_written() -> None:
        with replacing(target) as temporary:
            temporary.write_text("ne")
            raise error

    with pytest.raises(type(error)):
        half_written()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_writer_that_finds_no_room(tmp_path: Path) -> None:
    def full() -> None:
        with replacing(tmp_path / "x") as temporary:
            temporary.write_text("ne")
            raise OSError("disk full")

    with pytest.raises(OutputError, match=r"cannot write '.*/x' \(disk full\); use another path"):
        full()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/report.json", "nowhere/report.json", "folder"])
def test_places_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()

    def write() -> None:
        with replacing(tmp_path / place) as temporary:
            temporary.write_text("new")

    with pytest.raises(OutputError, match=f"cannot write '.*{place}'"):
        write()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_output_folder_is_made(tmp_path: Path) -> None:
    folder = output_folder(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert output_folder(str(folder)) == folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_output_folder_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=f"cannot write to folder '.*{place}' .*; use another one"):
        output_folder(tmp_path / place)


@pytest.mark.parametrize("place", ["", "."])
def test_a_path_without_a_file_name_is_refused(place: str) -> None:
    with pytest.raises(OutputError, match="is not the name of a file"), replacing(place):
        pass


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_the_mode_of_the_replaced_file_is_kept(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "policy.cb"
    target.write_text("old")
    target.chmod(mode)
    with replacing(target) as temporary:
        assert temporary.stat().st_mode & 0o777 == mode  # from the start
        temporary.write_text("new")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", mode)


def test_a_link_is_replaced_and_what_it_points_at_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("old")
    link = tmp_path / "link"
    for pointed_at in ("kept", "nothing"):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / pointed_at)
        with replacing(link) as temporary:
            temporary.write_text("new")
        assert not link.is_symlink()
        assert (link.read_text(), (tmp_path / "kept").read_text()) == ("new", "old")
        assert not (tmp_path / "nothing").exists()


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    for name in ("pipe", "device"):
        with (
            pytest.raises(OutputError, match=f"cannot write '.*{name}': it is not a file but"),
            replacing(tmp_path / name),
        ):
            pass
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "device").is_symlink()


@pytest.mark.parametrize("path", [None, 3, b"x", "a\0b", "\ud800", ["x"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(OutputError, match="is not a path"), replacing(path):  # type: ignore[arg-type]
        pass
