from __future__ import annotations

import sys
from typing import Any

import pytest

from pdwire_conformance.peers.errors import Unavailable
from pdwire_conformance.peers.loader import load

from .conftest import Tree

pytestmark = pytest.mark.usefixtures("loaded")

_CONN = """
import torch
import triton.language as tl
from mooncake.engine import TransferEngine
from sglang.srt.disaggregation.common.utils import answer
from sglang.srt.environ import envs
from sglang.srt.layers.dp_attention import get_attention_tp_size
from sglang.srt.utils import format_tcp_address, is_valid_ipv6_address

class Manager:
    engine: TransferEngine
    @torch.no_grad()
    def size(self): return int(get_attention_tp_size()) + answer + envs
"""


def test_the_release_s_own_modules_run_and_the_rest_are_stubs(tree: Tree) -> None:
    root = tree(
        {
            "mooncake/__init__.py": "",
            "mooncake/conn.py": _CONN,
            "common/utils.py": "answer = 40\n",
            "../environ.py": "envs = 2\n",
        }
    )
    peer = load("9.9.9", root)
    assert peer.attribute("mooncake.conn", "Manager")().size() == 42
    assert peer.environ.envs == 2


def test_helpers_for_addresses_are_answered_faithfully(tree: Tree) -> None:
    conn: Any = load("9.9.9", tree({"conn.py": _CONN, "common/utils.py": "answer = 0\n"}))
    module = conn.module("conn")
    assert module.format_tcp_address("fe80::1%eth0", 5) == "tcp://[fe80::1%eth0]:5"
    assert module.format_tcp_address("10.0.0.1", 5) == "tcp://10.0.0.1:5"
    assert not module.is_valid_ipv6_address("host")


def test_what_the_release_lacks_is_unavailable_not_a_stub(tree: Tree) -> None:
    peer = load("9.9.9", tree({"conn.py": "class Known: pass\n"}))
    with pytest.raises(Unavailable, match=r"9\.9\.9 has no mori/conn\.py"):
        peer.module("mori.conn")
    with pytest.raises(Unavailable, match=r"9\.9\.9 has no Known\.method in conn\.py"):
        peer.attribute("conn", "Known.method")


def test_a_release_that_imports_a_missing_module_of_its_own_fails(tree: Tree) -> None:
    peer = load("9.9.9", tree({"conn.py": "import sglang.srt.disaggregation.gone\n"}))
    with pytest.raises(ModuleNotFoundError):
        peer.module("conn")


def test_one_process_speaks_for_one_release(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    load("9.9.9", tree({"conn.py": ""}))
    with pytest.raises(RuntimeError, match="another release"):
        load("9.9.8", tmp_path_factory.mktemp("other"))


def test_loggers_have_the_method_that_the_releases_call(tree: Tree) -> None:
    text = "import logging\nlogging.getLogger('x').warning_once('said %s', 'once')\n"
    load("9.9.9", tree({"conn.py": text})).module("conn")
    assert "sglang.srt.disaggregation.conn" in sys.modules
