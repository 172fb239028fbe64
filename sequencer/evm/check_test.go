package evm_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// liar is a node that changes answers.
type liar struct {
	evm.Node
	change func(method string, args []any, answer json.RawMessage) json.RawMessage
}

func (l liar) CallContext(ctx context.Context, result any, method string, args ...any) error {
	var raw json.RawMessage
	if err := l.Node.CallContext(ctx, &raw, method, args...); err != nil {
		return err
	}
	return json.Unmarshal(l.change(method, args, raw), result)
}

func (l liar) BatchCallContext(ctx context.Context, batch []rpc.BatchElem) error {
	for i := range batch {
		if err := l.CallContext(ctx, batch[i].Result, batch[i].Method, batch[i].Args...); err != nil {
			batch[i].Error = err
		}
	}
	return nil
}

// P1, Q18: a contract that differs from the declaration, in a field or in a byte of its code, is refused by name.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, at := opened(t, s.node, 4, 3)
	found, err := evm.Read(t.Context(), s.node, f.Contract.Address)
	if err != nil || f.Scheme.Declared(found) != f.Scheme.Declared(f.Contract) {
		t.Fatalf("read %+v, %v", found, err)
	}
	for name, change := range map[string]func(*ledger.Contract){
		"chain":     func(c *ledger.Contract) { c.Chain++ },
		"members":   func(c *ledger.Contract) { c.Members = c.Members[1:] },
		"committee": func(c *ledger.Contract) { c.Committee = c.Committee[1:] },
		"needed":    func(c *ledger.Contract) { c.Needed-- },
		"range":     func(c *ledger.Contract) { c.Range++ },
		"depth":     func(c *ledger.Contract) { c.Depth++ },
		"life":      func(c *ledger.Contract) { c.Life++ },
		"policy":    func(c *ledger.Contract) { c.Policy = "circle" },
		"domain":    func(c *ledger.Contract) { c.Domain = "notes/2" },
	} {
		c := f.Contract
		change(&c)
		if _, err := evm.Check(t.Context(), s.node, c); !errors.Is(err, ledger.ErrOther) || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("another %s: got error %v, want ErrOther with its name", name, err)
		}
		if f.Scheme.Declared(c) == f.Scheme.Declared(f.Contract) {
			t.Errorf("another %s has the same hash", name)
		}
	}
	small := f.Contract
	small.Address = strings.ToLower(small.Address)
	if _, err := evm.Check(t.Context(), s.node, small); !errors.Is(err, ledger.ErrOther) || !strings.Contains(err.Error(), f.Contract.Address) {
		t.Errorf("the address in small letters: got error %v, want ErrOther with the address as it is to be written", err)
	}
	for _, bad := range []string{"", "0xc0ffee", common.Address{1}.Hex()} {
		c := f.Contract
		c.Address = bad
		if _, err := evm.Check(t.Context(), s.node, c); err == nil {
			t.Errorf("there is no contract at %q, and no error", bad)
		}
	}
	mapped := f.Contract
	create(t, s.node, at.by[f.Stranger.Account], &mapped, evm.MapCreation)
	if _, err := evm.Check(t.Context(), s.node, mapped); !errors.Is(err, ledger.ErrOther) {
		t.Errorf("the same declaration with other code: got error %v, want ErrOther", err)
	}
	code := 0
	for i := range 2 { // the contract's own code, and its members'
		_, err := evm.Check(t.Context(), liar{s.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
			if method != "eth_getCode" {
				return answer
			}
			if code++; code != i+1 {
				return answer
			}
			changed := slices.Clone(answer)
			changed[len(changed)-2] ^= 1
			return changed
		}}, f.Contract)
		if !errors.Is(err, ledger.ErrOther) {
			t.Errorf("one bit of the code %d differs: got error %v, want ErrOther", i, err)
		}
		code = 0
	}
}

// answered is what an endpoint says of a call that it refuses.
type answered struct {
	code int
	text string
}

func (a answered) Error() string  { return a.text }
func (a answered) ErrorCode() int { return a.code }

