"""A user of the Agent SDK for Python, who replays a tape by claude-agent-cassette and by an executable in turns.

Its argument is JSON: the tape, the executable that replays it, and how often. It prints what each took, in milliseconds.
"""

import asyncio
import json
import sys
import time

from claude_agent_cassette import load_tape, replay_tape
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient


async def to_result(client):
    count = 0
    async for message in client.receive_messages():
        count += 1
        if type(message).__name__ == "ResultMessage":
            return count


async def by_program(told, prompt):
    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=told["executable"])) as client:
        await client.query(prompt)
        return await to_result(client)


async def by_package(told, prompt):
    async with replay_tape(load_tape(told["tape"])) as client:
        await client.query(prompt)
        return await to_result(client)


async def main():
    told = json.loads(sys.argv[1])
    writes = [json.loads(each["data"]) for each in load_tape(told["tape"]) if each["dir"] == "write"]
    prompt = next(each["message"]["content"] for each in writes if each["type"] == "user")
    took = {"program": [], "package": []}
    counts = set()
    for _ in range(told["rounds"]):
        for name, replay in (("program", by_program), ("package", by_package)):
            begun = time.perf_counter()
            counts.add(await replay(told, prompt))
            took[name].append((time.perf_counter() - begun) * 1000)
    if len(counts) != 1:
        raise RuntimeError(f"They do not replay the same: {counts}")
    print(json.dumps(took))


asyncio.run(main())
