#!/bin/sh
# Installs a Python with a driver for Postgres if there is none: a test runs examples/python-worker with it.
set -eu

knows_postgres() {
	for python in python3 /usr/bin/python3; do
		for driver in psycopg psycopg2; do
			if "$python" -c "import $driver" 2>/dev/null; then return 0; fi
		done
	done
	return 1
}

if knows_postgres; then exit 0; fi
if "$(dirname "$0")/apt.sh" python python3 python3-psycopg2 && knows_postgres; then exit 0; fi
echo "python: there is no python3 with psycopg or psycopg2, so the test of the Python example is skipped; install one to run it (Debian: apt-get install python3-psycopg2)" >&2
# In CI a skipped test is a failure.
[ -z "${CI:-}" ]
