#!/usr/bin/env bash
# Checks the model of the election (model/README.md) with Spin, installing it where
# it can. One line a run: name, states, memory, time, verdict.
#
#	scripts/model.sh              the small bound, every negative run and witness (make model)
#	scripts/model.sh full         those, and the large bounds (make nightly)
#	scripts/model.sh NAME…        these runs only
#	scripts/model.sh story NAME   the shortest counterexample of a run, told step by step
#	scripts/model.sh list         the names
#
# It fails when a run that must hold does not, when one that must fail does not, or
# when another assertion fails than the one that its rule is for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
model=$PWD/model/election.pml

# Each line: group, name, what must come of it, flags. It holds, or an assertion of
# that name fails; witness is the state that must be reachable.
runs() {
	cat <<'RUNS'
small  two-nodes                    holds
small  fast-takeover                holds            -DFAST -DTERMS=2
small  mode-change                  holds            -DCHANGE
small  slip                         holds            -DSLIP -DTERMS=2
small  liveness                     holds            -DLIVE -DTERMS=1
small  time-moves                   holds            -DLIVE -DTERMS=1 -DMOVES
small  time-stands                  time_moves       -DLIVE -DTERMS=1 -DMOVES -DNO_PAUSES
small  lock-excludes                holds            -DLIE -DTERMS=2
small  witness-third-term           witness          -DWITNESS_THIRD_TERM
small  witness-handoff              witness          -DWITNESS_HANDOFF
small  no-handoff                   holds            -DWITNESS_HANDOFF -DNO_PROMISES -DTERMS=2
small  witness-act-outlives         witness          -DWITNESS_ACT_OUTLIVES
small  term-in-predicate            one_actor        -DNO_TERM_IN_PREDICATE -DTWINS -DLIE
small  term-in-farewell             one_actor        -DNO_TERM_IN_FAREWELL
small  anchor-on-send               one_actor        -DNO_ANCHOR_ON_SEND -DTERMS=2
small  compare-at-use               one_actor        -DNO_COMPARE_AT_USE -DTERMS=2
small  boottime                     one_actor        -DNO_BOOTTIME -DTERMS=2
small  margin                       one_actor        -DSLIP -DNO_MARGIN -DTERMS=2
small  act-max                      one_actor        -DNO_ACT_MAX -DTERMS=2
small  honest-max                   one_actor        -DNO_HONEST_MAX -DTERMS=2
small  strict                       one_actor        -DNO_STRICT -DTERMS=2
small  hold-from-reply              one_actor        -DNO_HOLD_FROM_REPLY -DTERMS=2
small  no-server-clock              one_actor        -DSERVER_CLOCK -DTERMS=2
small  hold-waits                   one_actor        -DNO_HOLD_WAITS -DTERMS=2
small  hold-stored                  one_actor        -DNO_HOLD_STORED
small  hold-own-lease               one_actor        -DNO_HOLD_OWN_LEASE
small  settle-after-entry           one_actor        -DNO_SETTLE_AFTER_ENTRY
small  released-only-when-entered   one_actor        -DNO_RELEASED_ONLY_WHEN_ENTERED
small  fast-waits-to-promise        one_actor        -DCHANGE -DNO_FAST_WAITS_TO_PROMISE
small  released-only-when-drained   released_honest  -DNO_RELEASED_ONLY_WHEN_DRAINED -DTERMS=2
small  shut-before-release          released_honest  -DNO_DRAIN -DTERMS=2
small  gate-before-role             released_honest  -DNO_SHUT -DTERMS=2
small  epoch-grows                  epochs_grow      -DNO_EPOCH_GROWS -DTERMS=2
small  rows-survive                 epochs_grow      -DNO_ROWS_SURVIVE -DTERMS=2
small  fence-locks                  fence_refuses    -DNO_FENCE_LOCKS -DTERMS=2
small  fence-checks                 fence_refuses    -DNO_FENCE_CHECKS -DTERMS=2
small  server-lease                 somebody_acts    -DLIVE -DTERMS=1 -DNO_SERVER_LEASE
small  fence-ends                   somebody_acts    -DLIVE -DTERMS=1 -DNO_FENCE_ENDS
full   three-nodes                  holds            -DNODES=3
full   four-terms                   holds            -DTERMS=4
full   slip-three-terms             holds            -DSLIP
full   liveness-two-terms           holds            -DLIVE -DTERMS=2
full   lock-excludes-three-terms    holds            -DLIE
full   own-lease-in-hold            holds            -DNO_OWN_IN_HOLD
full   deposed-never-promise        holds            -DNO_DEPOSED_NEVER_PROMISE
full   failure-suspends             holds            -DNO_FAILURE_SUSPENDS
RUNS
}

install_spin() {
	if command -v spin >/dev/null && spin -V 2>/dev/null | grep -q '^Spin Version'; then return; fi
	if command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }; then
		echo "model: spin not found, installing it from this system's packages"
		as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi; }
		as_root apt-get update -qq
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends spin >/dev/null </dev/null
	fi
	if ! command -v spin >/dev/null; then
		echo "model: the model checker Spin was not found; install it (Debian, Ubuntu: apt-get install spin; macOS: brew install spin) and try again" >&2
		exit 1
	fi
}

cc=${CC:-cc}
say() { printf '%-28s %-16s %12s %7s %7s  %s\n' "$@"; }

