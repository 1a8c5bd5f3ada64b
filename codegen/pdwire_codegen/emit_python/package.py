"""Packages: a message's codecs, a backend's messages, the table of everything."""

from __future__ import annotations

from pdwire_codegen.emit_python.names import layout_module, message_package
from pdwire_codegen.emit_python.places import lead_of, number_of
from pdwire_codegen.emit_python.writing import Module, import_order, literal, spans
from pdwire_codegen.model import Backend, Layout, Message, Spec
from pdwire_codegen.texts import parse_text

__all__ = [
    "codecs_alias",
    "emit_backend",
    "emit_group",
    "emit_message_package",
    "emit_root",
    "emit_table",
]


def emit_message_package(message: Message, spec: Spec) -> str:
    """``<message>/__init__.py``: the class and its codecs."""
    module = Module(f"{message.name}: its message and the codec of every layout.", message.source)
    package = message_package(message)
    module.need("typing", "Any", "Final")
    module.need("pdwire.codec", "Codec")
    module.need(f"{package}.message", message.class_name)
    module.need(package, *sorted(layout_module(layout) for layout in message.layouts))
    names = sorted(("CODECS", message.class_name), key=import_order)
    module.add(*spans("__all__ = [", [literal(name) for name in names], "]"), "")
    module.add("CODECS: Final[tuple[Codec[Any], ...]] = (")
    for backend in spec.backends:
        for layout in message.layouts:
            if layout.speakers.get(backend.name):
                module.add(*_codec(message, layout, backend.name))
    module.add(")", f"{message.class_name}.newest = CODECS[{_newest(message, spec)}]")
    return module.render()


def _newest(message: Message, spec: Spec) -> int:
    """Index of the codec that speaks for the newest release."""
    found: list[Layout] = []
    for backend in spec.backends:
        found += [layout for layout in message.layouts if layout.speakers.get(backend.name)]
    ages = [
        max(
            spec.releases.index(release)
            for releases in layout.speakers.values()
            for release in releases
        )
        for layout in found
    ]
    return ages.index(max(ages))


def _codec(message: Message, layout: Layout, backend: str) -> list[str]:
    stem = layout_module(layout)
    held = [frame.field for frame in layout.frames if frame.field is not None]
    held += [key.field for key in layout.keys]
    held += [] if layout.text is None else parse_text(layout.text).fields
    args = {
        "backend": literal(backend),
        "message": literal(message.name),
        "layout": literal(layout.id),
        "releases": layout.speakers[backend],
        "directions": literal(message.directions),
        "transport": literal(message.transport),
        "guard": literal(message.guard.encode()) if message.guard is not None else "None",
        "lead": literal(lead_of(message)),
        "number": literal(number_of(message)),
        "counts": literal(layout.counts),
        "fields": tuple(held),
        "fingerprint": literal(layout.fingerprint),
        "cls": message.class_name,
        "decode": f"{stem}.decode",
        "encode": f"{stem}.encode",
    }
    lines = ["    Codec("]
    for name, value in args.items():
        if isinstance(value, tuple):
            items = [literal(item) for item in value]
            close = ",)" if len(items) == 1 else ")"
            lines += _tuple(name, items, close)
        else:
            lines.append(f"        {name}={value},")
    return [*lines, "    ),"]


def _tuple(name: str, items: list[str], close: str) -> list[str]:
    one = f"        {name}=({', '.join(items)}{close},"
    if len(one) <= 100:
        return [one]
    return [f"        {name}=(", *(f"            {item}," for item in items), "        ),"]


def emit_backend(backend: Backend, spec: Spec) -> str:
    """``<backend>/__init__.py``: every message class that the backend speaks."""
    module = Module(f"Messages of the {backend.name} backend.", "protocol/")
    return _exports(module, [m for m in spec.messages if backend.name in m.backends])


def emit_group(group: str, spec: Spec) -> str:
    """``<group>/__init__.py`` of a group that is no backend."""
    module = Module(f"Messages of the group {group}.", f"protocol/{group}")
    return _exports(module, [m for m in spec.messages if m.group == group])


def _exports(module: Module, messages: list[Message]) -> str:
    for message in messages:
        module.need(message_package(message), message.class_name)
    names = sorted((message.class_name for message in messages), key=import_order)
    module.add(*spans("__all__ = [", [literal(name) for name in names], "]"))
    return module.render()


def emit_table(spec: Spec) -> str:
    """``table.py``: all codecs, the order of releases, other spellings of messages."""
    module = Module("Every codec of every layout.", "protocol/")
    module.need("typing", "Any", "Final")
    module.need("pdwire.codec", "Codec")
    aliases: dict[str, str] = {}
    for message in spec.messages:
        module.need(message_package(message), f"CODECS as {_alias(message)}")
        for alias in (message.class_name, *message.aliases):
            if alias != message.name:
                aliases[alias] = message.name
    module.add('__all__ = ["ALIASES", "CODECS", "ORDER"]', "")
    codecs = [f"*{_alias(message)}" for message in spec.messages]
    module.add("CODECS: Final[tuple[Codec[Any], ...]] = (")
    module.add(*(f"    {codec}," for codec in codecs), ")")
    if len(codecs) == 1:
        module.lines[-3:] = [f"CODECS: Final[tuple[Codec[Any], ...]] = ({codecs[0]},)"]
    releases = [literal(release) for release in spec.releases]
    close = ",)" if len(releases) == 1 else ")"
    module.add(*spans("ORDER: Final[tuple[str, ...]] = (", releases, close))
    pairs = [f"{literal(a)}: {literal(name)}" for a, name in sorted(aliases.items())]
    module.add(*spans("ALIASES: Final[dict[str, str]] = {", pairs, "}"))
    return module.render()


def _alias(message: Message) -> str:
    return codecs_alias(message.group, message.module)


def codecs_alias(group: str, module: str) -> str:
    """What the table of all codecs calls those of a message."""
    return f"{group}_{module}".upper()


def emit_root(spec: Spec) -> str:
    """``wire/__init__.py``: the ways to choose a codec, and the backends."""
    module = Module("Codecs of every PD control message of every SGLang release.", "protocol/")
    groups = sorted({b.name for b in spec.backends} | {m.group for m in spec.messages})
    module.need("pdwire.registry", "Recognition", "Registry")
    module.need("pdwire.wire", *groups)
    module.need("pdwire.wire.table", "ALIASES", "CODECS", "ORDER")
    module.need("typing", "Final")
    public = ["Recognition", *groups, "layout", "layouts", "recognise", "releases"]
    module.add(
        *spans("__all__ = [", [literal(n) for n in sorted(public, key=import_order)], "]"), ""
    )
    module.add("_REGISTRY: Final = Registry(CODECS, ORDER, ALIASES)", "")
    for name in ("layout", "layouts", "releases", "recognise"):
        module.add(f"{name} = _REGISTRY.{name}")
    return module.render()
