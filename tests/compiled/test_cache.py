"""The cache of machine code: reused while what it was made of is unchanged, never else, and never a reason to fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corollary._compiled import _jit

if _jit.HAVE_NUMBA:
    from corollary._compiled import _cache

pytestmark = pytest.mark.skipif(not _jit.HAVE_NUMBA, reason="nothing is compiled without Numba")

INNER = """
from corollary._compiled._jit import inner_kernel

@inner_kernel
def inner(x):
    return x + 1.0
"""
OUTER = """
from corollary._compiled._jit import kernel
from corollary._compiled.deep.inner import inner

@kernel
def outer(x):
    return 10.0 * inner(x)
"""
PROGRAM = """
from corollary._compiled.outer import outer
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small library with the real ``_jit``: a kernel in one file calls a kernel in another."""
    compiled = tmp_path / "corollary" / "_compiled"
    (compiled / "deep").mkdir(parents=True)
    for folder in (compiled.parent, compiled, compiled / "deep"):
        (folder / "__init__.py").touch()
    for name in ("_jit.py", "_cache.py", "_interrupts.py"):
        shutil.copy(Path(_jit.__file__).with_name(name), compiled)
    (compiled / "outer.py").write_text(OUTER)
    (compiled / "deep" / "inner.py").write_text(INNER)
    return compiled


def environment(tree: Path) -> dict[str, str]:
    """Of a fresh process that imports this tree; settings of Numba's that the tests run under are not its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return kept | {"PYTHONPATH": str(tree.parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}


def run(tree: Path, program: str = PROGRAM, **variables: str) -> tuple[float, int]:
    """What the kernel gives in a fresh process, and how many kernels came from the cache."""
    command, settings = [sys.executable, "-c", program], environment(tree) | variables
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=settings, check=False)
    assert done.returncode == 0, done.stderr
    found, hits = done.stdout.split()
    return float(found), int(hits)


def edit(path: Path, old: str, new: str) -> None:
    """Change a file so that neither its size nor its time of change shows it."""
    before = path.stat()
    text = path.read_text()
    assert old in text
    assert len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_an_unchanged_tree_loads_and_an_edit_of_a_callee_compiles(tree: Path) -> None:
    assert run(tree) == (20.0, 0)
    assert run(tree) == (20.0, 1)
    edit(tree / "deep" / "inner.py", "1.0", "2.0")
    assert run(tree) == (30.0, 0)
    assert run(tree) == (30.0, 1)
    (tree / "elsewhere.py").write_text("# a new file")
    assert run(tree) == (30.0, 1)  # no kernel mentions it
    assert not list(tree.rglob("*.tmp.*"))
    assert not list((tree / "deep").rglob("*.nb*"))  # what only kernels call is kept inside those that call it


