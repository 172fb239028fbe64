#!/bin/sh
# Runs a command once a second on exactly one of several machines. A conch node on the same
# machine keeps the gate, and the script asks it with curl before each act.
#
#   conch node --config conch.toml     with a [[roles]] named payments, without a command
#   sh gate.sh payments ./send-one-mail
#
# CONCH_API is the address of the node (default http://127.0.0.1:7070), CONCH_TOKEN its
# token if it needs one, ACT_MS the longest time of an act (default 300). A handover waits
# until the answers of a gate have expired, so an answer is valid for half a second by
# default. With ACT_MS of 450 or more the script asks for a longer time, and the node's
# conch.toml must allow it, for example with answer_max = "2s" in [node].
set -u
scope=${1:?usage: gate.sh SCOPE COMMAND…}
shift
api=${CONCH_API:-http://127.0.0.1:7070}
act_ms=${ACT_MS:-300}
url=$api/v1/scopes/$scope/gate
if [ "$act_ms" -ge 450 ]; then
	# A little longer, for the way there and back and for the programs started meanwhile. The
	# node refuses a time above answer_max.
	url="$url?for=$((act_ms + act_ms / 4 + 200))ms"
fi

# Milliseconds on a clock that counts while the machine is suspended, like the gate's.
now() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

ask() {
	if [ -n "${CONCH_TOKEN-}" ]; then
		# Through stdin, since every user of the machine can see arguments.
		printf 'header = "Authorization: Bearer %s"\n' "$CONCH_TOKEN" |
			curl -sS --max-time 2 -w '\n%{http_code}' -K - "$url"
	else
		curl -sS --max-time 2 -w '\n%{http_code}' "$url"
	fi
}

# The gate refuses with 503. Any other answer is an error, so print it.
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
	# expires_in_ms counts from the SENDING of the request: read the clock before.
	sent=$(now)
	if allowed; then
		left=$(printf '%s' "$answer" | sed -n 's/.*"expires_in_ms": *\([0-9]*\).*/\1/p')
		epoch=$(printf '%s' "$answer" | sed -n 's/.*"epoch": *\([0-9]*\).*/\1/p')
		# Do not begin an act that could outlast the answer, and kill one that tries to.
		if [ "$(($(now) - sent + act_ms))" -lt "${left:-0}" ]; then
			CONCH_SCOPE=$scope CONCH_EPOCH=$epoch timeout -s KILL "$(awk "BEGIN { print $act_ms / 1000 }")" "$@"
		fi
	fi
	sleep 1 &
	wait $!
done
