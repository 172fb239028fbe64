#!/bin/sh
# Does something once a second on exactly one of several machines, in any language
# that has curl: a conch node beside it keeps the gate, and is asked before each act.
#
#   conch node --config conch.toml     with a [[roles]] named payments, and nothing to run
#   sh gate.sh payments ./send-one-mail
#
# CONCH_API is where the node listens (default http://127.0.0.1:7070), CONCH_TOKEN a
# token if it wants one, ACT_MS how long one act may take (default 300).
set -u
scope=${1:?usage: gate.sh SCOPE COMMAND…}
shift
api=${CONCH_API:-http://127.0.0.1:7070}
act_ms=${ACT_MS:-300}

# Milliseconds on the clock that goes on while the machine is suspended, as the gate's.
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

ask() {
	if [ -n "${CONCH_TOKEN-}" ]; then
		# By a file, since arguments can be seen by everybody on the machine.
		printf 'header = "Authorization: Bearer %s"\n' "$CONCH_TOKEN" |
			curl -sS --fail --max-time 2 -K - "$api/v1/scopes/$scope/gate"
	else
		curl -sS --fail --max-time 2 "$api/v1/scopes/$scope/gate" 2>/dev/null
	fi
}

trap 'exit 0' TERM INT
while :; do
	# expires_in_ms counts from when the question was SENT: look at the clock before.
	sent=$(now)
	if answer=$(ask); then
		left=$(printf '%s' "$answer" | sed -n 's/.*"expires_in_ms": *\([0-9]*\).*/\1/p')
		epoch=$(printf '%s' "$answer" | sed -n 's/.*"epoch": *\([0-9]*\).*/\1/p')
		# Not begun if it could outlast the gate, and ended if it tries to.
		if [ "$(($(now) - sent + act_ms))" -lt "${left:-0}" ]; then
			CONCH_SCOPE=$scope CONCH_EPOCH=$epoch timeout -s KILL "$(awk "BEGIN { print $act_ms / 1000 }")" "$@"
		fi
	fi
	sleep 1 &
	wait $!
done