# fallen names the assertion in what a verifier said.
fallen() {
	case $(grep -m1 -e 'assertion violated' -e '^pan:.*acceptance cycle' "$1" || grep -m1 'errors: [1-9]' "$1" || true) in
		*'<=1)'*) echo one_actor ;;
		*'db.epoch>db.top'*) echo epochs_grow ;;
		*'db.fenced>=db.top'*) echo fence_refuses ;;
		*'violated !('*'n[i]'* | *'violated  !('*'n[i]'*) echo released_honest ;;
		*'waited<'*) echo somebody_acts ;;
		*'acceptance cycle'*) echo time_moves ;;
		*'assertion violated'*) echo witness ;;
		'') echo holds ;;
		*) echo 'something else' ;;
	esac
}

# endless tells whether a run searches for cycles.
endless() { case " $* " in *' -DMOVES '*) ;; *) return 1 ;; esac; }

# build makes the verifier of a run in the folder given. A run that must fail is
# searched by breadth: its counterexample is the shortest there is. An endless run is
# found by depth only, so the one that is told is as long as it happens to be.
build() {
	local dir=$1 want=$2; shift 2
	local how=(-O1 -w -DNOFAIR -DNOREDUCE -DMEMLIM=7500)
	if ! endless "$@"; then
		how+=(-DSAFETY)
		if [ "$want" != holds ]; then how+=(-O0 -DBFS); fi # small: compiling is most of it
	fi
	(cd "$dir" && cp "$model" . && spin -a "$@" election.pml >spin.out 2>&1 && "$cc" "${how[@]}" -o pan pan.c) ||
		{ cat "$dir/spin.out" >&2; return 1; }
}

# check does one run. A search that was cut short (memory, depth) has not shown anything.
check() {
	local group=$1 name=$2 want=$3; shift 3
	local dir=$tmp/$name began=$SECONDS got out size=20 depth=100000 verdict=ok how=(-E)
	mkdir -p "$dir"; out=$dir/pan.out
	if [ "$group" = full ]; then size=25 depth=5000000; fi
	if endless "$@"; then how+=(-a); fi
	if ! build "$dir" "$want" "$@"; then echo "model: $name does not build" >&2; return 1; fi
	(cd "$dir" && ./pan "${how[@]}" "-w$size" "-m$depth" >pan.out 2>&1) || true
	got=$(fallen "$out")
	if ! grep -q 'states, stored' "$out" || grep -qE 'max search depth too small|out of memory|memory limit|Search not completed' "$out" && [ "$got" = holds ]; then
		got='not finished'
	fi
	if [ "$got" != "$want" ]; then verdict="WRONG: $got, must be $want; see: scripts/model.sh story $name"; fi
	if [ "$want" != holds ] && [ "$verdict" = ok ]; then verdict="ok: fails, as it must"; fi
	say "$name" "$got" "$(awk '/states, stored/ && !n++ {printf "%d", $1}' "$out")" \
		"$(awk '/total actual memory usage/ {printf "%d MB", $1}' "$out")" \
		"$((SECONDS - began)) s" "$verdict"
	rm -rf "$dir"
	[ "${verdict%%:*}" = ok ]
}

story() {
	local group name want flags how=(-E)
	while read -r group name want flags; do
		if [ "$name" != "$1" ]; then continue; fi
		# shellcheck disable=SC2086 # flags are words
		build "$tmp" fails $flags
		# shellcheck disable=SC2086
		if endless $flags; then how+=(-a); fi
		(cd "$tmp" && ./pan "${how[@]}" -w22 -m3000000 >pan.out 2>&1) || true
		if [ ! -e "$tmp/election.pml.trail" ]; then echo "model: $name has no counterexample"; return; fi
		# shellcheck disable=SC2086
		(cd "$tmp" && spin -T -t $flags election.pml) | sed -e '/^spin: election.pml/d' -e '/^spin: text of failed/d' -e '/^ *Never claim/d' -e '/^spin: trail ends/,$d' -e 's/^ *//'
		echo "and so $(fallen "$tmp/pan.out") fails"
		return
	done < <(runs)
	echo "model: no run is called $1; see: scripts/model.sh list" >&2
	return 1
}

# finish waits for runs, the oldest first, until no more than $1 are under way.
pids=()
status=0
finish() {
	while [ ${#pids[@]} -gt "$1" ]; do
		wait "${pids[0]}" || status=1
		pids=(${pids[@]+"${pids[@]:1}"})
	done
}

main() {
	local wanted=" $* " group name want flags most=2 found=
	say run outcome states memory time verdict
	while read -r group name want flags; do
		case $wanted in
			'  ') if [ "$group" != small ]; then continue; fi ;;
			' full ') ;;
			*" $name "*) ;;
			*) continue ;;
		esac
		found=yes
		if [ "$group" = full ]; then most=1; fi # each may want most of the memory
		finish $((most - 1))
		# shellcheck disable=SC2086 # flags are words
		check "$group" "$name" "$want" $flags &
		pids+=($!)
	done < <(runs)
	finish 0
	if [ -z "$found" ]; then
		echo "model: no run is called$wanted; see: scripts/model.sh list" >&2
		return 1
	fi
	return $status
}

if [ "${1:-}" = list ]; then runs | awk '{printf "%-6s %-28s %s\n", $1, $2, $3}'; exit; fi
install_spin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${1:-}" = story ]; then story "${2:?which run? see: scripts/model.sh list}"; exit; fi
main "$@"
