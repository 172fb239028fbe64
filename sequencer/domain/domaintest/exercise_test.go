package domaintest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/notes"
)

var fixture = Fixture{
	Owner: "bank",
	Requests: []string{
		`{"issue":{"to":"rent","amount":100}}`, `{"issue":{"to":"rent","amount":7}}`, `{"issue":{"to":"rent","amount":7}}`,
		`{"pay":{"from":"rent","to":"petty","amount":12}}`, ` {"pay": {"to":"rent", "amount":1, "from":"rent"}}`,
	},
	Wrong: []string{`{"pay":{}}`},
}

// broken are rules of which one function was replaced.
type broken struct {
	domain.Rules
	prepare  func(request []byte) ([]byte, error)
	label    func(state []byte) string
	assemble func(call domain.Call, view domain.View) (domain.Draft, error)
	endorse  func(p domain.Proposal) error
}

func (b broken) Prepare(request []byte) ([]byte, error) {
	if b.prepare == nil {
		return b.Rules.Prepare(request)
	}
	return b.prepare(request)
}

func (b broken) Label(state []byte) string {
	if b.label == nil {
		return b.Rules.Label(state)
	}
	return b.label(state)
}

func (b broken) Assemble(call domain.Call, view domain.View) (domain.Draft, error) {
	if b.assemble == nil {
		return b.Rules.Assemble(call, view)
	}
	return b.assemble(call, view)
}

func (b broken) Endorse(p domain.Proposal) error {
	if b.endorse == nil {
		return b.Rules.Endorse(p)
	}
	return b.endorse(p)
}

var good = notes.New("bank")

// drafts breaks what Assemble says.
func drafts(change func(d *domain.Draft)) broken {
	return broken{Rules: good, assemble: func(call domain.Call, view domain.View) (domain.Draft, error) {
		d, err := good.Assemble(call, view)
		if err == nil {
			change(&d)
		}
		return d, err
	}}
}

