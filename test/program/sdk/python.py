"""A user of the Agent SDK for Python: plays scenarios and prints what it sees of each as a line of JSON.

Its argument is JSON: the executable in the place of Claude Code's, and the scenarios' names.
"""

import asyncio
import dataclasses
import json
import os
import sys
import uuid

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    create_sdk_mcp_server,
    query,
    tool,
)


def plainly(value):
    """A value as JSON, with the class of an object."""
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {"class": type(value).__name__, **plainly(fields)}
    if isinstance(value, dict):
        return {str(name): plainly(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plainly(each) for each in value]
    if isinstance(value, BaseException):
        return {"class": type(value).__name__, "message": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(type(value))


def bash(command):
    return f"[[bash {command}]]"


class Stage:
    """What a scenario works with."""

    def __init__(self, executable):
        self.executable = executable
        self.seen = []
        self.called = []

    def options(self, **more):
        # The words on stderr differ.
        return ClaudeAgentOptions(cli_path=self.executable, stderr=lambda line: None, **more)

    def see(self, what):
        """Records something that the user sees."""
        self.seen.append(plainly(what))

    def call(self, what):
        """Records a call of the user's code, which is not ordered with messages."""
        self.called.append(plainly(what))

    async def see_all(self, prompt, **options):
        messages = []
        async for message in query(prompt=prompt, options=self.options(**options)):
            messages.append(message)
            self.see(message)
        return messages

    async def see_error(self, prompt, **options):
        """Sees an error that is expected, and everything before it."""
        try:
            await self.see_all(prompt, **options)
            self.see({"thrown": None})
        except Exception as error:
            self.see({"thrown": error})

    async def say(self, client, text):
        """Sends a message, and sees everything up to the result."""
        await client.query(text)
        async for message in client.receive_response():
            self.see(message)


async def permissions_and_tools_of_its_own(stage):
    @tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(given):
        stage.call({"called": "add", **given})
        return {"content": [{"type": "text", "text": f"The sum is {given['a'] + given['b']}"}]}

    @tool("fail", "Fails", {})
    async def fail(given):
        raise RuntimeError("It broke")

    server = create_sdk_mcp_server(name="calc", version="1", tools=[add, fail])

    async def can_use_tool(name, given, context):
        stage.call({"asked": name, "input": given, "call": context.tool_use_id})
        command = given.get("command")
        if command == "touch no":
            return PermissionResultDeny(message="Not this one")
        if command == "touch other":
            return PermissionResultAllow(updated_input={"command": "echo another"})
        if command == "touch stop":
            return PermissionResultDeny(message="Not at all", interrupt=True)
        if command == "touch broken":
            raise RuntimeError("the user's code broke")
        return PermissionResultAllow()

    options = stage.options(can_use_tool=can_use_tool, mcp_servers={"calc": server})
    async with ClaudeSDKClient(options) as client:
        await stage.say(client, f"One. {bash('touch yes')} {bash('touch no')} [[say first]]")
        await stage.say(client, f"Two. {bash('touch other')} {bash('touch broken')} [[say second]]")
        await stage.say(client, f"Three. {bash('touch stop')} [[say never]]")
        await stage.say(client, 'Four. [[tool mcp__calc__add {"a":1,"b":2}]] [[say fourth]]')
        await stage.say(client, "Five. [[tool mcp__calc__fail {}]] [[say fifth]]")
        status = await client.get_mcp_status()
        servers = status["mcpServers"]
        stage.see([{"name": each["name"], "status": each["status"]} for each in servers])


async def hooks(stage):
    async def before(given, tool_use_id, context):
        command = given["tool_input"].get("command")
        stage.call({"before": command, "call": tool_use_id})
        if command != "echo no":
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "Not here",
            }
        }

    async def after(given, tool_use_id, context):
        stage.call({"after": given["tool_input"].get("command")})
        if given["tool_input"].get("command") == "echo last":
            return {"continue_": False, "stopReason": "That is enough"}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PostToolUse",
                "additionalContext": "Looked at",
            }
        }

    async def prompted(given, tool_use_id, context):
        stage.call({"prompt": given["prompt"]})
        return {"decision": "block", "reason": "Not this"} if given["prompt"][:5] == "Three" else {}

    async def stopped(given, tool_use_id, context):
        stage.call({"stopped": given["hook_event_name"]})
        return {}

    matchers = {
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [HookMatcher(matcher="Bash", hooks=[after])],
        "UserPromptSubmit": [HookMatcher(hooks=[prompted])],
        "Stop": [HookMatcher(hooks=[stopped])],
    }
    options = stage.options(hooks=matchers, allowed_tools=["Bash"])
    async with ClaudeSDKClient(options) as client:
        await stage.say(client, f"One. {bash('echo yes')} {bash('echo no')} [[say first]]")
        await stage.say(client, f"Two. {bash('echo last')} [[say never]]")
        await stage.say(client, "Three. [[say never]]")
        await stage.say(client, "Four. [[say fourth]]")