// failing is a node that does not carry out calls: those of contracts, or all.
type failing struct {
	evm.Node
	all bool
	err error
}

func (f failing) CallContext(ctx context.Context, result any, method string, args ...any) error {
	if method == "eth_call" {
		message, _ := args[0].(map[string]any)
		if _, has := message["input"]; has || f.all {
			return f.err
		}
	}
	return f.Node.CallContext(ctx, result, method, args...)
}

// A contract that refuses the call is another one. An endpoint that is away, or too busy, says nothing about the contract: an
// operator who is told that it is another one looks for the fault at the wrong place.
func TestAnEndpointThatFailsIsNoOtherContract(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, _ := opened(t, s.node, 2, 1)
	reverted, busy := answered{3, "execution reverted"}, answered{-32005, "daily limit exceeded"}
	for name, c := range map[string]struct {
		node  failing
		other bool
	}{
		"it is another contract":             {failing{err: reverted}, true},
		"that fails in a way without a name": {failing{err: answered{-32000, "invalid opcode: INVALID"}}, true},
		"the connection is refused":          {failing{err: errors.New("connection refused")}, false},
		"it is refused for all calls":        {failing{err: errors.New("connection refused"), all: true}, false},
		"the endpoint answers no calls now":  {failing{err: busy, all: true}, false},
		"the time is over":                   {failing{err: context.DeadlineExceeded}, false},
	} {
		c.node.Node = s.node
		_, read := evm.Read(t.Context(), c.node, f.Contract.Address)
		_, checked := evm.Check(t.Context(), c.node, f.Contract)
		for _, err := range []error{read, checked} {
			if !errors.Is(err, c.node.err) || errors.Is(err, ledger.ErrOther) != c.other {
				t.Errorf("%s: got error %v, want ErrOther: %t", name, err, c.other)
			}
		}
	}
}

// Q3, Q18: what no contract may be made of is refused at the creation.
func TestWhatCannotBeDeclared(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	for name, change := range map[string]func(*ledger.Contract){
		"nobody":     func(c *ledger.Contract) { c.Members[1] = ledger.Account(make([]byte, 20)) },
		"twice":      func(c *ledger.Contract) { c.Members[2] = c.Members[0] },
		"none":       func(c *ledger.Contract) { c.Needed = 0 },
		"too many":   func(c *ledger.Contract) { c.Needed = 4 },
		"no members": func(c *ledger.Contract) { c.Members = nil },
	} {
		c, _, by := declare(t, s.node, 3, 2)
		change(&c)
		data, err := evm.Creation(c)
		if err != nil {
			t.Fatal(err)
		}
		if done := s.seal(t, s.transaction(t, by, 0, nil, data))[0]; done.Status != 0 {
			t.Errorf("%s: the contract was created", name)
		}
	}
	c, _, _ := declare(t, s.node, 3, 2)
	c.Members[0] += "\x00"
	if _, err := evm.Creation(c); err == nil {
		t.Error("a member with 21 bytes: no error")
	}
}

// What landed long ago is searched for once; what has not landed is asked for each time.
func TestFinalRemembers(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, at := opened(t, s.node, 2, 1)
	c := &cancels{at: at, owner: named(t, "member 0")}
	first := c.block().Intent
	later, fact := c.sent()
	for range f.Contract.Depth {
		s.seal(t)
	}
	searches := 0
	r, err := evm.Check(t.Context(), liar{s.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
		if method == "eth_getLogs" {
			searches++
		}
		return answer
	}}, f.Contract)
	if err != nil {
		t.Fatal(err)
	}
	landed := func() (one, two bool) {
		final, err := r.Final(t.Context(), []ledger.Intent{first, fact.Intent}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, one = final.Landed(first)
		_, _, two = final.Landed(fact.Intent)
		return one, two
	}
	for range 3 {
		if one, two := landed(); !one || two {
			t.Errorf("read %v, %v; want the first alone", one, two)
		}
	}
	if searches != 1 {
		t.Errorf("the log was searched %d times, want once", searches)
	}
	at.Block(later)
	for range f.Contract.Depth {
		s.seal(t)
	}
	if one, two := landed(); !one || !two {
		t.Errorf("read %v, %v; want both", one, two)
	}
}

