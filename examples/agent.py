#!/usr/bin/env python3
"""An agent on a session of ctxfs, in Python's standard library.

    agent.py ask SESSION TEXT       one turn: TEXT is asked, a tool is called, the answer is printed
    agent.py append SESSION LINE    appends a line as it is
    agent.py follow SESSION         prints what is said, until the session's state is done

SESSION is a folder in the mount, and is made if it is not there. docs/agents.md explains it."""
import errno
import json
import os
import sys
import time

ADVICE = {  # what to do about a line that was refused; docs/faq.md has all
    errno.EINVAL: "it is not one JSON object; mend it, and append it again",
    errno.EFBIG: "it is too long; store the bytes elsewhere and name them",
    errno.ENOSPC: "the disk is full; nothing of it is in the log, try again later",
    errno.EDQUOT: "your quota is used up; nothing of it is in the log, try again later",
    errno.ENOTCONN: "the daemon is gone; mount again, and append it again",
}

ROUNDS = 8  # calls of tools in a turn, at most


def append(session, line):
    """Appends a line to the log. When it returns, the line is in the log."""
    rest = memoryview(line.encode() + b"\n")
    with open(session + "/messages.jsonl", "ab", buffering=0) as log:
        while rest:  # write(2) may take less of a line that is longer than 1 MiB
            rest = rest[log.write(rest):]


def say(session, role, *content):
    append(session, json.dumps({"role": role, "content": list(content)}))


def put(session, name, text):
    with open(session + "/" + name, "w") as f:
        f.write(text + "\n")


def window(session):
    """What the model is to see: pack.md. pack.json tells the same to programs."""
    with open(session + "/context/pack.json") as f:
        about = json.load(f)
    print(f"pack: {about['tokens']} of {about['budget_tokens']} tokens, {len(about['omitted'])} left out", file=sys.stderr)
    with open(session + "/context/pack.md") as f:
        return f.read()


def model(pack):
    """Stands for a model: asks for the tool, and answers once the newest record is a result. Put the call of yours here."""
    newest = pack.rsplit("\n[", 1)[-1]
    if " tool, result of " not in newest.split("]")[0]:
        return {"type": "tool_use", "id": f"call-{time.time_ns()}", "name": "count_lines", "input": {"file": "messages.jsonl"}}
    return {"type": "text", "text": "The log had " + newest.split("\n")[1] + " lines."}


def count_lines(session, file):
    with open(session + "/" + file, "rb") as f:
        return str(sum(1 for _ in f))


def ask(session, text):
    put(session, "state", "active")
    say(session, "user", {"type": "text", "text": text})
    for _ in range(ROUNDS):
        said = model(window(session))
        say(session, "assistant", said)
        if said["type"] == "text":
            break
        result = count_lines(session, said["input"]["file"])
        say(session, "tool", {"type": "tool_result", "tool_use_id": said["id"], "content": result})
    else:
        put(session, "state", "error")
        sys.exit(f"agent: no answer after {ROUNDS} calls")
    put(session, "state", "idle")
    with open(session + "/latest.md") as f:
        print(f.read().rstrip())


def follow(session):
    with open(session + "/messages.jsonl") as log:
        while True:
            with open(session + "/state") as f:
                done = f.read().strip() == "done"
            for line in log:  # the log shows whole lines only, and never changes what it showed
                record = json.loads(line)
                print(str(record.get("role")) + ": " + line.strip(), flush=True)
            if done:
                return
            time.sleep(0.1)


def main(args):
    commands = {"ask": (ask, 3), "append": (append, 3), "follow": (follow, 2)}
    command, n = commands.get(args[0] if args else "", (None, 0))
    if len(args) != n:
        sys.exit(__doc__)
    try:
        os.makedirs(args[1], exist_ok=True)
        command(*args[1:])
    except OSError as e:
        sys.exit(f"agent: {errno.errorcode.get(e.errno, e.errno)}: {ADVICE.get(e.errno, e.strerror)}")


if __name__ == "__main__":
    main(sys.argv[1:])