// Each promise is broken by rules that the suite has to catch.
func TestBrokenRulesAreCaught(t *testing.T) {
	t.Parallel()
	later := func() func() bool { // false at first
		calls := 0
		return func() bool { calls++; return calls > 9 }
	}
	vagueness := 0
	moody, forgetful, erratic, vague := later(), later(), later(), later()
	for _, c := range cases {
		if err := judge(c, good, fixture); err != nil {
			t.Fatalf("%s: good rules fail: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		promise, says string
		rules         broken
	}{
		{"OneForm", "has the payload", broken{Rules: good, prepare: func(r []byte) ([]byte, error) { return append(slices.Clone(r), ' '), nil }}},
		{"OneForm", "Prepare refuses", broken{Rules: good, prepare: func([]byte) ([]byte, error) { return nil, errors.New("no") }}},
		{"WrongRequests", "want it refused", broken{Rules: good, prepare: func(r []byte) ([]byte, error) { return r, nil }}},
		{"EqualAnswers", "Prepare says", broken{Rules: good, prepare: func(r []byte) ([]byte, error) {
			p, err := good.Prepare(r)
			if moody() {
				p = append(p, ' ')
			}
			return p, err
		}}},
		{"EqualAnswers", "Assemble says", drafts(func(d *domain.Draft) {
			if forgetful() {
				slices.Reverse(d.Outputs)
			}
		})},
		{"EqualAnswers", "Endorse says", broken{Rules: good, endorse: func(domain.Proposal) error {
			if erratic() {
				return domain.ErrNever
			}
			return nil
		}}},
		{"EqualAnswers", "Label says", broken{Rules: good, label: func(s []byte) string {
			if bytes.Contains(s, []byte("petty")) && vague() {
				vagueness++
				return fmt.Sprint(vagueness)
			}
			return good.Label(s)
		}}},
		{"EqualAnswers", "fails on an empty view", broken{Rules: good, assemble: func(call domain.Call, view domain.View) (domain.Draft, error) {
			d, err := good.Assemble(call, view)
			if err != nil {
				err = errors.New("nothing there")
			}
			return d, err
		}}},
		{"ArgumentsAreLeft", "change what they are asked", broken{Rules: good, endorse: func(p domain.Proposal) error {
			err := good.Endorse(p)
			slices.Reverse(p.Outputs[0])
			return err
		}}},
		{"ArgumentsAreLeft", "change what they are asked", broken{Rules: good, prepare: func(r []byte) ([]byte, error) {
			p, err := good.Prepare(r)
			r[0] = 'x'
			return p, err
		}}},
		{"ArgumentsAreLeft", "change what they are asked", broken{Rules: good, assemble: func(call domain.Call, view domain.View) (domain.Draft, error) {
			d, err := good.Assemble(call, view)
			call.Payload[0] = 'x'
			return d, err
		}}},
		{"ArgumentsAreLeft", "change what they are asked", broken{Rules: good, label: func(s []byte) string {
			name := good.Label(s)
			if name == "petty" {
				s[0] = '!'
			}
			return name
		}}},
		{"OwnProposals", "Endorse refuses what Assemble proposes", drafts(func(d *domain.Draft) { slices.Reverse(d.Outputs) })},
		{"OwnProposals", "uses a state twice", drafts(func(d *domain.Draft) { d.Inputs = append(d.Inputs, d.Inputs...) })},
		{"OwnProposals", "uses a state twice", drafts(func(d *domain.Draft) { d.Reads = d.Inputs })},
		{"OwnProposals", "not in its view", drafts(func(d *domain.Draft) { d.Reads = append(d.Reads, [32]byte{1}) })},
		{"OwnProposals", "cannot be carried out", broken{Rules: good, assemble: func(domain.Call, domain.View) (domain.Draft, error) { return domain.Draft{}, domain.ErrConflict }}},
		{"Changes", "want ErrNever", broken{Rules: good, endorse: func(p domain.Proposal) error {
			if good.Endorse(p) != nil {
				return errors.New("no")
			}
			return nil
		}}},
		{"AnyBytes", "panic", broken{Rules: good, prepare: func(r []byte) ([]byte, error) {
			return good.Prepare(append(bytes.Clone(r[:1]), r[1:]...))
		}}},
		{"AnyBytes", "panic", broken{Rules: good, label: func(s []byte) string { _ = s[5]; return good.Label(s) }}},
		{"AnyBytes", "panic", broken{Rules: good, endorse: func(p domain.Proposal) error { _ = p.Payload[5]; return good.Endorse(p) }}},
		{"AnyBytes", "panic", broken{Rules: good, assemble: func(call domain.Call, view domain.View) (domain.Draft, error) {
			_ = call.Payload[5]
			return good.Assemble(call, view)
		}}},
		{"AnyBytes", "panic", broken{Rules: good, assemble: func(call domain.Call, view domain.View) (domain.Draft, error) {
			for s := range view.Labelled("rent", 0) {
				_ = s.Data[5]
			}
			return good.Assemble(call, view)
		}}},
		{"AnyBytes", "and that it can later", broken{Rules: good, assemble: func(call domain.Call, view domain.View) (domain.Draft, error) {
			d, err := good.Assemble(call, view)
			if err != nil && !errors.Is(err, domain.ErrConflict) {
				err = fmt.Errorf("%w %w", err, domain.ErrConflict)
			}
			return d, err
		}}},
	} {
		at := slices.IndexFunc(cases, func(p promise) bool { return p.name == c.promise })
		if err := judge(cases[at], c.rules, fixture); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want a fault that says %q", c.promise, err, c.says)
		}
	}
}

// Rules that accept one kind of change, and no other, are caught by that one.
func TestEveryChangeIsTried(t *testing.T) {
	t.Parallel()
	tr := &trial{Rules: good, Fixture: fixture}
	all, err := tr.steps()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string][]mutant{}
	for _, s := range all {
		for _, m := range mutants(s, tr.payloads(all)) {
			if !equal(m.Proposal, s.proposal) {
				kinds[m.what] = append(kinds[m.what], m)
			}
		}
	}
	for _, kind := range []string{
		"another payload", "a byte of the payload", "a longer payload", "other data", "a byte of an output", "a longer output", "an output less", "an output more",
		"outputs in another order", "an input less", "an input twice", "an input more", "a read more", "a read instead of an input",
	} {
		lenient := broken{Rules: good, endorse: func(p domain.Proposal) error {
			if slices.ContainsFunc(kinds[kind], func(m mutant) bool { return equal(m.Proposal, p) }) {
				return nil
			}
			return good.Endorse(p)
		}}
		if err := judge(promise{"Changes", changesAreRefused}, lenient, fixture); err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("rules that accept %s: got %v, want that fault", kind, err)
		}
	}
}

// A read that the rules need is part of what is judged.
func TestReadsAreJudged(t *testing.T) {
	t.Parallel()
	reading := broken{Rules: good}
	reading.assemble = func(call domain.Call, view domain.View) (domain.Draft, error) {
		d, err := good.Assemble(call, view)
		for s := range view.Labelled("petty", 0) {
			d.Reads = append(d.Reads, s.ID)
			break
		}
		return d, err
	}
	reading.endorse = func(p domain.Proposal) error {
		if len(p.Reads) == 1 && good.Label(p.Reads[0].Data) == "petty" {
			p.Reads = nil
		}
		return good.Endorse(p)
	}
	if err := judge(promise{"Changes", changesAreRefused}, reading, fixture); err == nil || !strings.Contains(err.Error(), "a read less") {
		t.Errorf("got %v, want a read that nobody misses", err)
	}
}

// A fixture that asks for nothing finds nothing, and says so.
func TestAFixtureHasToAsk(t *testing.T) {
	t.Parallel()
	if err := judge(cases[0], good, Fixture{Owner: "bank"}); err == nil {
		t.Error("an empty fixture passes")
	}
}