// No answer panics, and none that has not the form of one becomes a fact.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, at := opened(t, s.node, 2, 1)
	e := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: f.Members[0].Account}, Outputs: []ledger.Hash{{1}}}}
	assembled := f.Scheme.Assembled(f.Contract, e.Attempt)
	e.Endorsements = []ledger.Endorsement{{Member: 0, Signature: f.Members[0].Sign(assembled)}}
	e.Grant = ledger.Grant{Assembled: assembled, Coordinator: f.Stranger.Account, ValidUntil: 1 << 40}
	e.Grant.Signature = f.Members[0].Sign(f.Scheme.Granted(f.Contract, e.Grant))
	if facts := at.Block(ledger.Sent{By: f.Stranger.Account, Entries: []ledger.Entry{e}}); facts[0].Skipped != ledger.Taken {
		t.Fatal(facts)
	}
	for range f.Contract.Depth {
		s.seal(t)
	}
	intents, states := []ledger.Intent{e.Intent}, []ledger.StateID{f.Scheme.State(assembled, 0)}
	read := func(n evm.Node) error {
		r, err := evm.Check(t.Context(), n, f.Contract)
		if err == nil {
			var final ledger.View
			if final, err = r.Final(t.Context(), intents, states); err == nil {
				if got, _, is := final.Landed(e.Intent); !is || got != assembled || !final.Unspent(states[0]) {
					t.Errorf("read %v, %v: neither what happened nor an error", got, is)
				}
			}
		}
		return err
	}
	if err := read(s.node); err != nil {
		t.Fatal(err)
	}
	methods := map[string]bool{}
	for _, bad := range []string{`null`, `"0x"`, `"0x02"`, `{}`, `[]`, `[{}]`, `7`, `"` + "0x" + strings.Repeat("f", 64) + `"`, `"` + "0x" + strings.Repeat("0", 62) + "20" + strings.Repeat("f", 640) + `"`} {
		for nth := range 12 {
			n := 0
			err := read(liar{s.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
				if n++; n != nth+1 {
					return answer
				}
				methods[method] = true
				return json.RawMessage(bad)
			}})
			if err == nil && n > nth {
				t.Errorf("answer %d is %.40s: no error", nth, bad)
			}
		}
	}
	if len(methods) != 5 {
		t.Errorf("answers of %v were changed, want five methods", methods)
	}
}

