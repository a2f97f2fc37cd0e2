# SPDX-License-Identifier: Apache-2.0
import asyncio
import json
import socket

import pytest

from grasp import UserError
from grasp.control import admin


async def echo(request):
    if request.get("command") == "fail":
        raise UserError("it failed, do better")
    return request


async def test_a_request_gets_the_handlers_answer(tmp_path):
    async with admin.serve(tmp_path / "s", echo):
        answer = await asyncio.to_thread(admin.ask, tmp_path / "s", command="drain", site="ny1")
    assert answer == {"command": "drain", "site": "ny1"}
    assert not (tmp_path / "s").exists()


async def test_the_handlers_user_error_is_the_askers(tmp_path):
    async with admin.serve(tmp_path / "s", echo):
        with pytest.raises(UserError, match="it failed, do better"):
            await asyncio.to_thread(admin.ask, tmp_path / "s", command="fail")


@pytest.mark.parametrize("line", [b"drain ny1\n", b"[]\n", b"\xff\n", b"\n"])
async def test_what_is_no_request_is_answered_by_an_error_and_the_next_one_served(tmp_path, line):
    async with admin.serve(tmp_path / "s", echo):
        reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
        writer.write(line + b'{"command": "status"}\n')
        assert "error" in json.loads(await reader.readline())
        assert json.loads(await reader.readline()) == {"result": {"command": "status"}}
        writer.close()


async def test_a_socket_left_by_a_killed_controller_is_replaced_a_live_one_is_not(tmp_path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    async with admin.serve(tmp_path / "s", echo):
        with pytest.raises(UserError, match="already answers"):
            async with admin.serve(tmp_path / "s", echo):
                pass
        assert await asyncio.to_thread(admin.ask, tmp_path / "s", command="status")


def test_no_controller_is_named_with_the_way_out(tmp_path):
    with pytest.raises(UserError, match="start grasp controller"):
        admin.ask(tmp_path / "s", command="status")


async def test_a_socket_that_cannot_be_made_is_a_user_error(tmp_path):
    with pytest.raises(UserError, match="cannot be opened"):
        async with admin.serve(tmp_path / "missing" / "s", echo):
            pass
