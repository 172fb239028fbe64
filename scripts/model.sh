#!/usr/bin/env bash
# Checks the models (model/README.md) with Spin, and installs Spin if it can: that of the
# election, and that of how conch reads a chain through nodes that do not agree. It prints a
# line for each run: name, outcome, states, memory, time, verdict.
#
#	scripts/model.sh              the small bound, the witnesses, nearly every negative run (make model)
#	scripts/model.sh day          of those a few: one that fails for each assertion (make test)
#	scripts/model.sh full         those, the rest, and the large bounds (make nightly)
#	scripts/model.sh NAME…        these runs only; a model's name (election, reading) means all of its runs
#	scripts/model.sh story NAME   the shortest counterexample of a run, step by step
#	scripts/model.sh list         the names
#
# It fails if a run that must hold does not, if a run that must fail does not, or if a
# run violates another assertion than that of its rule.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
models=$PWD/model

# Each line: group, name, expected outcome, flags. The run holds, or the named assertion
# fails; witness means that the state must be reachable.
election() {
	cat <<'RUNS'
small  two-nodes                    holds
day    fast-takeover                holds            -DFAST -DTERMS=2
small  mode-change                  holds            -DCHANGE -DTERMS=2
small  slip                         holds            -DSLIP -DTERMS=2
day    liveness                     holds            -DLIVE -DTERMS=1
small  time-moves                   holds            -DLIVE -DTERMS=1 -DMOVES
day    time-stands                  time_moves       -DLIVE -DTERMS=1 -DMOVES -DNO_PAUSES
small  lock-excludes                holds            -DLIE -DTERMS=2
small  answers                      holds            -DANSWERS -DLIFE=1 -DTERMS=2
day    unsaid-farewell              holds            -DUNSAID -DTERMS=2
small  liveness-unsaid              holds            -DUNSAID -DLIVE -DTERMS=1
small  witness-third-term           witness          -DWITNESS_THIRD_TERM
day    witness-handoff              witness          -DWITNESS_HANDOFF
small  no-handoff                   holds            -DWITNESS_HANDOFF -DNO_PROMISES -DTERMS=2
small  witness-act-outlives         witness          -DWITNESS_ACT_OUTLIVES
small  witness-answer-outlives      witness          -DANSWERS -DWITNESS_ANSWER_OUTLIVES -DTERMS=2
small  witness-carried              witness          -DUNSAID -DWITNESS_CARRIED -DTERMS=2
small  term-in-predicate            one_actor        -DNO_TERM_IN_PREDICATE -DTWINS -DLIE
small  term-in-farewell             one_actor        -DNO_TERM_IN_FAREWELL
small  anchor-on-send               one_actor        -DNO_ANCHOR_ON_SEND -DTERMS=2
small  mint-anchor-on-send          one_actor        -DNO_MINT_ANCHOR_ON_SEND -DTERMS=2
small  compare-at-use               one_actor        -DNO_COMPARE_AT_USE -DTERMS=2
small  boottime                     one_actor        -DNO_BOOTTIME -DTERMS=2
small  margin                       one_actor        -DSLIP -DNO_MARGIN -DTERMS=2
small  act-max                      one_actor        -DNO_ACT_MAX -DTERMS=2
small  honest-max                   one_actor        -DNO_HONEST_MAX -DTERMS=2
day    strict                       one_actor        -DNO_STRICT -DTERMS=2
small  hold-from-reply              one_actor        -DNO_HOLD_FROM_REPLY -DTERMS=2
small  no-server-clock              one_actor        -DSERVER_CLOCK -DTERMS=2
small  hold-waits                   one_actor        -DNO_HOLD_WAITS -DTERMS=2
small  hold-stored                  one_actor        -DNO_HOLD_STORED
small  hold-own-lease               one_actor        -DNO_HOLD_OWN_LEASE
small  settle-after-entry           one_actor        -DNO_SETTLE_AFTER_ENTRY
small  released-only-when-entered   one_actor        -DNO_RELEASED_ONLY_WHEN_ENTERED
small  fast-waits-to-promise        one_actor        -DCHANGE -DNO_FAST_WAITS_TO_PROMISE
small  answer-within-deadline       one_actor        -DANSWERS -DNO_ANSWER_WITHIN_DEADLINE -DTERMS=2
small  carried-by-term              one_actor        -DUNSAID -DNO_CARRIED_BY_TERM
small  answers-waited               released_honest  -DANSWERS -DNO_ANSWERS_WAITED -DTERMS=2
small  remember-then-look           released_honest  -DANSWERS -DNO_REMEMBER_THEN_LOOK -DTERMS=2
small  promise-not-forgotten        released_honest  -DANSWERS -DNO_PROMISE_NOT_FORGOTTEN -DTERMS=2
small  released-only-when-drained   released_honest  -DNO_RELEASED_ONLY_WHEN_DRAINED -DTERMS=2
day    shut-before-release          released_honest  -DNO_DRAIN -DTERMS=2
small  gate-before-role             released_honest  -DNO_SHUT -DTERMS=2
small  epoch-grows                  epochs_grow      -DNO_EPOCH_GROWS -DTERMS=2
day    rows-survive                 epochs_grow      -DNO_ROWS_SURVIVE -DTERMS=2
day    fence-locks                  fence_refuses    -DNO_FENCE_LOCKS -DTERMS=2
small  fence-checks                 fence_refuses    -DNO_FENCE_CHECKS -DTERMS=2
day    farewell-unlocks-own         lock_kept        -DUNSAID -DNO_FAREWELL_UNLOCKS_OWN -DTERMS=2
small  bids-over-unsaid             somebody_acts    -DUNSAID -DLIVE -DTERMS=1 -DNO_BIDS_OVER_UNSAID
day    server-lease                 somebody_acts    -DLIVE -DTERMS=1 -DNO_SERVER_LEASE
small  fence-ends                   somebody_acts    -DLIVE -DTERMS=1 -DNO_FENCE_ENDS
full   three-nodes                  holds            -DNODES=3
full   four-terms                   holds            -DTERMS=4
full   slip-three-terms             holds            -DSLIP
full   liveness-two-terms           holds            -DLIVE -DTERMS=2
full   lock-excludes-three-terms    holds            -DLIE
full   answers-three-terms          holds            -DANSWERS
full   answers-three-nodes          holds            -DANSWERS -DNODES=3 -DTERMS=2
full   answers-slip                 holds            -DANSWERS -DSLIP -DTERMS=2
full   mode-change-three-terms      holds            -DCHANGE
full   answers-fast                 holds            -DANSWERS -DFAST -DTERMS=2
full   answers-lock-excludes        holds            -DANSWERS -DLIE -DTERMS=2
full   unsaid-three-terms           holds            -DUNSAID
full   unsaid-four-terms            holds            -DUNSAID -DTERMS=4
full   entered-anew                 one_actor        -DUNSAID -DNO_ENTERED_ANEW -DTERMS=4
full   unsaid-three-nodes           holds            -DUNSAID -DNODES=3 -DTERMS=2
full   unsaid-lock-excludes         holds            -DUNSAID -DLIE
full   answers-and-unsaid           holds            -DANSWERS -DUNSAID
full   liveness-answers             holds            -DANSWERS -DLIVE -DTERMS=1
full   liveness-unsaid-two-terms    holds            -DUNSAID -DLIVE -DTERMS=2
full   time-moves-unsaid            holds            -DUNSAID -DLIVE -DTERMS=1 -DMOVES
full   keeper-three-terms           holds            -DKEEPER
full   prolong-until-given-up       holds            -DKEEPER -DNO_PROLONG_UNTIL_GIVEN_UP
full   draining-ends-with-session   holds            -DKEEPER -DNO_DRAINING_ENDS_WITH_SESSION
full   keeper                       holds            -DKEEPER -DTERMS=2
full   prolong-anchor-on-send       one_actor        -DKEEPER -DNO_PROLONG_ANCHOR_ON_SEND -DTERMS=2
full   answer-margin                released_honest  -DANSWERS -DSLIP -DNO_ANSWER_MARGIN -DTERMS=2
full   carried-when-promised        one_actor        -DUNSAID -DNO_CARRIED_WHEN_PROMISED
full   read-after-shut              released_honest  -DANSWERS -DNO_READ_AFTER_SHUT -DTERMS=2
full   own-lease-in-hold            holds            -DNO_OWN_IN_HOLD
full   deposed-never-promise        holds            -DNO_DEPOSED_NEVER_PROMISE
full   deposed-drain-never-promise  holds            -DKEEPER -DLIE -DNO_DEPOSED_NEVER_PROMISE
full   failure-suspends             holds            -DNO_FAILURE_SUSPENDS
RUNS
}

