package notes_test

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/domain/domaintest"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

var rules = notes.New("bank")

func TestRules(t *testing.T) {
	t.Parallel()
	domaintest.Exercise(t, rules, domaintest.Fixture{
		Owner: "bank",
		Requests: []string{
			`{"issue":{"to":"rent","amount":100}}`, `{"issue":{"to":"rent","amount":7}}`, `{"issue":{"to":"rent","amount":7}}`,
			` {"pay": {"to":"petty", "from":"rent", "amount":108}}`, `{"pay":{"from":"petty","to":"petty","amount":100}}`,
			`{"issue":{"to":"a-very-long-purse-of-32-letters0","amount":18446744073709551615}}`, `{"pay":{"from":"rent","to":"petty","amount":6}}`,
		},
		Wrong: wrong(),
	})
}

// refusals are what Prepare refuses, and what it says.
var refusals = map[string]string{
	``:                              `write {"pay"`,
	`pay 5 from rent to petty`:      `write {"pay"`,
	`{}`:                            `one payment, or one issue`,
	`{"pay":null}`:                  `one payment, or one issue`,
	`[]`:                            `write {"pay"`,
	`{"burn":{}}`:                   `unknown field "burn"`,
	`{"pay":{"from":"a","to":"b"}}`: `write 1 or more`,
	`{"pay":{"from":"a","to":"b","amount":0}}`:                               `write 1 or more`,
	`{"pay":{"from":"a","to":"b","amount":-1}}`:                              `number -1`,
	`{"pay":{"from":"a","to":"b","amount":1.5}}`:                             `number 1.5`,
	`{"pay":{"from":"a","to":"b","amount":"5"}}`:                             `string`,
	`{"pay":{"from":"a","to":"b","amount":18446744073709551616}}`:            `number 18446744073709551616`,
	`{"pay":{"from":"","to":"b","amount":5}}`:                                `"" is no purse for "from"`,
	`{"pay":{"from":"a","to":"B","amount":5}}`:                               `"B" is no purse for "to"`,
	`{"pay":{"from":"a","to":"b_c","amount":5}}`:                             `characters a-z, 0-9 and -`,
	`{"issue":{"to":"a-very-long-purse-of-33-character","amount":5}}`:        `1 to 32`,
	`{"issue":{"to":"é","amount":5}}`:                                        `is no purse`,
	`{"issue":{"to":"a","amount":5,"amount":500}}`:                           `twice`,
	`{"issue":{"to":"a","amount":5}} {"issue":{"to":"a","amount":5}}`:        `something follows: write {"issue":{"to":"a","amount":5}}`,
	`{"issue":{"to":"a","amount":5}} or not`:                                 `something follows`,
	`{"issue":{"to":"a","amount":5},"pay":{"from":"a","to":"b","amount":5}}`: `one payment, or one issue`,
	`{"issue":{"to":"a","amount":5},"pay":null}`:                             `write {"issue"`,
	`{"issue":{"to":"a","from":"b","amount":5}}`:                             `unknown field "from"`,
}

func wrong() (all []string) {
	for request := range refusals {
		all = append(all, request)
	}
	return all
}

// A user that asks for what cannot be is told what to write.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for request, says := range refusals {
		if payload, err := rules.Prepare([]byte(request)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %s and error %v, want %q", request, payload, err, says)
		}
	}
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		` { "pay" : { "amount":5, "to":"petty", "from":"rent" } } `:                   `{"pay":{"from":"rent","to":"petty","amount":5}}`,
		"{\"issue\":{\"\\u0074o\":\"r\\u0065nt\",\n\"amount\":18446744073709551615}}": `{"issue":{"to":"rent","amount":18446744073709551615}}`,
	} {
		if got, err := rules.Prepare([]byte(request)); err != nil || string(got) != want {
			t.Errorf("%s: got %s and error %v, want %s", request, got, err, want)
		}
	}
}

// purse returns a view of a purse with these notes.
func purse(name string, amounts ...uint64) *book.Overlay {
	o := book.Over(&states{of: rules}, rules)
	for i, amount := range amounts {
		s := state(0, notes.Note{Purse: name, Amount: amount})
		s.ID = ledger.StateID(domain.PayloadHash([]byte{byte(i), byte(i >> 8)}))
		o.Add(s)
	}
	return o
}

func state(n byte, note notes.Note) domain.State {
	return domain.State{ID: ledger.StateID{n * 37, n}, Secret: domain.Secret{Data: note.Bytes()}}
}

