"""The shape of the project, held by tests: what no linter of ours can say.

A rule is a function from source text to findings, so that each is shown to bite on a bad
line before it is run over the tree.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pdwire_conformance.demo import report as demo
from pdwire_conformance.demo import run as demo_run

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "pdwire": ROOT / "src",
    "pdwire_codegen": ROOT / "codegen",
    "pdwire_conformance": ROOT / "conformance",
}
CODE = sorted(path for name, top in PACKAGES.items() for path in (top / name).rglob("*.py"))
ALL_CODE = [*CODE, *sorted((ROOT / "tests").rglob("*.py"))]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("protocol/*.md")])

LIVE = "running in a process of its own"
GENERATED = "GENERATED from protocol/"
LONGEST_FILE = 600

RUNS_DATA_AS_CODE = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
RUNS_TEXT_AS_CODE = {"eval", "exec", "compile", "__import__"}
EXEMPT: dict[str, str] = {}
"""Path from the root -> why this file may do what RUNS_… forbid."""

MAY_IMPORT = {
    "rooms": {"wire", "frames", "errors", "rooms"},
    "staging": {"wire", "frames", "errors", "staging"},
}
"""Sans-IO packages of pdwire -> the parts of pdwire that they may import."""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports_in_loops(tree: ast.AST) -> list[int]:
    """Lines of import statements inside a loop, functions in the loop's body included."""
    loops = (
        node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While | ast.AsyncFor)
    )
    return sorted(
        {
            node.lineno
            for loop in loops
            for node in ast.walk(loop)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
    )


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything that is imported; ``from a import b`` is ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def runs_input(tree: ast.AST) -> list[int]:
    """Lines that import an unpickler or call something that runs text."""
    lines = {line for line, name in imported(tree) if name.split(".")[0] in RUNS_DATA_AS_CODE}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            lines |= {node.lineno} if node.func.id in RUNS_TEXT_AS_CODE else set()
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            is_re = isinstance(owner, ast.Name) and owner.id == "re"
            lines |= {node.lineno} if node.func.attr == "compile" and not is_re else set()
    return sorted(lines)


def foreign_imports(tree: ast.AST, allowed: set[str]) -> list[str]:
    """Names out of pdwire that are imported although their part is not in ``allowed``."""
    names = (name.split(".") for _, name in imported(tree))
    return sorted(
        ".".join(name) for name in names if name[0] == "pdwire" and name[1] not in allowed
    )


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("for x in y:\n    import z", [2]),
        ("while x:\n    def f():\n        from a import b", [3]),
        ("async def f():\n    async for x in y:\n        import z", [3]),
        ("import z\nfor x in y:\n    pass", []),
    ],
)
def test_an_import_in_a_loop_is_seen(source: str, lines: list[int]) -> None:
    assert imports_in_loops(ast.parse(source)) == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import pickle", [1]),
        ("from marshal import loads", [1]),
        ("x = 1\nexec(x)", [2]),
        ("parser = Struct().compile()", [1]),
        ("import re\nre.compile('a')\nloader.exec_module(m)", []),
    ],
)
def test_running_input_is_seen(source: str, lines: list[int]) -> None:
    assert runs_input(ast.parse(source)) == lines


def test_a_foreign_import_of_a_sans_io_part_is_seen() -> None:
    tree = ast.parse("import zmq\nfrom pdwire.wire import layout\nfrom pdwire.managers import x")
    assert foreign_imports(tree, MAY_IMPORT["rooms"]) == ["pdwire.managers.x"]


def test_there_is_code_to_look_at() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in CODE} == {"src", "codegen", "conformance"}


def test_no_import_statement_stands_in_a_loop() -> None:
    found = {relative(path): imports_in_loops(parsed(path)) for path in ALL_CODE}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_nothing_runs_its_input() -> None:
    found = {relative(path): runs_input(parsed(path)) for path in CODE}
    assert {path for path, lines in found.items() if lines} == set(EXEMPT)


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_sans_io_parts_import_only_the_wire(part: str) -> None:
    files = (ROOT / "src" / "pdwire" / part).rglob("*.py")
    found = {relative(path): foreign_imports(parsed(path), MAY_IMPORT[part]) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    names = {"util", "utils", "helper", "helpers", "misc", "common_utils", "tools"}
    found = [path for path in ALL_CODE if path.stem in names or path.parent.name in names]
    assert [relative(path) for path in found] == []


def test_hand_written_files_stay_short() -> None:
    texts = {relative(path): path.read_text(encoding="utf-8") for path in ALL_CODE}
    lengths = {
        name: text.count("\n") for name, text in texts.items() if GENERATED not in text[:600]
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_import_path_is_file_path_and_the_package_is_typed(name: str) -> None:
    assert importlib.import_module(name).__path__[0] == str(PACKAGES[name] / name)
    assert (PACKAGES[name] / name / "py.typed").is_file()


def test_tests_mirror_the_code() -> None:
    # What is held across packages mirrors none of them.
    mirrors = {
        "pdwire": ROOT / "src" / "pdwire",
        "codegen": ROOT / "codegen" / "pdwire_codegen",
        "conformance": ROOT / "conformance" / "pdwire_conformance",
    }
    folders = {
        path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/*/**/test_*.py")
    }
    orphans = [
        str(folder)
        for folder in folders
        if folder != Path("differential")
        and not mirrors.get(folder.parts[0], ROOT / "no").joinpath(*folder.parts[1:]).is_dir()
    ]
    assert orphans == []


def test_every_ignored_lint_rule_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    codes = [line for line in text.splitlines() if re.fullmatch(r' +"[A-Z]+[0-9]*",.*', line)]
    assert len(codes) > 5
    assert [line for line in codes if not re.search(r",\s+# \S+ \S+", line)] == []


def test_ci_runs_make_test_and_nothing_else() -> None:
    script = ROOT / ".ci" / "run"
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -eu" in lines
    assert [line for line in lines if "make " in line and not line.startswith("#")] == [
        "exec make test"
    ]
    assert script.stat().st_mode & 0o111


def test_pages_name_only_make_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    named = {
        (relative(page), target)
        for page in PAGES
        for target in re.findall(
            r"(?:`|^\s*\$? ?)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE
        )
    }
    assert ("README.md", "demo") in named
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_the_readme_shows_what_the_demo_says() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("```text\n")[1].split("```")[0].splitlines()
    screen = StringIO()
    demo.show(demo_run.run("0.5.23", live=False), Console(file=screen, width=100))
    live = screen.getvalue().replace("its recorded frames, because that was asked for", LIVE)
    said = {line.rstrip() for line in live.replace(" (recorded).", ".").splitlines()} | {"…"}
    assert len(shown) > 15
    assert [line for line in shown if line not in said] == []


def test_the_readme_is_true() -> None:
    found = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert found.attempted > 5
    assert found.failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (page, link.split("#")[0])
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if not link.startswith(("http://", "https://", "#"))
    ]
    assert links
    assert [
        f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()
    ] == []


def test_changelog_opens_with_the_policy_and_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert headings[0] == "What you can rely on"
    assert headings[1].split()[0] == str(project["version"])
