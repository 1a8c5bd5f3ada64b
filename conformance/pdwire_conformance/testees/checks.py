"""What a testee is checked for, one function per check; :data:`CHECKS` has them in order.

Rules:

* A check asks, and notes breaches in the conversation; it says in a few words what it saw.
* Only the protocol is checked. Whether values are right is for the suite; that integers
  arrive whole is the protocol's business, because everything stands on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any, Final

from pdwire_conformance.proof.spec import load_spec

from .conversation import Conversation
from .protocol import PROTOCOL, Answer, Hello, Request, read_hello
from .samples import BIG, EXACT, Sample, samples
from .shape import Fault, shown

__all__ = ["CHECKS", "Check"]

_AHEAD: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: its name for good, what is right, and how it is found out."""

    name: str
    purpose: str
    run: Callable[[Conversation, Hello], str]


def _claims(talk: Conversation, hello: Hello) -> str:
    backends = {each["name"]: each for each in load_spec()["backends"]}
    for backend, releases in hello.releases.items():
        if backend not in backends:
            _unknown(talk, f"/hello/backends/{backend}", "a backend", backend, backends)
            continue
        known = backends[backend]["releases"]
        for place, release in enumerate(releases):
            if release not in known:
                at = f"/hello/backends/{backend}/releases/{place}"
                _unknown(talk, at, f"a release that has {backend}", release, known)
        names = [m["name"] for m in load_spec()["messages"] if backend in m["backends"]]
        for name in hello.messages[backend]:
            if name not in names:
                at = f"/hello/backends/{backend}/messages/{name}"
                _unknown(talk, at, f"a message of {backend}", name, names)
    return ", ".join(
        f"{backend}: {_many(len(hello.messages[backend]), 'message')}, "
        f"{_many(len(releases), 'release')}"
        for backend, releases in hello.releases.items()
    )


def _unknown(talk: Conversation, at: str, what: str, came: str, known: Iterable[str]) -> None:
    expected = f"{what} of the spec ({', '.join(known)})"
    talk.note(Fault(pointer=at, expected=expected, came=shown(came), advice="leave it out"))


def _decode(talk: Conversation, hello: Hello) -> str:
    return _asked(talk, ((sample, sample.decode()) for sample in samples(hello, "decode")), hello)


def _encode(talk: Conversation, hello: Hello) -> str:
    return _asked(talk, ((sample, sample.encode()) for sample in samples(hello, "encode")), hello)


def _asked(talk: Conversation, pairs: Iterable[tuple[Sample, Request]], hello: Hello) -> str:
    told: Counter[str] = Counter()
    for sample, request in pairs:
        answer = _ask(talk, request)
        if answer is None:
            continue
        told.update([*answer])
        if "values" in answer and "partial" not in hello.features:
            _whole(talk, sample, answer["values"])
    return _counted(told)


def _whole(talk: Conversation, sample: Sample, values: Mapping[str, Any]) -> None:
    lacking = [name for name in sample.fields if name not in values]
    if lacking:
        advice = "give every field of the message, or claim the feature partial"
        expected = f"every field of {sample.message}"
        came = f"no {', '.join(lacking)}"
        talk.note(Fault(pointer="/values", expected=expected, came=came, advice=advice))
    for name in values:
        if name not in sample.fields:
            expected = f"fields of {sample.message} ({', '.join(sample.fields)})"
            talk.note(Fault(pointer=f"/values/{name}", expected=expected, came=shown(name)))


def _refuses(talk: Conversation, hello: Hello) -> str:
    told: Counter[str] = Counter()
    for sample in samples(hello, "decode"):
        for frames in ((), (b"",), (b"\xff\xfe",), sample.frames[:-1], (*sample.frames, b"\0")):
            told.update([*(_ask(talk, sample.decode(frames)) or ())])
    return _counted(told)


def _recognise(talk: Conversation, hello: Hello) -> str:
    told: Counter[str] = Counter()
    for sample in samples(hello, "decode"):
        frames = [frame.hex() for frame in sample.frames]
        asked = {"op": "recognise", "backend": sample.backend, "frames": frames, "direction": ""}
        answer = _ask(talk, asked) or {}
        told.update([*answer])
        for place, each in enumerate(answer.get("recognised", {}).get("candidates", ())):
            _candidate(talk, sample.backend, f"/recognised/candidates/{place}", each)
        if "recognise" not in hello.features:
            break  # once is enough to see that it is refused politely
    return _counted(told)


def _candidate(talk: Conversation, backend: str, at: str, each: Mapping[str, Any]) -> None:
    known = {
        message["name"]: [one["id"] for one in message["layouts"] if one["speakers"].get(backend)]
        for message in load_spec()["messages"]
        if backend in message["backends"]
    }
    if each["message"] not in known:
        _unknown(talk, f"{at}/message", f"a message of {backend}", each["message"], known)
        return
    ids = known[each["message"]]
    for place, layout in enumerate(each["layouts"]):
        if layout not in ids:
            what = f"a layout of {each['message']}"
            _unknown(talk, f"{at}/layouts/{place}", what, layout, ids)


def _integers(talk: Conversation, hello: Hello) -> str:
    seen = 0
    for sample in samples(hello, "decode", exact=True):
        values = (_ask(talk, sample.decode()) or {}).get("values", {})
        for name, value in sample.values.items():
            if value == EXACT and name in values:
                seen += 1
                if values[name] != EXACT:
                    _inexact(talk, f"/values/{name}", values[name])
    for sample in samples(hello, "encode", exact=True):
        frames = (_ask(talk, sample.encode()) or {}).get("frames")
        if frames:
            seen += 1
            if str(EXACT).encode().hex() not in frames:
                _inexact(talk, "/frames", frames)
    return f"{_many(seen, 'number')} beyond 2^53"