// A bit that is set and an event that the endpoint does not show, one of another intent, or the block that was replaced
// meanwhile: an error, never "it did not land".
func TestAnswersThatContradict(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	f, at := opened(t, s.node, 2, 1)
	in := ledger.Intent{Owner: f.Members[0].Account, Sequence: ledger.Sequence{Counter: 5}}
	at.Block(ledger.Sent{By: f.Stranger.Account, Cancel: &ledger.Cancellation{Intent: in, Signature: f.Members[0].Sign(f.Scheme.Cancelled(f.Contract, in))}})
	for range f.Contract.Depth {
		s.seal(t)
	}
	for name, change := range map[string]func(method string, logs []types.Log, answer json.RawMessage) any{
		"no log":              func(string, []types.Log, json.RawMessage) any { return []types.Log{} },
		"a log that is there": func(_ string, logs []types.Log, _ json.RawMessage) any { return append(logs, logs...) },
		"of another contract": func(_ string, logs []types.Log, _ json.RawMessage) any { logs[0].Address[0]++; return logs },
		"of another intent":   func(_ string, logs []types.Log, _ json.RawMessage) any { logs[0].Topics[2][31]++; return logs },
		"of a later block":    func(_ string, logs []types.Log, _ json.RawMessage) any { logs[0].BlockNumber++; return logs },
		"taken back":          func(_ string, logs []types.Log, _ json.RawMessage) any { logs[0].Removed = true; return logs },
	} {
		r, err := evm.Check(t.Context(), liar{s.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
			var logs []types.Log
			if method != "eth_getLogs" || json.Unmarshal(answer, &logs) != nil {
				return answer
			}
			out, err := json.Marshal(change(method, logs, answer))
			if err != nil {
				t.Error(err)
			}
			return out
		}}, f.Contract)
		if err != nil {
			t.Fatal(err)
		}
		if final, err := r.Final(t.Context(), []ledger.Intent{in}, nil); err == nil {
			t.Errorf("%s: got %+v, want an error", name, final)
		}
	}
	r, err := evm.Check(t.Context(), liar{s.node, func(method string, args []any, answer json.RawMessage) json.RawMessage {
		if method != "eth_getBlockByNumber" || args[0] == "latest" {
			return answer
		}
		return json.RawMessage(regexp.MustCompile(`"number":"0x[0-9a-f]+"`).ReplaceAllString(string(answer), `"number":"0x1"`))
	}}, f.Contract)
	if err != nil {
		t.Fatal(err)
	}
	if final, err := r.Final(t.Context(), []ledger.Intent{in}, nil); !errors.Is(err, evm.ErrAnswer) {
		t.Errorf("another block than was asked for: got %+v, %v; want ErrAnswer", final, err)
	}
	blocks := 0
	r, err = evm.Check(t.Context(), liar{s.node, func(method string, args []any, answer json.RawMessage) json.RawMessage {
		if method != "eth_getBlockByNumber" || args[0] == "latest" {
			return answer
		}
		if blocks++; blocks != 2 {
			return answer
		}
		return json.RawMessage(strings.Replace(string(answer), hashIn(t, answer), hashOf("x").String(), 1))
	}}, f.Contract)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Final(t.Context(), []ledger.Intent{in}, nil); !errors.Is(err, evm.ErrAnswer) {
		t.Errorf("the block was replaced while it was read: got error %v, want ErrAnswer", err)
	}
}

func hashIn(t *testing.T, header json.RawMessage) string {
	t.Helper()
	var b struct{ Hash string }
	if err := json.Unmarshal(header, &b); err != nil {
		t.Fatal(err)
	}
	return b.Hash
}

// A log is read as the contract writes it, or not at all.
func FuzzFacts(f *testing.F) {
	f.Add(make([]byte, 96), []byte{0}, uint8(3), uint8(2))
	f.Add(make([]byte, 64), make([]byte, 32), uint8(3), uint8(0))
	f.Add([]byte{}, make([]byte, 32), uint8(0), uint8(1))
	_, events := evm.Signatures()
	f.Fuzz(func(t *testing.T, data, topic []byte, topics, kind uint8) {
		l := types.Log{Data: data}
		for i := range int(topics % 6) {
			h := common.BytesToHash(topic)
			if i == 0 {
				h = [...]common.Hash{events["Landed"], events["Cancelled"], events["Skipped"], h}[kind%4]
			}
			l.Topics = append(l.Topics, h)
		}
		facts, err := evm.Facts(common.Address{}, common.Hash{}, []types.Log{l})
		if err == nil && (len(facts) != 1 || len(facts[0].Owner) != 20 || facts[0].Skipped > ledger.Missing) {
			t.Errorf("read %+v", facts)
		}
	})
}

// A declaration is read as it is written, or not at all.
func FuzzDeclaration(f *testing.F) {
	c := ledger.Contract{
		Members: []ledger.Account{"aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"}, Committee: []ledger.Account{"aaaaaaaaaaaaaaaaaaaa"},
		Needed: 2, Range: 50, Depth: 3, Life: 20, Domain: "notes/1",
	}
	f.Add(evm.Declaration(c))
	f.Add([]byte{})
	f.Add(hexutil.MustDecode("0x" + strings.Repeat("f", 640)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := evm.DecodeDeclaration(b)
		if err == nil && !slices.Equal(evm.Declaration(c), b) {
			t.Errorf("read %+v, which is written otherwise", c)
		}
	})
}
