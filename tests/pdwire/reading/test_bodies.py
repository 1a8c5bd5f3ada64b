from __future__ import annotations

import pytest

from pdwire.reading import Reading, ReadingError, Value

LACKING: dict[str, Value] = {
    "role": "Prefill",
    "dtype": None,
    "sharded": False,
    "ranks": [],
    "spec": None,
}


def fault(reading: Reading, message: str, raw: bytes) -> ReadingError:
    with pytest.raises(ReadingError) as caught:
        reading.decode(message, "r1", [raw])
    return caught.value


def test_optional_keys_may_be_left_out(reading: Reading) -> None:
    assert reading.decode("PUT", "r1", [b'{"tp": 4}']) == {"tp_size": 4} | LACKING
    assert reading.encode("PUT", "r1", {"tp_size": 4} | LACKING) == [b'{"tp":4}']


def test_unknown_keys_are_ignored(reading: Reading) -> None:
    values = reading.decode("PUT", "r1", [b'{"tp": 4, "tomorrow": [1, {"x": null}]}'])
    assert values["tp_size"] == 4


def test_every_key_and_back(reading: Reading) -> None:
    values: dict[str, Value] = {
        "tp_size": 64,
        "role": "Prefill",
        "dtype": "naïve",
        "sharded": True,
        "ranks": [0, 9],
        "spec": {"a": [1.5, None]},
    }
    frames = reading.encode("PUT", "r1", values)
    assert frames == [
        '{"tp":64,"dtype":"naïve","sharded":true,"ranks":[0,9],"spec":{"a":[1.5,null]}}'.encode()
    ]
    assert reading.decode("PUT", "r1", frames) == values


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", "body"),
        (b"[]", "body"),
        (b"null", "body"),
        (b"{", "body"),
        (b'{"tp": NaN}', "body"),
        (b'{"tp": 4, "x": 1e400}', "body"),
        (b'{"tp": 4, "x": "\\ud800"}', "body"),
        (b"\xff", "body"),
        (b"[" * 100_000, "body"),
        (b'{"tp": ' + b"1" * 5000 + b"}", "body"),
        (b"{}", "tp_size"),
        (b'{"tp": 0}', "tp_size"),
        (b'{"tp": 65}', "tp_size"),
        (b'{"tp": "4"}', "tp_size"),
        (b'{"tp": 4.0}', "tp_size"),
        (b'{"tp": true}', "tp_size"),
        (b'{"tp": null}', "tp_size"),
        (b'{"tp": 4, "role": "Decode"}', "role"),
        (b'{"tp": 4, "role": null}', "role"),
        (b'{"tp": 4, "dtype": 5}', "dtype"),
        (b'{"tp": 4, "sharded": 1}', "sharded"),
        (b'{"tp": 4, "ranks": [0, 10]}', "ranks"),
        (b'{"tp": 4, "ranks": {"0": 1}}', "ranks"),
        (b'{"tp": 4, "spec": []}', "spec"),
    ],
)
def test_the_bad_key_is_named(reading: Reading, raw: bytes, field: str) -> None:
    assert fault(reading, "PUT", raw).field == field


def test_of_a_json_key_that_comes_twice_the_last_counts(reading: Reading) -> None:
    assert reading.decode("PUT", "r1", [b'{"tp": 0, "tp": 3}'])["tp_size"] == 3


def test_a_query_and_back(reading: Reading) -> None:
    values: dict[str, Value] = {"dp_rank": -1, "word": "a&b=c+%", "cp_rank": 2, "all": True}
    frames = reading.encode("GET", "r1", values)
    assert frames == [b"dp=-1&word=a%26b%3Dc%2B%25&cp=2"]
    assert reading.decode("GET", "r1", frames) == values


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"", "dp_rank"),
        (b"dp", "body"),
        (b"dp=1&&word=a", "body"),
        (b"dp=1&word=%ff", "word"),
        (b"dp=1&word=\xff", "body"),
        (b"&".join([b"dp=1"] * 1000), "body"),
        (b"dp=1", "word"),
        (b"dp=&word=a", "dp_rank"),
        (b"dp=+1&word=a", "dp_rank"),
        (b"dp=1&word=", "word"),
        (b"dp=1&word=a%20b", "word"),
        (b"dp=1&word=a&cp=100", "cp_rank"),
    ],
)
def test_the_bad_key_of_a_query_is_named(reading: Reading, raw: bytes, field: str) -> None:
    assert fault(reading, "GET", raw).field == field


def test_of_a_query_key_that_comes_twice_the_first_counts(reading: Reading) -> None:
    assert reading.decode("GET", "r1", [b"dp=1&word=a&dp=2"])["dp_rank"] == 1


def test_an_unknown_query_key_is_not_looked_into(reading: Reading) -> None:
    assert reading.decode("GET", "r1", [b"x=%ff&dp=1&word=a"])["dp_rank"] == 1


def test_a_body_that_is_a_table(reading: Reading) -> None:
    assert reading.decode("TABLE", "r1", [b'{"7": 1, "8": 0}']) == {"table": {"7": 1, "8": 0}}
    assert reading.encode("TABLE", "r1", {"table": {"7": 1}}) == [b'{"7":1}']
    assert reading.encode("TABLE", "r1", {"table": {}}) == [b"{}"]
    assert fault(reading, "TABLE", b'{"7": 8}').field == "table"
    assert fault(reading, "TABLE", b"[]").field == "body"
