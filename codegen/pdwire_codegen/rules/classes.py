"""Rules of generated names: one class, one module, one folder of a name, and none hidden."""

from __future__ import annotations

from collections.abc import Iterator

from pdwire_codegen.draft import Draft, DraftMessage
from pdwire_codegen.emit_python.package import codecs_alias
from pdwire_codegen.emit_python.reserved import taken
from pdwire_codegen.rules.rule import Finding, Path, Rule, at, each_message


def places_of(message: DraftMessage) -> tuple[str, ...]:
    """Where the message's names are looked up: its backends, and the group's package."""
    return (*message.backends, f"group {message.group}")


def class_path(message: DraftMessage) -> Path:
    """Where the class name is written: as itself, or as the message's name."""
    key = "class" if ("message", "class") in message.document.lines else "name"
    return ("message", key)


def reserved_class(message: DraftMessage) -> Iterator[Finding]:
    """A class hides nothing that the code around it uses."""
    name = message.class_name
    owner = taken().of_class(name) if name is not None else None
    if owner is not None:
        text = f"class {name} would hide what {owner} calls so"
        yield at(message.document, class_path(message), text, 'give it another: class = "…"')


def duplicate_class(draft: Draft) -> Iterator[Finding]:
    """A backend's package, and a group's, has one class of a name, whatever its case."""
    seen: dict[tuple[str, str], tuple[str, str]] = {}
    for message in draft.messages:
        name = message.class_name
        if name is None:
            continue
        keys = [(place, name.lower()) for place in places_of(message)]
        owners = {seen[key] for key in keys if key in seen}
        for key in keys:
            seen.setdefault(key, (name, message.document.file))
        if owners:
            files = ", ".join(sorted(file for _, file in owners))
            same = all(other == name for other, _ in owners)
            case = "" if same else f" (as {', '.join(sorted({other for other, _ in owners}))})"
            text = f"class {name} is already that of {files}{case}"
            yield at(
                message.document, class_path(message), text, "give one of them another `class`"
            )


def duplicate_module(draft: Draft) -> Iterator[Finding]:
    """No module is hidden by a class of its package, and no two have one name in the table."""
    seen: dict[str, str] = {}
    for message in draft.messages:
        alias = codecs_alias(message.group, message.module)
        if (other := seen.setdefault(alias, message.document.file)) != message.document.file:
            text = f"group and file name make {alias}, as those of {other} do"
            yield at(message.document, (), text, "rename one of the files or groups")
    for message in draft.messages:
        name = message.class_name
        groups = {message.group, *message.backends}
        files = [
            other.document.file
            for other in draft.messages
            if other.module == name and other.group in groups
        ]
        layouts = [f"layout {layout.id}" for layout in message.layouts if layout.id.lower() == name]
        for hidden in (*files, *layouts):
            text = f"class {name} would hide the module of {hidden}"
            yield at(message.document, class_path(message), text, "give it another `class`")


RULES = (
    Rule(
        id="reserved-class",
        holds="A class has no name that Python or the generated code uses itself.",
        check=each_message(reserved_class),
    ),
    Rule(
        id="duplicate-class",
        holds="A class name is used once in a backend and in a group, whatever its case.",
        check=duplicate_class,
    ),
    Rule(
        id="duplicate-module",
        holds="Generated modules have names of their own, which no class of their package has.",
        check=duplicate_module,
    ),
)
