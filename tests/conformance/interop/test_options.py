from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdwire_conformance.interop.options import BACKENDS, ROLES, Options, parse

OPTIONS = st.builds(
    Options,
    release=st.sampled_from(["0.5.19", "ours"]),
    backend=st.sampled_from(BACKENDS),
    role=st.sampled_from(ROLES),
    tp_size=st.integers(1, 8),
    mla=st.booleans(),
    memory=st.sampled_from(["DRAM", "VRAM"]),
    staging=st.integers(0, 64),
    wire=st.sampled_from(["", "0.5.16"]),
)


@given(OPTIONS)
def test_the_command_line_says_everything(options: Options) -> None:
    assert parse(options.arguments()) == options


def test_a_side_without_a_role_is_no_side() -> None:
    with pytest.raises(SystemExit):
        parse(["--release", "0.5.19", "--backend", "mooncake"])


def test_a_page_is_tokens_by_heads_by_dim_of_k_and_v_of_every_layer() -> None:
    one = Options(release="ours", backend="nixl", role="decode", layers=4, heads=4, head_dim=16)
    assert one.page_bytes == 2 * 4 * 16 * 4 * 16 * 2
    half = Options(release="ours", backend="nixl", role="decode", layers=4, heads=4, tp_size=2)
    assert half.page_bytes * 2 == one.page_bytes


def test_ranks_share_a_head_when_there_are_fewer_heads_than_ranks() -> None:
    options = Options(release="ours", backend="nixl", role="decode", heads=2, tp_size=4)
    assert options.local_heads == 1
