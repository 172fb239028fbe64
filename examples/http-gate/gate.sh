#!/bin/sh
# Does something once a second on exactly one of several machines, in any language
# that has curl: a conch node beside it keeps the gate, and is asked before each act.
#
#   conch node --config conch.toml     with a [[roles]] named payments, and nothing to run
#   sh gate.sh payments ./send-one-mail
#
# CONCH_API is where the node listens (default http://127.0.0.1:7070), CONCH_TOKEN a
# token if it wants one, ACT_MS how long one act may take (default 300). An answer of the
# gate lives half a second unless it is asked for more, since a handover waits until it is
# over: with ACT_MS of 450 or more this asks for so much, and the node's conch.toml has to
# allow it, such as answer_max = "2s" in [node].
set -u
scope=${1:?usage: gate.sh SCOPE COMMAND…}
shift
api=${CONCH_API:-http://127.0.0.1:7070}
act_ms=${ACT_MS:-300}
url=$api/v1/scopes/$scope/gate
if [ "$act_ms" -ge 450 ]; then
	# Something over, for the way there and back. A node that does not allow it says so.
	url="$url?for=$((act_ms + act_ms / 10 + 50))ms"
fi

# Milliseconds on the clock that goes on while the machine is suspended, as the gate's.
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

ask() {
	if [ -n "${CONCH_TOKEN-}" ]; then
		# By a file, since arguments can be seen by everybody on the machine.
		printf 'header = "Authorization: Bearer %s"\n' "$CONCH_TOKEN" |
			curl -sS --max-time 2 -w '\n%{http_code}' -K - "$url"
	else
		curl -sS --max-time 2 -w '\n%{http_code}' "$url"
	fi
}

# A gate says no with 503. Any other answer is a mistake that somebody has to know of.
allowed() {
	answer=$(ask) || return
	case ${answer##*
} in
	200) return 0 ;;
	503) return 1 ;;
	esac
	printf '%s\n' "gate.sh: $answer" >&2
	return 1
}

trap 'exit 0' TERM INT
while :; do
	# expires_in_ms counts from when the question was SENT: look at the clock before.
	sent=$(now)
	if allowed; then
		left=$(printf '%s' "$answer" | sed -n 's/.*"expires_in_ms": *\([0-9]*\).*/\1/p')
		epoch=$(printf '%s' "$answer" | sed -n 's/.*"epoch": *\([0-9]*\).*/\1/p')
		# Not begun if it could outlast the answer, and ended if it tries to.
		if [ "$(($(now) - sent + act_ms))" -lt "${left:-0}" ]; then
			CONCH_SCOPE=$scope CONCH_EPOCH=$epoch timeout -s KILL "$(awk "BEGIN { print $act_ms / 1000 }")" "$@"
		fi
	fi
	sleep 1 &
	wait $!
done