async def control(stage):
    async with ClaudeSDKClient(stage.options(allowed_tools=["Bash"])) as client:
        info = await client.get_server_info()
        stage.see({name: info.get(name) for name in ["commands", "output_style", "models"]})
        await stage.say(client, "One. [[say first]]")
        await client.query(
            f"Two. {bash('touch begun; until [ -e never ]; do sleep 0.05; done')} [[say never]]"
        )
        while not os.path.exists("begun"):
            await asyncio.sleep(0.02)
        await client.interrupt()
        async for message in client.receive_response():
            stage.see(message)
        await client.set_model("claude-haiku-5-5")
        await client.set_permission_mode("acceptEdits")
        await stage.say(
            client, 'Three. [[tool Write {"file_path":"three.txt","content":"x"}]] [[say third]]'
        )
        usage = await client.get_context_usage()
        stage.see({"model": usage["model"], "known": sorted(usage)})


async def options(stage):
    # A folder of its own, which no other scenario reads.
    here = os.path.join(os.getcwd(), "apart")

    def write(name, text):
        path = os.path.join(here, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    for name in ["my-skill", "my-other-skill"]:
        text = f"---\nname: {name}\ndescription: One\n---\nDo."
        write(f".claude/skills/{name}/SKILL.md", text)
    hook = {"type": "command", "command": "echo hooked"}
    hooked = {"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    write(".claude/settings.json", json.dumps(hooked))
    write("more/any", "")
    write("plugin/.claude-plugin/plugin.json", json.dumps({"name": "my-plugin"}))
    write("servers.json", json.dumps({"mcpServers": {}}))
    agent = AgentDefinition(
        description="Greets",
        prompt="You greet.",
        tools=["Read"],
        disallowedTools=["Write"],
        model="haiku",
        skills=["my-skill"],
        maxTurns=2,
    )
    calls = [
        bash("echo of $FROM"),
        bash("touch forbidden"),
        '[[tool Write {"file_path":"written","content":"x"}]]',
        '[[tool Agent {"description":"greet","prompt":"Greet. [[say hi]]",'
        '"subagent_type":"my-agent","run_in_background":false}]]',
        '[[tool Skill {"skill":"my-skill"}]]',
    ]
    await stage.see_all(
        f"One. [[think it over]] {' '.join(calls)} [[say first]]",
        add_dirs=[os.path.join(here, "more")],
        agents={"my-agent": agent},
        allowed_tools=["Agent", "Bash"],
        client_app="my-app/1",
        cwd=here,
        disallowed_tools=["Bash(touch forbidden)"],
        effort="high",
        env={"FROM": "the environment"},
        extra_args={"name": "My title"},
        fallback_model="claude-haiku-5-5",
        forward_subagent_text=True,
        include_hook_events=True,
        max_budget_usd=5,
        max_buffer_size=2_000_000,
        max_turns=20,
        mcp_servers=os.path.join(here, "servers.json"),
        model="claude-sonnet-5",
        permission_mode="acceptEdits",
        plugins=[{"type": "local", "path": os.path.join(here, "plugin")}],
        sandbox={"enabled": False},
        setting_sources=["project"],
        settings=json.dumps({"cleanupPeriodDays": 20}),
        skills=["my-skill"],
        strict_mcp_config=True,
        system_prompt={"type": "preset", "preset": "claude_code", "append": "Be brief."},
        task_budget={"total": 50_000},
        thinking={"type": "adaptive", "display": "summarized"},
        tools=["Agent", "Bash", "Read", "Skill", "Write"],
    )


async def structured_output(stage):
    schema = {
        "type": "object",
        "properties": {"count": {"type": "number"}},
        "required": ["count"],
    }
    await stage.see_all(
        'Count. [[tool StructuredOutput {}]] [[tool StructuredOutput {"count":3}]]',
        output_format={"type": "json_schema", "schema": schema},
    )


async def partial_messages(stage):
    # The pieces of an answer may be cut anywhere.
    joined = ""
    options = stage.options(include_partial_messages=True, allowed_tools=["Bash"])
    prompt = f"One. [[say first\\nsecond\\nthird]] {bash('echo one')} [[say fourth\\nfifth]]"
    async for message in query(prompt=prompt, options=options):
        delta = getattr(message, "event", {}).get("delta", {})
        piece = delta.get("text", delta.get("partial_json"))
        if piece is not None:
            joined += piece
            continue
        if joined:
            stage.see({"joined": joined})
        joined = ""
        stage.see(message)


async def sessions(stage):
    name = str(uuid.uuid4())
    first = await stage.see_all("One. [[say first]]", session_id=name)
    stage.see({"is_named": first[-1].session_id == name})
    second = await stage.see_all("Two. [[say second]]", resume=name, fork_session=True)
    stage.see({"is_same": second[-1].session_id == name})
    third = await stage.see_all("Three. [[say third]]", continue_conversation=True)
    stage.see({"is_fork": third[-1].session_id == second[-1].session_id})


async def errors(stage):
    await stage.see_error("One. [[error 400 Not like this]]")
    await stage.see_error(
        f"Two. {bash('echo a')} {bash('echo b')} [[say never]]",
        max_turns=1,
        allowed_tools=["Bash"],
    )


async def an_abort(stage):
    async with ClaudeSDKClient(stage.options()) as client:
        await client.query("One. [[hang]]")
        async for message in client.receive_messages():
            stage.see(type(message).__name__)
            # Leaving the client ends the program.
            break


async def two_queries_at_once(stage):
    seen = [[], []]

    async def one(index):
        # The recorder and the replay tell the queries apart by this variable.
        env = {"QUERY": f"two queries at once/{index + 1}"}
        async for message in query(
            prompt=f"{index}. [[think about it]] {bash(f'echo {index}')} [[say answer {index}]]",
            options=stage.options(env=env, allowed_tools=["Bash"]),
        ):
            seen[index].append(message)

    await asyncio.gather(one(0), one(1))
    for each in seen:
        stage.see(each)
    stage.see({"is_same": seen[0][-1].session_id == seen[1][-1].session_id})


SCENARIOS = {
    "permissions and tools of its own": permissions_and_tools_of_its_own,
    "hooks": hooks,
    "control": control,
    "options": options,
    "structured output": structured_output,
    "partial messages": partial_messages,
    "sessions": sessions,
    "errors": errors,
    "an abort": an_abort,
    "two queries at once": two_queries_at_once,
}


async def main(argument):
    for name in argument["scenarios"] or SCENARIOS:
        stage = Stage(argument["executable"])
        try:
            await SCENARIOS[name](stage)
        except Exception as error:
            stage.see({"thrown": error})
        seen = [*stage.seen, {"called": stage.called}]
        print(json.dumps({"name": name, "seen": seen}), flush=True)


asyncio.run(main(json.loads(sys.argv[1])))