reading() {
	cat <<'RUNS'
small  backends-behind              holds            -DDEAD=0
small  backends-behind-one-lie      holds            -DDEAD=0 -DLIES=1
small  dead-branch                  holds            -DTOP=6
day    dead-branch-one-lie          holds            -DLIES=1 -DTOP=4
small  head-is-final                holds            -DDEPTH=0 -DTOP=6
small  two-endpoints                holds            -DTWO -DTOP=6
small  two-endpoints-one-lie        holds            -DTWO -DLIES=1 -DTOP=4
small  two-heads-are-final          holds            -DTWO -DDEPTH=0
small  other-off-branch             holds            -DTWO -DOTHER_HONEST -DDEPTH=0 -DNO_MIN_DEPTH
small  other-on-branch              holds            -DTWO -DOTHER_BRANCH -DLIES=1 -DTOP=4
small  other-silent                 holds            -DTWO -DOTHER_SILENT -DLIES=1 -DTOP=4
small  nobody-signed                holds            -DUNSIGNED
small  decided                      holds            -DLIVE -DTOP=4
day    decided-one-lie              holds            -DLIVE -DLIES=1 -DTOP=3
small  decided-two-endpoints        holds            -DLIVE -DTWO -DLIES=1 -DTOP=3
small  decided-other-silent         holds            -DLIVE -DTWO -DOTHER_SILENT -DLIES=1 -DTOP=3
small  witness-again                witness          -DWITNESS_AGAIN -DTOP=8
small  witness-cancel               witness          -DWITNESS_CANCEL
day    linked                       paid_once        -DTWICE -DNO_LINKED
small  linked-end                   true_end         -DNO_LINKED
small  final-of-head                paid_once        -DTWICE -DDEPTH=0 -DNO_FINAL_OF_HEAD
day    min-depth                    paid_once        -DTWICE -DDEPTH=0 -DNO_MIN_DEPTH
small  min-depth-two-endpoints      paid_once        -DTWICE -DTWO -DDEPTH=0 -DDEAD=1 -DNO_MIN_DEPTH
day    second-witness               paid_once        -DTWICE -DLIES=1 -DNO_SECOND_WITNESS
small  second-witness-end           true_end         -DLIES=1 -DNO_SECOND_WITNESS
day    witness-for-done             true_end         -DLIES=1 -DNO_WITNESS_FOR_DONE
small  moved-on                     paid_once        -DTWICE -DDEPTH=0 -DDEAD=1 -DNO_MIN_DEPTH -DNO_MOVED_ON
small  moved-on-kept                holds            -DDEPTH=0 -DDEAD=1 -DNO_MIN_DEPTH
small  asked-anew                   paid_once        -DTWICE -DLIES=1 -DNO_ASKED_ANEW
day    proven                       paid_once        -DTWICE -DUNSIGNED -DDEAD=0 -DNO_PROVEN
small  own-call                     paid_once        -DTWICE -DNO_OWN_CALL
small  own-call-end                 true_end         -DNO_OWN_CALL
small  denied-anew                  decided          -DLIVE -DDEAD=0 -DLIES=1 -DTOP=3 -DNO_DENIED_ANEW
day    refuted-dropped              decided          -DLIVE -DDEAD=0 -DLIES=1 -DTOP=3 -DNO_REFUTED_DROPPED
small  alone                        decided          -DLIVE -DTWO -DOTHER_SILENT -DTOP=3 -DNO_ALONE
small  two-lies                     paid_once        -DTWICE -DLIES=2
small  two-lies-end                 true_end         -DLIES=2
small  branch-beyond-finality       paid_once        -DTWICE -DDEPTH=2 -DDEAD=4
small  vacant                       holds            -DCOUNTS -DTOP=6
small  vacant-one-lie               holds            -DCOUNTS -DLIES=1 -DTOP=4
small  vacant-off-branch            holds            -DCOUNTS -DTWO -DOTHER_HONEST -DDEPTH=0 -DNO_MIN_DEPTH
small  witness-vacant               witness          -DCOUNTS -DWITNESS_VACANT -DTOP=10
day    count-by-hash                paid_once        -DTWICE -DCOUNTS -DNO_COUNT_BY_HASH
small  second-count                 paid_once        -DTWICE -DCOUNTS -DLIES=1 -DTOP=7 -DNO_SECOND_COUNT
small  second-search                paid_once        -DTWICE -DCOUNTS -DLIES=1 -DNO_SECOND_SEARCH
small  count-confirmed              paid_once        -DTWICE -DCOUNTS -DTWO -DOTHER_HONEST -DDEPTH=0 -DNO_MIN_DEPTH -DNO_COUNT_CONFIRMED
small  other-on-branch-for-ever     decided          -DLIVE -DTWO -DOTHER_BRANCH -DTOP=3
full   dead-branch-one-lie-large    holds            -DLIES=1 -DTOP=8 -DDEAD=3 -DDEPTH=3
full   two-endpoints-one-lie-large  holds            -DTWO -DLIES=1 -DTOP=7 -DDEAD=3 -DDEPTH=3
full   nobody-signed-one-lie        holds            -DUNSIGNED -DLIES=1
full   decided-one-lie-large        holds            -DLIVE -DLIES=1 -DTOP=6 -DDEAD=3 -DDEPTH=3 -DPATIENCE=16
full   decided-nobody-signed        holds            -DLIVE -DUNSIGNED -DLIES=1 -DTOP=4
RUNS
}

