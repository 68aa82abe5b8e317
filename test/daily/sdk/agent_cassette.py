"""A user of claude-agent-cassette, who records a conversation that claude-print records too, and replays what that wrote.

Its argument is JSON: the executable in the place of Claude Code's, the folder for its recording, the recording of a run
of one prompt, and where this program's own tape and frames go. It prints what it has seen as a line of JSON.
"""

import asyncio
import json
import sys
from pathlib import Path

from claude_agent_cassette import (
    check_drift,
    conversation_frames,
    direction_b_exchanges,
    load_frames,
    load_tape,
    record,
    replay,
    replay_tape,
)
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow


def kind(message):
    return type(message).__name__


async def allow(name, tool_input, context):
    return PermissionResultAllow()


async def responses(client):
    """Messages up to the result, which is the last that a replay has."""
    kinds = []
    async for message in client.receive_messages():
        kinds.append(kind(message))
        if kind(message) == "ResultMessage":
            return kinds, message.result


async def converse(told):
    options = ClaudeAgentOptions(
        cli_path=told["executable"],
        can_use_tool=allow,
        extra_args={"record": told["recording"]},
    )
    seen = []
    async with ClaudeSDKClient(options=options) as client:
        for prompt in ("Touch. [[bash touch it]] [[say Done.]]", "Greet me. [[say Hello.]]"):
            await client.query(prompt)
            seen.append(await responses(client))
    return seen


async def main():
    told = json.loads(sys.argv[1])
    with record(told["tape"]) as own:
        seen = await converse(told)
    ours = load_tape(Path(told["recording"], "tape.jsonl"))
    plain = load_tape(Path(told["plain"], "tape.jsonl"))
    # What it knew before it had tapes: frames alone, a line each.
    frames = conversation_frames(plain)
    Path(told["frames"]).write_text("".join(json.dumps(frame) + "\n" for frame in frames))
    replayed = []
    async with replay_tape(ours, ClaudeAgentOptions(can_use_tool=allow), mode="verify") as client:
        for _ in seen:
            replayed.append(await responses(client))
    async with replay(load_frames(told["frames"])) as client:
        alone = await responses(client)
    print(json.dumps({
        "seen": seen,
        "replayed": replayed,
        "alone": alone,
        "ours": [{name: each[name] for name in each if name != "at"} for each in ours],
        "own": own,
        "exchanges": [len(each) for each in direction_b_exchanges(ours).values()],
        "drift": [str(each) for each in check_drift(ours)],
    }))


asyncio.run(main())