// sums returns what a draft spends and what it creates.
func sums(t *testing.T, view domain.View, d domain.Draft) (spent []uint64, created []string) {
	t.Helper()
	for _, id := range d.Inputs {
		s, _ := view.State(id)
		n, err := notes.ParseNote(s.Data)
		if err != nil {
			t.Fatal(err)
		}
		spent = append(spent, n.Amount)
	}
	for _, data := range d.Outputs {
		created = append(created, string(data))
	}
	return spent, created
}

func call(by ledger.Account, request string) domain.Call {
	payload, err := rules.Prepare([]byte(request))
	if err != nil {
		payload = []byte(request)
	}
	return domain.Call{Intent: ledger.Intent{Owner: by}, Payload: payload}
}

func many(n int, amount uint64) (amounts []uint64) {
	for range n {
		amounts = append(amounts, amount)
	}
	return amounts
}

// What can never be ends an intent; what may be later waits.
func TestWhatCannotBeAssembled(t *testing.T) {
	t.Parallel()
	const whole = math.MaxUint64
	for name, c := range map[string]struct {
		call domain.Call
		has  []uint64
		want error
		says string
	}{
		"a member issues":     {call("alice", `{"issue":{"to":"rent","amount":5}}`), nil, domain.ErrNever, "issues no notes"},
		"nobody issues":       {call("", `{"issue":{"to":"rent","amount":5}}`), nil, domain.ErrNever, "issues no notes"},
		"no amount":           {call("bank", `{"pay":{"from":"rent","to":"petty","amount":0}}`), nil, domain.ErrNever, "asks for nothing"},
		"an overflow":         {call("bank", `{"pay":{"from":"rent","to":"petty","amount":18446744073709551616}}`), nil, domain.ErrNever, "no payload"},
		"another form":        {call("bank", `{"pay":{"from":"rent","to":"petty","amount":5} }x`), nil, domain.ErrNever, ""},
		"an empty purse":      {call("bank", `{"pay":{"from":"rent","to":"petty","amount":5}}`), nil, domain.ErrConflict, "rent has less than 5"},
		"too little":          {call("bank", `{"pay":{"from":"rent","to":"petty","amount":5}}`), []uint64{2, 2}, domain.ErrConflict, "rent has less than 5"},
		"too little to merge": {call("bank", `{"pay":{"from":"rent","to":"rent","amount":5}}`), []uint64{2, 2}, domain.ErrConflict, "rent has less than 5"},
		"too small notes":     {call("bank", `{"pay":{"from":"rent","to":"petty","amount":17}}`), many(17, 1), domain.ErrConflict, "merge them by paying from rent to rent"},
		"too far":             {call("bank", `{"pay":{"from":"rent","to":"petty","amount":256}}`), append(many(255, 1), 1), domain.ErrConflict, "merge"},
		"huge notes":          {call("bank", `{"pay":{"from":"petty","to":"rent","amount":5}}`), []uint64{whole, whole}, domain.ErrConflict, "petty has less than 5"},
	} {
		d, err := rules.Assemble(c.call, purse("rent", c.has...))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v and error %v, want %v and %q", name, d, err, c.want, c.says)
		}
	}
}