def test_the_users_cache_folder(tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert run(tree, NUMBA_CACHE_DIR=str(folder)) == (20.0, 0)
    assert run(tree, NUMBA_CACHE_DIR=str(folder)) == (20.0, 1)
    assert list(folder.rglob("*.nbc"))
    assert not list(tree.rglob("*.nbc"))
    edit(tree / "deep" / "inner.py", "1.0", "2.0")
    assert run(tree, NUMBA_CACHE_DIR=str(folder)) == (30.0, 0)


def test_without_a_writable_folder_code_compiles_in_every_process(tree: Path) -> None:
    for folder in (tree, tree / "deep"):
        (folder / "__pycache__").touch()  # a file where the folder should be: nobody can write below it
    nowhere = str(tree / "outer.py" / "cache")
    for _ in range(2):
        assert run(tree, HOME=nowhere, XDG_CACHE_HOME=nowhere) == (20.0, 0)


def test_a_cache_that_cannot_be_written_any_more_is_no_reason_to_fail(tree: Path) -> None:
    program = f"""
import shutil
from corollary._compiled.outer import outer
folder = {str(tree / "__pycache__")!r}
shutil.rmtree(folder)
open(folder, "w").close()
print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""
    assert run(tree, program) == (20.0, 0)


@pytest.mark.parametrize("number", ["ENOSPC", "EROFS"])
def test_a_full_or_read_only_disk_is_no_reason_to_fail(tree: Path, tmp_path: Path, number: str) -> None:
    """Wherever writing fails: when the folder is made, when it is tried, or when code is written to it."""
    for place in ("os.makedirs", "tempfile.TemporaryFile", "IndexDataCacheFile._open_for_write"):
        program = f"""
import errno, os, tempfile
from numba.core.caching import IndexDataCacheFile
def refuse(*args, **kwargs):
    raise OSError(errno.{number}, os.strerror(errno.{number}))
{place} = refuse
{PROGRAM}
"""
        for folder in ({}, {"NUMBA_CACHE_DIR": str(tmp_path / "no such folder")}):
            assert run(tree, program, **folder) == (20.0, 0)
    assert not list(tree.rglob("*.nb*"))


def test_damaged_files_are_compiled_anew(tree: Path) -> None:
    assert run(tree) == (20.0, 0)
    whole = {path: path.read_bytes() for path in tree.rglob("*.nbc")}
    damages = {
        "empty": lambda content: b"",
        "short": lambda content: content[: len(content) // 2],
        "a byte changed in the code": lambda content: content.replace(b"ELF", b"ELG"),
        "a byte changed at the end": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        "nonsense": lambda content: b"nonsense" * 99,
    }
    for damage in damages.values():
        for path, content in whole.items():
            assert damage(content) != content
            path.write_bytes(damage(content))
        assert run(tree) == (20.0, 0)
        assert run(tree) == (20.0, 1)


def test_sources_edited_while_a_process_runs_leave_nothing_wrong_behind(tree: Path) -> None:
    """The process loads one file before the edit and one after it; what it compiled belongs to neither state."""
    path = tree / "deep" / "inner.py"
    program = f"""
from pathlib import Path
import corollary._compiled._cache as cache
cache._seen()
path = Path({str(path)!r})
path.write_text(path.read_text().replace("1.0", "2.0"))
{PROGRAM}
"""
    assert run(tree, program) == (30.0, 0)
    assert run(tree) == (30.0, 0)
    edit(path, "2.0", "1.0")
    assert run(tree) == (20.0, 0)


def test_code_of_other_sources_under_a_fresh_index_is_refused(tree: Path) -> None:
    """Two processes with different sources can interleave: one writes the index last, the other the code."""
    assert run(tree) == (20.0, 0)
    old = {path: path.read_bytes() for path in tree.rglob("*.nbc")}
    edit(tree / "deep" / "inner.py", "1.0", "2.0")
    assert run(tree) == (30.0, 0)
    assert set(old) == set(tree.rglob("*.nbc"))  # outdated code is overwritten, not kept
    for path, content in old.items():
        path.write_bytes(content)
    assert run(tree) == (30.0, 0)
    assert run(tree) == (30.0, 1)


def test_several_processes_at_once(tree: Path) -> None:
    command = [sys.executable, "-c", PROGRAM]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(tree)) for _ in range(3)]
    assert {process.communicate(timeout=300)[0].split()[0] for process in processes} == {b"20.0"}
    assert run(tree) == (20.0, 1)


@pytest.mark.parametrize(
    "how",
    [
        "from corollary._compiled.deep.inner import inner",
        "from corollary._compiled.deep import (\n    inner,\n)",
        "import corollary._compiled.deep.inner as module",
        "def later():\n    from corollary._compiled.deep import inner",
    ],
)
def test_the_stamp_sees_names_and_contents_of_what_is_mentioned(
    tree: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(_cache, "TOP", str(tree))
    (tree / "outer.py").write_text("from corollary._compiled.between import x\n")
    (tree / "between.py").write_text(how)

    def stamp() -> str:
        return _cache._stamp("outer.py", _cache._look())

    stamps = [stamp()]
    (tree / "deep" / "inner.py").write_text(INNER + " ")
    stamps.append(stamp())
    (tree / "deep" / "inner.py").rename(tree / "deep" / "other.py")
    stamps.append(stamp())
    (tree / "between.py").write_text(how.replace("inner", "other"))
    stamps.append(stamp())
    assert len(set(stamps)) == 4
    (tree / "__pycache__").mkdir(exist_ok=True)
    for ignored in ("__pycache__/ignored.py", "notes.txt", "new.py"):
        (tree / ignored).touch()
    assert stamp() == stamps[-1]
    assert _cache._stamp("nowhere.py", _cache._look()) == ""


def test_two_processes_never_write_two_signatures_to_one_file(tmp_path: Path) -> None:
    """Each begins with an empty folder, as processes that start together do."""
    from corollary._compiled._cache import _FilePerSignature

    first, second = (_FilePerSignature(str(tmp_path), "kernel", "stamp") for _ in range(2))
    keys = [("int64", "cpu"), ("float64", "cpu")]
    first.save(keys[0], "code for int64")
    second.save(keys[1], "code for float64")
    assert [first.load(key) for key in keys] == ["code for int64", "code for float64"]
    assert _FilePerSignature(str(tmp_path), "kernel", "another stamp").load(keys[0]) is None
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-3])
    assert [second.load(key) for key in keys] == [None, None]


@pytest.fixture
def shipped(tree: Path, tmp_path: Path) -> Path:
    """The tree with machine code of its own for any processor of the level."""
    if _cache.machine() not in _cache.LEVELS:
        pytest.skip("code is shipped for other processors than this one")
    level = {"NUMBA_CPU_NAME": _cache.LEVELS[_cache.machine()][0], "NUMBA_CPU_FEATURES": ""}
    target = {_cache.SHIP: str(tree / "shipped"), "NUMBA_CACHE_DIR": str(tmp_path / "made")}
    assert run(tree, **level, **target) == (20.0, 0)
    return tree


def test_shipped_code_is_used_and_only_that_of_kernels_with_a_door(shipped: Path) -> None:
    assert [path.parent for path in (shipped / "shipped").rglob("*.nbc")] == [shipped / "shipped"]
    assert run(shipped) == (20.0, 1)
    assert not list((shipped / "__pycache__").glob("*.nbc"))


def test_shipped_code_needs_no_folder_to_write_to(shipped: Path) -> None:
    for folder in (shipped, shipped / "deep"):
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        (folder / "__pycache__").touch()
    nowhere = str(shipped / "outer.py" / "cache")
    assert run(shipped, HOME=nowhere, XDG_CACHE_HOME=nowhere) == (20.0, 1)


def test_shipped_code_of_other_sources_or_damaged_is_not_used(shipped: Path) -> None:
    [path] = (shipped / "shipped").rglob("*.nbc")
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert run(shipped) == (20.0, 0)
    path.write_bytes(whole)
    edit(shipped / "deep" / "inner.py", "1.0", "2.0")
    assert run(shipped) == (30.0, 0)


def test_shipped_code_is_not_used_by_a_processor_that_lacks_something(shipped: Path) -> None:
    lacking = """
from corollary._compiled import _cache
_cache.LEVELS = {_cache.machine(): (_cache.LEVELS[_cache.machine()][0], ("a feature of the next century",))}
"""
    assert run(shipped, lacking + PROGRAM) == (20.0, 0)
