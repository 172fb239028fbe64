package wire

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire/internal/wirepb"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Encode refuses what Decode would: a machine hears of its own fault, and not its peers.
func TestTheLimitsHoldOnBothSides(t *testing.T) {
	t.Parallel()
	full := func() Whole {
		return Whole{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "o"}}, Payload: []byte{1}}
	}
	attempts := func(change func(*Whole)) Body {
		w := full()
		change(&w)
		return Attempts{Attempts: []Whole{w}}
	}
	verdict := func(v Verdict) Body { return Endorsed{Verdicts: []Verdict{v}} }
	entry := func(change func(*Inherited)) Body {
		i := Inherited{Whole: full(), Grant: ledger.Grant{Coordinator: "c", Signature: []byte{1}}, Endorsements: []ledger.Endorsement{{Signature: []byte{1}}}}
		change(&i)
		return Handover{Entries: []Inherited{i}}
	}
	grant := func(g GrantResult) Body { return Granted{Items: []GrantResult{g}} }
	result := func(r Result) Body { return Assembled{Results: []Result{r}} }
	account := ledger.Account(strings.Repeat("a", MostAccount+1))
	for name, c := range map[string]struct {
		body Body
		want error
	}{
		"no body":                     {nil, ErrMalformed},
		"a payload":                   {attempts(func(w *Whole) { w.Payload = make([]byte, MostPayload+1) }), ErrSize},
		"data for the ledger":         {attempts(func(w *Whole) { w.Attempt.Data = make([]byte, MostData+1) }), ErrSize},
		"inputs":                      {attempts(func(w *Whole) { w.Attempt.Inputs = make([]ledger.StateID, MostStates+1) }), ErrSize},
		"reads":                       {attempts(func(w *Whole) { w.Attempt.Reads = make([]ledger.StateID, MostStates+1) }), ErrSize},
		"outputs":                     {attempts(func(w *Whole) { w.Attempt.Outputs = make([]ledger.Hash, MostStates+1) }), ErrSize},
		"secrets":                     {attempts(func(w *Whole) { w.Outputs = make([]domain.Secret, MostStates+1) }), ErrSize},
		"a secret":                    {attempts(func(w *Whole) { w.Outputs = []domain.Secret{{Data: make([]byte, MostData+1)}} }), ErrSize},
		"an attempt":                  {attempts(func(w *Whole) { w.Outputs = slicesOf(17, domain.Secret{Data: make([]byte, MostData)}) }), ErrSize},
		"attempts":                    {Attempts{Attempts: slicesOf(MostItems+1, full())}, ErrSize},
		"attempts to endorse":         {Endorse{Attempts: slicesOf(MostItems+1, full())}, ErrSize},
		"attempts upstream":           {Endorse{Upstream: slicesOf(MostItems+1, full())}, ErrSize},
		"entries":                     {Handover{Entries: slicesOf(MostItems+1, Inherited{Whole: full()})}, ErrSize},
		"an entry of nobody":          {Handover{Entries: make([]Inherited, 1)}, ErrMalformed},
		"an entry without a grant":    {entry(func(i *Inherited) { i.Grant = ledger.Grant{} }), ErrMalformed},
		"an entry granted unsigned":   {entry(func(i *Inherited) { i.Grant.Signature = nil }), ErrMalformed},
		"an entry endorsed unsigned":  {entry(func(i *Inherited) { i.Endorsements[0].Signature = nil }), ErrMalformed},
		"an entry endorsed at length": {entry(func(i *Inherited) { i.Endorsements[0].Signature = make([]byte, MostSignature+1) }), ErrSize},
		"an entry endorsed by nobody": {entry(func(i *Inherited) { i.Endorsements[0].Member = MostItems }), ErrMalformed},
		"an entry endorsed by too many": {entry(func(i *Inherited) {
			i.Endorsements = slicesOf(MostSigned+1, ledger.Endorsement{Signature: make([]byte, leastPart)})
		}), ErrSize},
		"results":                    {Assembled{Results: slicesOf(MostItems+1, Result{Why: Failed})}, ErrSize},
		"verdicts":                   {Endorsed{Verdicts: slicesOf(MostItems+1, Verdict{Why: Failed})}, ErrSize},
		"grants given":               {Granted{Items: slicesOf(MostItems+1, GrantResult{Why: Moved})}, ErrSize},
		"returned":                   {Returned{Why: Moved, Items: make([]Step, MostItems+1)}, ErrSize},
		"returned for nothing":       {Returned{}, ErrMalformed},
		"a better one":               {Returned{Why: Moved, Better: account}, ErrSize},
		"created data":               {Assemble{Context: Context{Created: []domain.State{{Creator: ledger.Intent{Owner: "o"}, Secret: domain.Secret{Data: make([]byte, MostData+1)}}}}}, ErrSize},
		"no coordinator":             {grant(GrantResult{Grant: ledger.Grant{Signature: []byte{1}}}), ErrMalformed},
		"a grant unsigned":           {grant(GrantResult{Grant: ledger.Grant{Coordinator: "c"}}), ErrMalformed},
		"a result's strange reason":  {result(Result{Why: whys}), ErrMalformed},
		"a verdict's strange reason": {verdict(Verdict{Why: whys}), ErrMalformed},
		"a refusal's strange reason": {Rejected{Why: whys}, ErrMalformed},
		"an owner":                   {attempts(func(w *Whole) { w.Attempt.Owner = account }), ErrSize},
		"nobody":                     {attempts(func(w *Whole) { w.Attempt.Owner = "" }), ErrMalformed},
		"a signature":                {verdict(Verdict{Signature: make([]byte, MostSignature+1)}), ErrSize},
		"no signature":               {verdict(Verdict{}), ErrMalformed},
		"signed and refused":         {verdict(Verdict{Why: Refused, Signature: []byte{1}}), ErrMalformed},
		"no grant":                   {grant(GrantResult{}), ErrMalformed},
		"granted and moved":          {grant(GrantResult{Why: Moved, Grant: ledger.Grant{ValidUntil: 1}}), ErrMalformed},
		"a strange reason":           {grant(GrantResult{Why: whys}), ErrMalformed},
		"no attempt":                 {result(Result{}), ErrMalformed},
		"an attempt and a cause":     {result(Result{Why: Conflict, Payload: []byte{1}}), ErrMalformed},
		"a wait for nothing":         {result(Result{Why: Conflict, NotBefore: 1}), ErrMalformed},
		"a negative wait":            {result(Result{Why: NotBefore, NotBefore: -1}), ErrMalformed},
		"a long wait":                {result(Result{Why: NotBefore, NotBefore: MostWait + 1}), ErrMalformed},
		"refused, and not":           {Rejected{}, ErrMalformed},
		"names":                      {AskAttempts{Assembled: make([]ledger.Hash, MostNames+1)}, ErrSize},
		"sequences":                  {List{Sequences: make([]ledger.Sequence, MostNames+1)}, ErrSize},
		"locked":                     {Assemble{Context: Context{Locked: make([]ledger.StateID, MostNames+1)}}, ErrSize},
		"gone":                       {Assemble{Context: Context{Gone: make([]ledger.StateID, MostNames+1)}}, ErrSize},
		"withheld":                   {Assemble{Withheld: make([]ledger.StateID, MostNames+1)}, ErrSize},
		"created by nobody":          {Assemble{Context: Context{Created: make([]domain.State, 1)}}, ErrMalformed},
		"created":                    {Assemble{Context: Context{Created: slicesOf(MostItems+1, domain.State{Creator: ledger.Intent{Owner: "o"}})}}, ErrSize},
		"steps":                      {Assemble{Items: make([]Step, MostItems+1)}, ErrSize},
		"offers":                     {Delegate{Intents: make([]Offer, MostItems+1)}, ErrSize},
		"avoided":                    {Delegate{Avoid: slicesOf(MostItems+1, ledger.Account("a"))}, ErrSize},
		"avoided nobody":             {Delegate{Avoid: make([]ledger.Account, 1)}, ErrMalformed},
		"grants":                     {AskGrant{By: "b", Items: make([]GrantStep, MostItems+1)}, ErrSize},
		"by nobody":                  {AskGrant{}, ErrMalformed},
		"handed":                     {Dispatched{Items: make([]Handed, MostItems+1)}, ErrSize},
		"endorsers":                  {Dispatched{Items: []Handed{{Endorsers: make([]byte, MostEndorsers+1)}}}, ErrSize},
		"all of it":                  {Attempts{Attempts: slicesOf(20, Whole{Attempt: full().Attempt, Payload: make([]byte, MostPayload)})}, ErrSize},
	} {
		m := Message{Contract: "0xc", Request: RequestID{Number: 1}, Body: c.body}
		if c.body != nil && c.body.Kind() == KindReturned {
			m.Request = RequestID{}
		}
		if _, err := Encode(m); !errors.Is(err, c.want) {
			t.Errorf("%s: Encode says %v, want %v", name, err, c.want)
		}
		if c.body == nil {
			continue
		}
		var e encoder
		p := &wirepb.Envelope{Version: Version, Head: e.head(&m)}
		e.body(p, c.body)
		in, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(in); !errors.Is(err, c.want) && !strings.Contains(name, "reason") && !droppedByTheEncoder(name) {
			t.Errorf("%s: Decode says %v, want %v", name, err, c.want)
		}
		if name == "all of it" && Fits(m) {
			t.Error("Fits says that it can be sent")
		}
	}
	for name, m := range map[string]Message{
		"no contract":                {Request: RequestID{Number: 1}, Body: AskList{}},
		"a contract that is no text": {Contract: "\xff", Request: RequestID{Number: 1}, Body: AskList{}},
		"a negative wait":            {Contract: "0xc", Wait: -1, Request: RequestID{Number: 1}, Body: AskList{}},
		"an incarnation alone":       {Contract: "0xc", Request: RequestID{Incarnation: Incarnation{1}}, Body: AskList{}},
	} {
		if _, err := Encode(m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Encode(Message{Contract: "0xc", Request: RequestID{Number: 1}, Body: &AskList{}}); !errors.Is(err, ErrKind) {
		t.Errorf("a body that is a pointer: %v", err)
	}
	if _, err := Encode(Message{Contract: "0xc", Body: AskList{}}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a request without an id: %v", err)
	}
	if _, err := Encode(Message{Contract: "0xc", Request: RequestID{Number: 1}, Body: Returned{Why: Moved}}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a notice with an id: %v", err)
	}
	if _, err := EncodeBeat(Beat{Contracts: make([]Pulse, 1)}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a beat of no contract: %v", err)
	}
	if _, err := EncodeBeat(Beat{Contracts: slicesOf(MostItems+1, Pulse{Contract: "0xc"})}); !errors.Is(err, ErrSize) {
		t.Errorf("a beat of many contracts: %v", err)
	}
}

// Size counts every field: with large ones none hides behind what is allowed for the others.
func TestSizeCountsEveryField(t *testing.T) {
	t.Parallel()
	for _, body := range bodies {
		for _, items := range []int{1, 3} {
			f := random(uint64(items))
			f.width = 100
			f.length = func(least int) int { return map[bool]int{true: 900, false: items}[least == 1] }
			f.why = func(done bool) Why { return map[bool]Why{true: Done, false: Busy}[done] }
			m := f.message(body)
			if size, in := Size(m), encoded(t, m); len(in) > size || size > len(in)+100*items*items+200 {
				t.Errorf("%v: Size says %d, and it has %d bytes", m, size, len(in))
			}
		}
	}
}

// droppedByTheEncoder tells the cases in which the encoder leaves out what the reason excludes.
func droppedByTheEncoder(name string) bool {
	return name == "granted and moved" || name == "an attempt and a cause"
}

func slicesOf[T any](n int, each T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = each
	}
	return out
}