runs() { election | sed 's/^/election /'; reading | sed 's/^/reading /'; }

install_spin() {
	if command -v spin >/dev/null && spin -V 2>/dev/null | grep -q '^Spin Version'; then return; fi
	scripts/apt.sh spin spin || true
	if ! command -v spin >/dev/null; then
		echo "model: the model checker Spin was not found; install it (Debian, Ubuntu: apt-get install spin; macOS: brew install spin) and try again" >&2
		exit 1
	fi
}

cc=${CC:-cc}
say() { printf '%-28s %-16s %12s %7s %7s  %s\n' "$@"; }

# fallen prints the assertion that a verifier found violated.
fallen() {
	case $(grep -m1 -e 'assertion violated' -e '^pan:.*acceptance cycle' "$1" || grep -m1 'errors: [1-9]' "$1" || true) in
		*'<=1)'*) echo one_actor ;;
		*'db.epoch>db.top'*) echo epochs_grow ;;
		*'db.fenced>=db.top'*) echo fence_refuses ;;
		*'violated !('*'n[i]'* | *'violated  !('*'n[i]'*) echo released_honest ;;
		*'db.lock!=(i+1)'*) echo lock_kept ;;
		*'&&br[0].y'*) echo paid_once ;;
		*'||br[0].y'* | *'violated ((br[0].tx=='* | *'violated (((br[0].tx=='*) echo true_end ;;
		*'late<'*) echo decided ;;
		*'waited<'*) echo somebody_acts ;;
		*'acceptance cycle'*) echo time_moves ;;
		*'assertion violated'*) echo witness ;;
		'') echo holds ;;
		*) echo 'something else' ;;
	esac
}

