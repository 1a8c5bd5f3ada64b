from __future__ import annotations

import pytest

from pdwire.reading import hosts

LABEL = "a" * 63


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.2",
        "255.255.255.255",
        "::1",
        "[::1]",
        "fe80::1%eth0",
        "[fe80::1%eth0.12]",
        "::ffff:10.0.0.1",
        "h",
        "node_1.cluster-2.local",
        "1a",
        "10.0.0.2a",
        f"{LABEL}.{LABEL}.{LABEL}.{'b' * 61}",
    ],
)
def test_a_host_in_any_spelling(text: str) -> None:
    assert hosts.is_host(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "10.0.0",
        "10.0.0.256",
        "010.0.0.1",
        "name.1",
        "a..b",
        "a.",
        ".a",
        "-a",
        "a-",
        "a b",
        "a\n",
        "h:5000",
        "[10.0.0.1]",
        "[h]",
        "[::1",
        "::1]",
        "[[::1]]",
        "::1%",
        "fe80::1%a%b",
        "fe80::1%a b",
        ":::",
        "é",
        LABEL + "a",
        f"{LABEL}.{LABEL}.{LABEL}.{'b' * 62}",
    ],
)
def test_no_host(text: str) -> None:
    assert not hosts.is_host(text)


@pytest.mark.parametrize(
    "text", ["h:1", "10.0.0.2:65535", "[::1]:5000", "[fe80::1%eth0]:17000", "a_b:80"]
)
def test_a_host_with_a_port(text: str) -> None:
    assert hosts.is_hostport(text)


@pytest.mark.parametrize(
    "text",
    [
        "h",
        "h:",
        "h:x",
        "h:0",
        "h:00080",
        "h:080",
        "h:70000",
        "h:65536",
        "h:+5",
        "h:\uff15",
        ":5000",
        "::1:5000",
        "fe80::1%eth0:5000",
        "[::1]",
        "[h]:5000",
        "[::1]5000",
        "h:5000:5000",
        "h:5000 ",
    ],
)
def test_no_host_with_a_port(text: str) -> None:
    assert not hosts.is_hostport(text)
