#!/usr/bin/env python3
"""A payout service: each payment once, within a limit, and nothing shipped for what the chain takes back.

    export CONCH_NODE=http://127.0.0.1:7070 CONCH_ACCOUNT=payer CONCH_TOKEN=...
    python3 payout.py < payments.csv    # in each line a name, an address, an amount in wei, perhaps data and gas

It was written from `GET /v1/openapi.yaml` alone, and needs nothing but Python. Each line of its output is a word, the payment's name
and more: `sent`, `paid`, `failed`, `refused`, `held` until a limit is whole again, and `back` for a payment that the chain has taken
back after it was final: stop what was begun for it, it ends anew. It keeps nothing: the name is the idempotency key, so run it again
with the same list after any end. It listens until its input ends and each payment has.
"""
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

NODE, ACCOUNT, TOKEN = os.environ["CONCH_NODE"], os.environ["CONCH_ACCOUNT"], os.environ.get("CONCH_TOKEN", "")


def request(method, path, body=None, more=None):
    headers = {"Authorization": "Bearer " + TOKEN} if TOKEN else {}
    headers.update(more or {})
    if body is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(body).encode()
    return urllib.request.Request(NODE + path, method=method, data=body, headers=headers)


def ask(method, path, body=None, key=None):
    """Returns the status and the document of an answer that says yes or no. After any doubt the same is asked again: with its key it is the
    same payment. What the minute's count does not allow waits for the next minute."""
    while True:
        try:
            with urllib.request.urlopen(request(method, path, body, {"Idempotency-Key": key} if key else None), timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as no:
            document = json.load(no)
            if no.code < 500 and no.code != 429:
                return no.code, document
            pause = int(no.headers.get("Retry-After") or 1)
        except (OSError, ValueError) as doubt:
            document, pause = {"detail": str(doubt)}, 1
        print(f"asked again in {pause} s: {document.get('detail')}", file=sys.stderr, flush=True)
        time.sleep(pause)


class Book:
    """What is known of each payment that was sent: the largest version counts, however it was learned."""

    def __init__(self):
        self.changed, self.names, self.known = threading.Condition(threading.RLock()), {}, {}

    def say(self, *words):
        with self.changed:
            print(*words, flush=True)

    def sent(self, name, id):
        with self.changed:
            if id in self.names:
                return
            self.names[id], self.known[id] = name, (0, None)
            self.say("sent", name, id)
        self.look(id)  # its events may have come before

    def look(self, id):
        status, transaction = ask("GET", "/v1/transactions/" + id)
        if status == 200:
            self.note(transaction)

    def note(self, news):
        """Takes a transaction, or an event of one."""
        id, version, outcome = news["id"], news["version"], news["outcome"]
        with self.changed:
            if id not in self.names or version <= self.known[id][0]:
                return
            before, self.known[id] = self.known[id][1], (version, outcome)
            self.changed.notify_all()
            if outcome != before and before:
                self.say("back", self.names[id], "it was", before)
            if outcome == before or not outcome:
                return
        why = news.get("why", "")
        if outcome == "reverted":
            revert = ask("GET", "/v1/transactions/" + id)[1].get("revert", {})
            why = revert.get("reason") or revert.get("unknown", "")
        if outcome == "succeeded":
            self.say("paid", self.names[id], news["hash"])
        else:
            self.say("failed", self.names[id], outcome, why)

    def ended(self):
        with self.changed:
            while not all(outcome for _, outcome in self.known.values()):
                self.changed.wait()
            return all(outcome == "succeeded" for _, outcome in self.known.values())


def listen(book):
    """Follows the account's events for ever. What it may have missed it looks up."""
    last = None
    while True:
        try:
            query = urllib.parse.urlencode({"transaction": ACCOUNT})
            with urllib.request.urlopen(request("GET", "/v1/events?" + query, more={"Last-Event-ID": last} if last else None)) as stream:
                name, data = "", ""
                for line in stream:
                    field, _, value = line.decode().rstrip("\n").partition(": ")
                    if field == "id":
                        last = value
                    elif field == "event":
                        name = value
                    elif field == "data":
                        data += value
                    elif not field and name:
                        if name == "transaction":
                            book.note(json.loads(data))
                        elif name == "gap":
                            for id in list(book.names):
                                book.look(id)
                        name, data = "", ""
        except (OSError, ValueError) as broken:
            print("the events have ended:", broken, file=sys.stderr, flush=True)
        time.sleep(1)


def refused(book, name, no):
    """Says why a payment was not accepted; one that exceeds a day's limit is accepted when that is whole again."""
    until = no.get("limit", {}).get("until")
    if until:
        book.say("held", name, "until", until, no["detail"])
    else:
        book.say("refused", name, no.get("detail", no["title"]))


def pay(book, line):
    """Sends a payment unless its limit or its call says no. Returns whether it was sent."""
    name, to, wei, *more = line.strip().split(",")
    body = {"account": ACCOUNT, "to": to, "value": wei}
    if more:
        body["data"] = more[0]
    if len(more) > 1:
        body["gas"] = int(more[1])
    status, dry = ask("POST", "/v1/transactions?dry_run=true", body, name)
    if status != 200:
        refused(book, name, dry)
        return False
    if dry["refusal"] and dry["refusal"]["status"] != 429:  # a count of the minute is waited for
        refused(book, name, dry["refusal"])
        return False
    if dry["works"] is False and not dry["id"]:  # its fee would be lost
        book.say("refused", name, "its call fails:", dry.get("reason", ""))
        return False
    status, answer = ask("POST", "/v1/transactions", body, name)
    if status != 202:
        refused(book, name, answer)
        return False
    book.sent(name, answer["id"])
    return True


def main():
    book = Book()
    threading.Thread(target=listen, args=(book,), daemon=True).start()
    everything = True
    for line in sys.stdin:
        everything = pay(book, line) and everything
    sys.exit(0 if book.ended() and everything else 1)


if __name__ == "__main__":
    main()