# endless succeeds if the run searches for cycles.
endless() { case " $* " in *' -DMOVES '*) ;; *) return 1 ;; esac; }

# build makes the verifier of a run in a folder. The search of a run that must fail is
# breadth-first, which finds the shortest counterexample. Cycles need a depth-first search,
# so their counterexample may be longer.
build() {
	local dir=$1 model=$2 group=$3 want=$4; shift 4
	local how=(-O1 -w -DNOFAIR -DNOREDUCE -DMEMLIM=7500)
	if [ "$model $group" = 'reading day' ]; then how+=(-O0); fi # small: compiling is most of it
	if ! endless "$@"; then
		how+=(-DSAFETY)
		if [ "$want" != holds ]; then how+=(-O0 -DBFS); fi # small too
	fi
	(cd "$dir" && cp "$models/$model.pml" . && spin -a "$@" "$model.pml" >spin.out 2>&1 && "$cc" "${how[@]}" -o pan pan.c) ||
		{ cat "$dir/spin.out" >&2; return 1; }
}

# check does one run. A search that was cut short (by memory or depth) proves nothing.
check() {
	local model=$1 group=$2 name=$3 want=$4; shift 4
	local dir=$tmp/$name began=$SECONDS got out size=20 depth=100000 verdict=ok how=(-E)
	mkdir -p "$dir"; out=$dir/pan.out
	if [ "$group" = full ]; then size=25 depth=5000000; fi
	if endless "$@"; then how+=(-a); fi
	if ! build "$dir" "$model" "$group" "$want" "$@"; then echo "model: $name does not build" >&2; return 1; fi
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
	local model group name want flags how=(-E)
	while read -r model group name want flags; do
		if [ "$name" != "$1" ]; then continue; fi
		# shellcheck disable=SC2086 # flags are words
		build "$tmp" "$model" "$group" fails $flags
		# shellcheck disable=SC2086
		if endless $flags; then how+=(-a); fi
		(cd "$tmp" && ./pan "${how[@]}" -w22 -m3000000 >pan.out 2>&1) || true
		if [ ! -e "$tmp/$model.pml.trail" ]; then echo "model: $name has no counterexample"; return; fi
		# shellcheck disable=SC2086
		(cd "$tmp" && spin -T -t $flags "$model.pml") | sed -e "/^spin: $model.pml/d" -e '/^spin: text of failed/d' -e '/^ *Never claim/d' -e '/^spin: trail ends/,$d' -e 's/^ *//'
		echo "and so $(fallen "$tmp/pan.out") fails"
		return
	done < <(runs)
	echo "model: no run is called $1; see: scripts/model.sh list" >&2
	return 1
}

