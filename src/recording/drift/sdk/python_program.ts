/**
 * What the interpreter is given in which the Agent SDK for Python is: it reads the paths of tapes from stdin as JSON, has
 * the SDK parse each frame, and prints one JSON object. Frames of the control protocol do not get as far as its parser, and
 * `command_lifecycle` is for programs of Claude Code's own: the parser passes it over.
 */
export const PYTHON_PROGRAM = String.raw`
import json, sys
try:
    import claude_agent_sdk
    from claude_agent_sdk._internal.message_parser import parse_message
except Exception as error:
    print(json.dumps({"missing": f"{type(error).__name__}: {error}"[:500]}))
    sys.exit(0)

PROTOCOL = ("control_request", "control_response", "control_cancel_request", "transcript_mirror", "keep_alive", "command_lifecycle")
MOST = 1000
LONGEST_LINE = 64 * 1024 * 1024
LONGEST = 500
found = {}
left = 0

def add(path, line, check, where, what):
    global left
    key = (check, where[:LONGEST], what[:LONGEST])
    if key in found:
        found[key]["count"] += 1
    elif len(found) < MOST:
        found[key] = {"check": check, "where": key[1], "what": key[2], "count": 1, "path": path, "line": line}
    else:
        left += 1

def text(value):
    return value if isinstance(value, str) else json.dumps(value)

def look(path, line, frame):
    kind = text(frame.get("type"))
    if kind in PROTOCOL:
        return
    if frame.get("subtype") is not None:
        kind += "/" + text(frame["subtype"])
    where = "frame " + kind
    try:
        parsed = parse_message(frame)
    except Exception as error:
        cause = error.__cause__
        if isinstance(cause, KeyError) and cause.args:
            add(path, line, "field gone", where, text(cause.args[0]))
        else:
            add(path, line, "frame rejected", where, str(error))
        return
    if parsed is None:
        add(path, line, "type unknown", "frame", kind)
        return
    message = frame.get("message")
    blocks = message.get("content") if isinstance(message, dict) else None
    kept = getattr(parsed, "content", None)
    if not isinstance(blocks, list) or not isinstance(kept, list) or len(kept) >= len(blocks):
        return
    for block in blocks:
        one = parse_message({**frame, "message": {**message, "content": [block]}})
        if not one.content:
            add(path, line, "block dropped", "block", text(block.get("type")))

for path in json.load(sys.stdin):
    with open(path, "rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE), b""), 1):
            if len(line) == LONGEST_LINE:
                break
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if not isinstance(entry, dict) or entry.get("dir") == "write":
                continue
            frame = entry.get("frame") if "dir" in entry or isinstance(entry.get("frame"), dict) else entry
            if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
                continue
            try:
                look(path, number, frame)
            except RecursionError:
                add(path, number, "frame rejected", "frame", "it is nested too deeply")
print(json.dumps({"version": str(getattr(claude_agent_sdk, "__version__", "of an unknown version"))[:100], "found": list(found.values()), "left": left}))
`;
