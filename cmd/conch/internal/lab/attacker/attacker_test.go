package attacker

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/ledger"
)

// attacked lets two members hand in intents, each of which the attacker sees before a block has it, and judges.
func attacked(t *testing.T, code string, intents int, prepare func(*world)) (auditor.Verdict, []string) {
	t.Helper()
	w := begin(t, code)
	if prepare != nil {
		prepare(w)
	}
	for i := range intents {
		w.intend(i%2, (i+1)%2)
		w.looks()
	}
	w.mine()
	return w.judge()
}

// Q3, Q18, P43: a stranger, and a member that cheats, copy what they see, sign it anew and send it first. All of it is in
// blocks, none of it lands, and each is refused by the rule that is there against it.
func TestNothingOfTheAttackLands(t *testing.T) {
	t.Parallel()
	const intents = 24
	v, violations := attacked(t, "", intents, nil)
	if len(violations) > 0 || v.Landed != intents || v.Confirmed != intents {
		t.Fatalf("the verdict is %+v with the violations %q, want all %d intents landed", v, violations, intents)
	}
	for _, kind := range kinds {
		if v.Attack.Sent[kind] == 0 {
			t.Errorf("nothing of the kind %s was sent: %v", kind, v.Attack.Sent)
		}
	}
	for _, rule := range []string{"not a member", "not granted", "not endorsed", "repeated"} {
		if v.Attack.Refused[rule] == 0 {
			t.Errorf("nothing was refused as %s: %v", rule, v.Attack.Refused)
		}
	}
	sent, refused := 0, 0
	for n := range maps.Values(v.Attack.Sent) {
		sent += n
	}
	for n := range maps.Values(v.Attack.Refused) {
		refused += n
	}
	if sent != refused || v.Attack.Ahead == 0 {
		t.Errorf("%d were sent and %d refused, %d of them ahead of what they copied; want all, and some ahead", sent, refused, v.Attack.Ahead)
	}
}

// The attack is real: without a rule of the contract it succeeds, and the judge sees it.
func TestWithoutARuleTheAttackSucceeds(t *testing.T) {
	runtest.LongRun(t) // compiles the contract anew for each
	t.Parallel()
	loose := [][2]string{
		{"if (!endorsed(e.endorsements, assembled, all)) return", "if (!endorsed(e.endorsements, loose(e), all)) return"},
		{"    function typed(", `    function loose(Entry calldata e) private view returns (bytes32) {
        (bytes32 inputs, bytes32 reads) = (keccak256(abi.encodePacked(e.inputs)), keccak256(abi.encodePacked(e.reads)));
        return typed(keccak256(abi.encode(ATTEMPT, address(0), uint128(0), e.payload, inputs, reads, keccak256(abi.encodePacked(e.outputs)), keccak256(e.data))));
    }

    function typed(`},
	}
	nobodys := func(w *world) { // endorsers sign as the loose contract has it
		signed := w.hash
		w.hash = func(a ledger.Attempt) ledger.Hash {
			a.Intent = ledger.Intent{Owner: ledger.Account(make([]byte, 20))}
			return signed(a)
		}
	}
	for _, c := range []struct {
		rule    string
		changes [][2]string
		prepare func(*world)
		want    string
	}{
		{"endorsers sign owner and sequence", loose, nobodys, "whose attack is of the kind moved"},
		{"an owner is a member", append(slices.Clone(loose), [2]string{"if (place(all, e.owner) == all.length) return Reason.NotMember;", ""}), nobodys, "whose attack is of the kind stolen"},
		{"a grant is for its sender", [][2]string{{"if (!signed(e.owner, granted, e.grant)) return Reason.NotGranted;", "granted;"}}, nil, "whose attack is of the kind copied"},
		{"an intent lands once", [][2]string{
			{"if (!signed(e.owner, granted, e.grant)) return Reason.NotGranted;", "granted;"},
			{"if (over(e.owner, e.sequence)) return Reason.Repeated;", ""},
		}, nil, "was ended by the ledger twice"},
		{"an owner signs its cancellation", [][2]string{{"else if (!signed(owner, digest, signature)) broken = Reason.NotGranted;", "digest; signature;"}}, nil, "was cancelled in block"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			v, violations := attacked(t, compiled(t, c.changes), 13, c.prepare)
			if !slices.ContainsFunc(violations, func(text string) bool { return strings.Contains(text, c.want) }) {
				t.Errorf("without the rule the verdict is %+v, want a violation with %q", v, c.want)
			}
		})
	}
}
