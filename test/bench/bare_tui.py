"""Runs Claude Code's interactive sessions with nothing but what they need: the yardstick of the bench.

Reads a JSON list of sessions from stdin and starts them all at once, each on a pseudo-terminal of its own:
the prompt file on fd 0, fds 1 and 2 the terminal. Answers DA1 alone, waits for a session to be idle once its
first hook announces itself on the FIFO, because an earlier end can lose the answer, and ends it with SIGTERM.
Prints a JSON list of what happened, times in milliseconds from the first spawn. A session without a FIFO is only
read until it ends.

Needs Python 3.9 and nothing beyond its standard library.
"""

import errno
import fcntl
import json
import os
import select
import signal
import struct
import sys
import termios
import time

DA1 = (b"\x1b[c", b"\x1b[0c")
DA1_REPLY = b"\x1b[?6c"
READ_BYTES = 64 * 1024
IDLE_LOOK_MS = 5


class Session:
    """One child and the fds that tell of it."""

    def __init__(self, spec):
        self.config = spec.get("config")
        self.ending = False
        self.fifo = None
        if "fifo" in spec:
            # For reading and writing: it never reports a hang-up when a hook's shell leaves.
            self.fifo = os.open(spec["fifo"], os.O_RDWR | os.O_NONBLOCK)
        self.master, slave = os.openpty()
        size = struct.pack("HHHH", spec["rows"], spec["cols"], 0, 0)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)
        os.set_blocking(self.master, False)
        terminal = os.ttyname(slave)
        os.chdir(spec["cwd"])
        self.spawned = time.monotonic()
        self.pid = os.posix_spawn(
            spec["binary"],
            [spec["binary"], *spec["args"]],
            spec["env"],
            # A session leader's first terminal becomes its controlling one.
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, terminal, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_OPEN, 0, spec["stdin"], os.O_RDONLY, 0),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE],
        )
        os.close(slave)
        self.pidfd = os.pidfd_open(self.pid)
        self.tail = b""
        self.bytes = 0
        self.stop = None
        self.exited = None
        self.status = None

    def read_terminal(self):
        try:
            data = os.read(self.master, READ_BYTES)
        except BlockingIOError:
            return self.exited is None
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.bytes += len(data)
        if self.fifo is None:
            return True
        text = self.tail + data
        for probe in DA1:
            for _ in range(text.count(probe) - self.tail.count(probe)):
                os.write(self.master, DA1_REPLY)
        self.tail = text[-3:]
        return True

    def read_fifo(self):
        os.read(self.fifo, 4096)
        if self.stop is None:
            self.stop = time.monotonic()

    def end_when_idle(self):
        try:
            with open(f"{self.config}/sessions/{self.pid}.json") as file:
                idle = json.load(file)["status"] == "idle"
        except (OSError, ValueError):
            idle = False
        if idle:
            self.ending = True
            os.killpg(self.pid, signal.SIGTERM)

    def reap(self):
        _, word = os.waitpid(self.pid, 0)
        self.exited = time.monotonic()
        self.status = os.waitstatus_to_exitcode(word)
        while self.fifo is None and self.read_terminal():
            pass


def main():
    sessions = [Session(spec) for spec in json.load(sys.stdin)]
    poller = select.poll()
    actions = {}

    def watch(fd, action):
        poller.register(fd, select.POLLIN)
        actions[fd] = action

    for session in sessions:
        watch(session.master, session.read_terminal)
        watch(session.pidfd, session.reap)
        if session.fifo is not None:
            watch(session.fifo, session.read_fifo)
    alive = len(sessions)
    while alive > 0:
        settling = [each for each in sessions if each.stop is not None and not each.ending]
        for session in settling:
            if session.exited is None:
                session.end_when_idle()
        for fd, _ in poller.poll(IDLE_LOOK_MS if settling else None):
            if actions[fd]() is False:
                poller.unregister(fd)
        for session in sessions:
            if session.exited is not None and session.pidfd in actions:
                poller.unregister(session.pidfd)
                del actions[session.pidfd]
                alive -= 1
    first = min(session.spawned for session in sessions)

    def since(instant):
        return None if instant is None else (instant - first) * 1000

    json.dump(
        [
            {
                "spawned": since(session.spawned),
                "stop": since(session.stop),
                "exited": since(session.exited),
                "status": session.status,
                "bytes": session.bytes,
            }
            for session in sessions
        ],
        sys.stdout,
    )


main()