# room waits until fewer than $1 runs are active, whichever ends first: to wait for the
# oldest would leave a core idle.
room() {
	while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do sleep 0.05; done
}

main() {
	local wanted=" $* " model group name want flags most=2 found=
	say run outcome states memory time verdict
	while read -r model group name want flags; do
		case $wanted in
			'  ') if [ "$group" = full ]; then continue; fi ;;
			' day ') if [ "$group" != day ]; then continue; fi ;;
			' full ') ;;
			*" $name "* | *" $model "*) ;;
			*) continue ;;
		esac
		found=yes
		if [ "$group" = full ]; then most=1; fi # each may need most of the memory
		room $most
		# shellcheck disable=SC2086 # flags are words
		{ check "$model" "$group" "$name" "$want" $flags || touch "$tmp/failed"; } &
	done < <(runs)
	wait
	if [ -z "$found" ]; then
		echo "model: no run is called$wanted; see: scripts/model.sh list" >&2
		return 1
	fi
	[ ! -e "$tmp/failed" ]
}

if [ "${1:-}" = list ]; then runs | awk '{printf "%-8s %-6s %-28s %s\n", $1, $2, $3, $4}'; exit; fi
install_spin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${1:-}" = story ]; then story "${2:?which run? see: scripts/model.sh list}"; exit; fi
main "$@"