def _inexact(talk: Conversation, pointer: str, came: object) -> None:
    advice = "read and write JSON integers exactly: a parser that makes doubles of them rounds"
    talk.note(Fault(pointer=pointer, expected=str(EXACT), came=shown(came), advice=advice))


def _large(talk: Conversation, hello: Hello) -> str:
    told: Counter[str] = Counter()
    for sample in islice(samples(hello, "decode", big=True), 2):
        told.update([*(_ask(talk, sample.decode()) or ())])
    for sample in islice(samples(hello, "encode", big=True), 2):
        told.update([*(_ask(talk, sample.encode()) or ())])
    return f"{BIG} indices: {_counted(told)}"


def _strange(talk: Conversation, hello: Hello) -> str:
    odd: list[Request] = [
        {"op": "dance"},
        {"op": "decode", "backend": "carrier-pigeon", "release": "0", "message": "X", "frames": []},
    ]
    for sample in islice(samples(hello, "decode"), 1):
        odd.append(sample.decode() | {"release": "0.0.1"})
        odd.append(sample.decode() | {"message": "NO_SUCH_MESSAGE"})
    told: Counter[str] = Counter()
    for request in odd:
        answer = _ask(talk, request)
        if answer is not None and not {"error", "skip"} & set(answer):
            expected = "an error or a skip, for there is no such thing"
            talk.note(Fault(pointer="", expected=expected, came=shown(answer)))
        told.update([*(answer or ())])
    return _counted(told)


_NO_REQUESTS: Final = (b'{"id":\n', b"[]\n", b'{"id":900}\n', b"\xff\n")


def _again(talk: Conversation, hello: Hello) -> str:
    told = _ask(talk, {"op": "hello", "protocol": PROTOCOL})
    if told is not None and read_hello(told["hello"]) != hello:
        talk.note(Fault(pointer="/hello", expected="what it said before", came=shown(told)))
    return ""


def _malformed(talk: Conversation, hello: Hello) -> str:
    del hello
    for line in _NO_REQUESTS:
        _awake(talk)
        told = talk.raw(line)
        if told is not None and ("error" not in told or told.get("id") not in (None, 900)):
            advice = "answer what is no request with its id, or null, and an error"
            expected = 'an error with "id": null'
            talk.note(Fault(pointer="", expected=expected, came=shown(told), advice=advice))
    _ask(talk, {"op": "dance"})  # and the next request is answered as ever
    return f"{_many(len(_NO_REQUESTS), 'line')}"


def _pipelined(talk: Conversation, hello: Hello) -> str:
    _awake(talk)
    one = [sample.decode() for sample in islice(samples(hello, "decode"), 4)]
    one += [sample.encode() for sample in islice(samples(hello, "encode"), 4)]
    first, *told = talk.ahead([*islice(cycle(one or [{"op": "dance"}]), _AHEAD)])
    ids = [each.get("id") if isinstance(each, dict) else None for each in told]
    wanted = [*range(first, first + _AHEAD)]
    if ids != wanted and len(ids) == _AHEAD:
        at = next(n for n, (a, b) in enumerate(zip(wanted, ids, strict=True)) if a != b)
        same = sorted(ids, key=str) == sorted(wanted, key=str)
        came = f"{shown(ids[at])} in place {at}" + (", reordered" if same else "")
        advice = "answer in the order of the requests, one answer each"
        talk.note(Fault(pointer="/id", expected=str(wanted[at]), came=came, advice=advice))
    return f"{_AHEAD} requests before the first answer was read"


def _stop(talk: Conversation, hello: Hello) -> str:
    del hello
    _awake(talk)
    talk.stop()
    return ""


def _end_of_input(talk: Conversation, hello: Hello) -> str:
    del hello
    _awake(talk)
    talk.end_input()
    return ""


def _awake(talk: Conversation) -> None:
    if not talk.alive:
        talk.begin()


def _ask(talk: Conversation, request: Request) -> Answer | None:
    _awake(talk)
    return talk.ask(request) if talk.alive else None


def _counted(told: Counter[str]) -> str:
    words = {"error": "refused", "skip": "skipped"}
    return ", ".join(f"{number} {words.get(what, what)}" for what, number in told.items())


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


CHECKS: Final = (
    Check(name="claims", purpose="It claims only what the spec has.", run=_claims),
    Check(name="decode", purpose="Valid messages are answered in shape, whole.", run=_decode),
    Check(name="encode", purpose="Values are answered in shape.", run=_encode),
    Check(name="refuses", purpose="Frames that are no message are answered.", run=_refuses),
    Check(name="recognise", purpose="It recognises as it claims, or says no.", run=_recognise),
    Check(name="integers", purpose="Integers pass whole, at any size.", run=_integers),
    Check(name="large", purpose="Large messages are answered in time.", run=_large),
    Check(name="strange", purpose="What there is not is refused, politely.", run=_strange),
    Check(name="hello-again", purpose="It may be asked again what it is.", run=_again),
    Check(name="malformed", purpose="A line that is no request is answered.", run=_malformed),
    Check(name="pipelined", purpose="Requests may come ahead; order is kept.", run=_pipelined),
    Check(name="stop", purpose="It answers stop and ends with status 0.", run=_stop),
    Check(name="end-of-input", purpose="It ends when its input does.", run=_end_of_input),
)
