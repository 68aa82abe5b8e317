"""A conversation over HTTP on a socket, with nothing but Python's own library: serve_client.py SOCKET CLAUDE PROMPT..."""

import http.client
import json
import socket
import sys

SOCKET, CLAUDE, *PROMPTS = sys.argv[1:]


class OnSocket(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(SOCKET)


def ask(method, path, body=None):
    connection = OnSocket("localhost")
    headers = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status < 300, (answer.status, text)
    return json.loads(text) if text else None


def events(path):
    connection = OnSocket("localhost")
    connection.request("GET", f"{path}/events")
    for line in connection.getresponse():
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


ANSWERS = {
    "permission": lambda waiting: {"behavior": "allow"},
    "question": lambda waiting: {"answers": {waiting["input"]["questions"][0]["question"]: "B"}},
    "plan": lambda waiting: {"behavior": "allow"},
}

opened = ask("POST", "/v1/conversations", {"profile": {"args": ["--claude-binary", CLAUDE]}})
path = f"/v1/conversations/{opened['id']}"
frames = events(path)
for prompt in PROMPTS:
    ask("POST", f"{path}/messages", {"content": prompt})
    for frame in frames:
        if frame["type"] == "control_request":
            waiting = ask("GET", path)["waiting"]
            print(waiting["for"], waiting["cause"], flush=True)
            answer = ANSWERS[waiting["for"]](waiting)
            ask("POST", f"{path}/answers", {"request_id": waiting["request_id"], **answer})
        if frame["type"] == "result":
            print(frame["result"], flush=True)
            break
# The result of a turn is there a moment before the turn is over.
while (state := ask("GET", path))["state"] == "working":
    pass
print(path, state["state"], state["turns"], flush=True)