// What a payment takes, and what it leaves.
func TestPayments(t *testing.T) {
	t.Parallel()
	const whole = math.MaxUint64
	for name, c := range map[string]struct {
		to      string
		amount  uint64
		has     []uint64
		spends  int
		creates string
	}{
		"with change":           {"petty", 5, []uint64{8}, 1, `[{"purse":"petty","amount":5} {"purse":"rent","amount":3}]`},
		"without":               {"petty", 8, []uint64{8}, 1, `[{"purse":"petty","amount":8}]`},
		"of several":            {"petty", 9, []uint64{3, 3, 3}, 3, `[{"purse":"petty","amount":9}]`},
		"no more than needed":   {"petty", 1, many(20, 1), 1, `[{"purse":"petty","amount":1}]`},
		"sixteen":               {"petty", 16, many(16, 1), 16, `[{"purse":"petty","amount":16}]`},
		"larger for smaller":    {"petty", 31, append(many(40, 1), 16), 16, `[{"purse":"petty","amount":31}]`},
		"no smaller for larger": {"petty", 34, slices.Concat(many(16, 2), many(40, 1), []uint64{4}), 16, `[{"purse":"petty","amount":34}]`},
		"a merger":              {"rent", 20, many(20, 2), 16, `[{"purse":"rent","amount":20} {"purse":"rent","amount":12}]`},
		"a merger of few":       {"rent", 1, []uint64{2, 2}, 2, `[{"purse":"rent","amount":1} {"purse":"rent","amount":3}]`},
		"a merger of it all":    {"rent", 4, []uint64{2, 2}, 2, `[{"purse":"rent","amount":4}]`},
		"sums beyond 64 bits":   {"petty", whole, []uint64{1 << 63, 1 << 63}, 2, `[{"purse":"petty","amount":18446744073709551615} {"purse":"rent","amount":1}]`},
		"a merger of too much":  {"rent", 1, []uint64{whole, whole, whole}, 1, `[{"purse":"rent","amount":1} {"purse":"rent","amount":18446744073709551614}]`},
	} {
		view := purse("rent", c.has...)
		in := call("alice", fmt.Sprintf(`{"pay":{"from":"rent","to":%q,"amount":%d}}`, c.to, c.amount))
		d, err := rules.Assemble(in, view)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spent, created := sums(t, view, d)
		if len(spent) != c.spends || fmt.Sprint(created) != c.creates || len(d.Data)+len(d.Reads) > 0 {
			t.Errorf("%s: spends %v and creates %v, want %d notes and %s", name, spent, created, c.spends, c.creates)
		}
		if err := rules.Endorse(proposal(in, view, d)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func proposal(in domain.Call, view domain.View, d domain.Draft) domain.Proposal {
	p := domain.Proposal{Intent: in.Intent, Payload: in.Payload, Outputs: d.Outputs, Data: d.Data}
	for _, id := range d.Inputs {
		s, _ := view.State(id)
		p.Inputs = append(p.Inputs, s)
	}
	return p
}

// P12: what a member makes of thin air is refused, whatever it calls it.
func TestWhatIsNotEndorsed(t *testing.T) {
	t.Parallel()
	const whole = math.MaxUint64
	note := func(purse string, amount uint64) []byte { return notes.Note{Purse: purse, Amount: amount}.Bytes() }
	rent := func(n byte, amount uint64) domain.State { return state(n, notes.Note{Purse: "rent", Amount: amount}) }
	pays := `{"pay":{"from":"rent","to":"petty","amount":5}}`
	for name, c := range map[string]struct {
		by      ledger.Account
		payload string
		inputs  []domain.State
		outputs [][]byte
		says    string
	}{
		"a payment of nothing":          {"alice", pays, nil, [][]byte{note("petty", 5)}, "do not hold the amount"},
		"a payment of too little":       {"alice", pays, []domain.State{rent(1, 4)}, [][]byte{note("petty", 5)}, "do not hold the amount"},
		"too little that wraps":         {"alice", pays, []domain.State{rent(1, 4)}, [][]byte{note("petty", 5), note("rent", whole)}, "do not hold the amount"},
		"a sum that wraps":              {"alice", `{"pay":{"from":"rent","to":"petty","amount":18446744073709551615}}`, []domain.State{rent(1, whole), rent(2, whole), rent(3, 2)}, [][]byte{note("petty", whole), note("rent", whole)}, "too much for one note"},
		"no change":                     {"alice", pays, []domain.State{rent(1, 8)}, [][]byte{note("petty", 5)}, "not those that it may make"},
		"change to another":             {"alice", pays, []domain.State{rent(1, 8)}, [][]byte{note("petty", 5), note("alice", 3)}, "not those that it may make"},
		"change of 0":                   {"alice", pays, []domain.State{rent(1, 5)}, [][]byte{note("petty", 5), note("rent", 0)}, "not those that it may make"},
		"more to the payee":             {"alice", pays, []domain.State{rent(1, 8)}, [][]byte{note("petty", 8)}, "not those that it may make"},
		"a note of another":             {"alice", pays, []domain.State{state(1, notes.Note{Purse: "petty", Amount: 5})}, [][]byte{note("petty", 5)}, "not a note of the purse that pays"},
		"one note twice":                {"alice", pays, []domain.State{rent(1, 4), rent(1, 4)}, [][]byte{note("petty", 5), note("rent", 3)}, "there twice"},
		"seventeen notes":               {"alice", pays, seventeen(), [][]byte{note("petty", 5), note("rent", 12)}, "16 is the most"},
		"what is no note":               {"alice", pays, []domain.State{{Secret: domain.Secret{Data: []byte("{}")}}}, [][]byte{note("petty", 5)}, "no note"},
		"a note in another form":        {"alice", pays, []domain.State{{Secret: domain.Secret{Data: []byte(`{"amount":5,"purse":"rent"}`)}}}, [][]byte{note("petty", 5)}, "one form"},
		"a member issues":               {"alice", `{"issue":{"to":"rent","amount":5}}`, nil, [][]byte{note("rent", 5)}, "issues no notes"},
		"an issue that spends":          {"bank", `{"issue":{"to":"rent","amount":5}}`, []domain.State{rent(1, 5)}, [][]byte{note("rent", 5)}, "spends nothing"},
		"an issue of more":              {"bank", `{"issue":{"to":"rent","amount":5}}`, nil, [][]byte{note("rent", 6)}, "not those that it may make"},
		"a payload of two":              {"bank", `{"issue":{"to":"rent","amount":5},"pay":{"from":"rent","to":"petty","amount":5}}`, nil, nil, "asks for nothing"},
		"a payload with another number": {"bank", `{"issue":{"to":"rent","amount":05}}`, nil, [][]byte{note("rent", 5)}, "no payload"},
	} {
		p := domain.Proposal{Intent: ledger.Intent{Owner: c.by}, Payload: []byte(c.payload), Inputs: c.inputs, Outputs: c.outputs}
		if err := rules.Endorse(p); !errors.Is(err, domain.ErrNever) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want ErrNever and %q", name, err, c.says)
		} else if strings.Contains(err.Error(), "rent") || strings.Contains(err.Error(), "petty") || strings.Contains(err.Error(), "1844674") {
			t.Errorf("%s: operators of other members read a purse or an amount: %v", name, err)
		}
	}
	if err := (notes.Rules{}).Endorse(domain.Proposal{Payload: []byte(`{"issue":{"to":"rent","amount":5}}`), Outputs: [][]byte{note("rent", 5)}}); err == nil {
		t.Error("where nobody may issue, nobody's intent issues")
	}
}

func seventeen() (all []domain.State) {
	for n := range byte(17) {
		all = append(all, state(n, notes.Note{Purse: "rent", Amount: 1}))
	}
	return all
}

// Members that pay from one purse at the same time begin at different notes.
func TestMembersBeginAtDifferentNotes(t *testing.T) {
	t.Parallel()
	view, met := purse("rent", many(200, 9)...), map[ledger.StateID]int{}
	for n := range uint64(100) {
		in := call("alice", `{"pay":{"from":"rent","to":"petty","amount":5}}`)
		in.Sequence.Counter = n
		d, err := rules.Assemble(in, view)
		if err != nil {
			t.Fatal(err)
		}
		met[d.Inputs[0]]++
	}
	if len(met) < 50 {
		t.Errorf("100 payments took %d of 200 notes", len(met))
	}
}

// spying counts the states that Assemble looks at. Every third is no note.
type spying struct {
	*book.Overlay
	looked *int
}

func (s spying) Labelled(label string, seed uint64) iter.Seq[domain.State] {
	return func(yield func(domain.State) bool) {
		for state := range s.Overlay.Labelled(label, seed) {
			*s.looked++
			if *s.looked%3 == 0 && !yield(domain.State{ID: ledger.StateID{1}, Secret: domain.Secret{Data: []byte("junk")}}) {
				return
			}
			if !yield(state) {
				return
			}
		}
	}
}

// Assemble is called in the loop of a node: what it looks at is bounded. It spends nothing that it cannot read.
func TestAssembleIsBounded(t *testing.T) {
	t.Parallel()
	view := spying{purse("rent", many(2000, 1)...), new(int)}
	if _, err := rules.Assemble(call("alice", `{"pay":{"from":"rent","to":"petty","amount":17}}`), view); !errors.Is(err, domain.ErrConflict) || *view.looked > 256+1 {
		t.Errorf("looked at %d of 2000 notes, error %v", *view.looked, err)
	}
	d, err := rules.Assemble(call("alice", `{"pay":{"from":"rent","to":"petty","amount":10}}`), view)
	if err != nil || len(d.Inputs) != 10 || slices.Contains(d.Inputs, ledger.StateID{1}) {
		t.Errorf("spends %v, error %v; want 10 notes", d.Inputs, err)
	}
}
