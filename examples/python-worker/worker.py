#!/usr/bin/env python3
"""A worker in Python that runs in several copies, of which one works.

    psql "$CONCH_DB_URL" -c 'CREATE TABLE public.payments (id bigserial, epoch bigint NOT NULL, worker text NOT NULL)'
    conch run --scope payments --fenced --restart -- python3 worker.py

`conch run` starts the worker only while it leads, with its epoch and term in the
environment. The worker calls conch.fence() last in each transaction: the database
then refuses the writes of a leadership that is over, however long the worker was
frozen. That makes --fenced safe, with which a successor starts milliseconds after a crash.

It needs psycopg (3) or psycopg2; on Debian: apt install python3-psycopg2.
"""
import os
import signal
import sys
import time

try:
    import psycopg as driver
except ImportError:
    import psycopg2 as driver

SCOPE = os.environ["CONCH_SCOPE"]
EPOCH = int(os.environ["CONCH_EPOCH"])
TERM = os.environ["CONCH_TERM"]
STALE = "CN001"  # the SQLSTATE with which the fence refuses a token


def pay_once(connection):
    """One transaction: the work, then the fence, then at once the commit."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO payments (epoch, worker) VALUES (%s, %s) RETURNING id",
            (EPOCH, os.environ.get("CONCH_ID", "")),
        )
        number = cursor.fetchone()[0]
        # Last, and never inside a savepoint: from here to the commit no other
        # process can become the leader.
        cursor.execute("SELECT conch.fence(%s, %s, %s)", (SCOPE, EPOCH, TERM))
    connection.commit()
    return number


def main():
    asked_to_stop = []
    # conch sends SIGTERM before it kills: end the current transaction, then exit.
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.append(True))
    connection = driver.connect(os.environ["CONCH_DB_URL"])
    while not asked_to_stop:
        try:
            number = pay_once(connection)
        except driver.Error as error:
            # psycopg has sqlstate, psycopg2 has pgcode.
            code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
            if code != STALE:
                raise
            # Do not try again: this term will never be current again.
            sys.exit(f"somebody else leads {SCOPE} by now: {error}".strip())
        print(f"paid {number} under epoch {EPOCH}", flush=True)
        time.sleep(0.1)
    connection.close()


if __name__ == "__main__":
    main()
