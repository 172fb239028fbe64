package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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
	entry := func(change func(*Dispatch)) Body {
		i := Dispatch{Whole: full(), Grant: ledger.Grant{Coordinator: "c", Signature: []byte{1}}, Endorsements: []ledger.Endorsement{{Signature: []byte{1}}}}
		change(&i)
		return Handover{Entries: []Dispatch{i}}
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
		"entries":                     {Handover{Entries: slicesOf(MostItems+1, Dispatch{Whole: full()})}, ErrSize},
		"an entry of nobody":          {Handover{Entries: make([]Dispatch, 1)}, ErrMalformed},
		"an entry without a grant":    {entry(func(i *Dispatch) { i.Grant = ledger.Grant{} }), ErrMalformed},
		"an entry granted unsigned":   {entry(func(i *Dispatch) { i.Grant.Signature = nil }), ErrMalformed},
		"an entry endorsed unsigned":  {entry(func(i *Dispatch) { i.Endorsements[0].Signature = nil }), ErrMalformed},
		"an entry endorsed at length": {entry(func(i *Dispatch) { i.Endorsements[0].Signature = make([]byte, MostSignature+1) }), ErrSize},
		"an entry endorsed by nobody": {entry(func(i *Dispatch) { i.Endorsements[0].Member = MostItems }), ErrMalformed},
		"an entry endorsed by too many": {entry(func(i *Dispatch) {
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
		"an attempt and a cause":     {result(Result{Why: Conflict, Whole: Whole{Payload: []byte{1}}}), ErrMalformed},
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

// bodies has a body of each kind.
var bodies = []Body{
	Delegate{}, Accepted{}, Assemble{}, Assembled{}, Endorse{}, Endorsed{}, AskGrant{}, Granted{}, Dispatched{}, Noted{}, Returned{}, AskList{},
	List{}, AskHandover{}, Handover{}, AskAttempts{}, Attempts{}, Rejected{},
}

// filler fills every field of a message, whatever it is called: a field that the encoding forgets comes back empty. Then
// it takes away what the reason of an item excludes.
type filler struct {
	number func() uint64       // contents
	length func(least int) int // of lists and, with 1, of bytes
	width  int                 // of texts, at least
	why    func(done bool) Why // done says whether Done may be one
}

// random fills with what a seed says.
func random(seed uint64) *filler {
	chance := rand.New(rand.NewPCG(seed, 21))
	return &filler{
		number: chance.Uint64,
		length: func(least int) int { return least + chance.IntN(5) },
		why: func(done bool) Why {
			if done && chance.IntN(2) == 0 {
				return Done
			}
			return 1 + Why(chance.IntN(int(whys)-1))
		},
	}
}

// counting fills with numbers that only rise: a field more changes the fields after it in one message, and no other.
func counting() *filler {
	next, turn := uint64(0), 0
	return &filler{
		number: func() uint64 { next++; return next },
		length: func(int) int { return 2 },
		why: func(done bool) Why {
			if turn++; done && turn%2 == 1 {
				return Done
			}
			return NotBefore
		},
	}
}

// message returns a message with a body like the given one.
func (f *filler) message(like Body) Message {
	var m Message
	f.fill(reflect.ValueOf(&m).Elem(), "Message")
	body := reflect.New(reflect.TypeOf(like)).Elem()
	f.fill(body, body.Type().Name())
	m.Body = body.Interface().(Body)
	if m.Body.Kind() == KindReturned {
		m.Request = RequestID{}
	}
	return m
}

func (f *filler) beat() (b Beat) {
	f.fill(reflect.ValueOf(&b).Elem(), "Beat")
	return b
}

func (f *filler) fill(v reflect.Value, path string) {
	switch to := v.Addr().Interface().(type) {
	case *time.Duration:
		*to = time.Duration(f.number()%uint64(MostWait)) + 1
	case *Why:
		*to = f.why(path != "Returned.Why" && path != "Rejected.Why")
	case *[]byte:
		*to = make([]byte, f.length(1))
		for i := range *to {
			(*to)[i] = byte(f.number())
		}
	default:
		f.walk(v, path)
	}
	switch to := v.Addr().Interface().(type) {
	case *Handed:
		to.Endorsers = to.Endorsers[:min(len(to.Endorsers), MostEndorsers)]
	case *Result:
		if to.Why != NotBefore {
			to.NotBefore = 0
		}
		if to.Why != Done {
			*to = Result{Sequence: to.Sequence, Why: to.Why, NotBefore: to.NotBefore}
		}
	case *GrantResult:
		if to.Why != Done {
			*to = GrantResult{Sequence: to.Sequence, Why: to.Why}
		}
	case *Verdict:
		if to.Why != Done {
			to.Signature = nil
		}
	}
}

func (f *filler) walk(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.length(0), 8))
		if v.Len() == 0 {
			v.SetZero()
		}
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Bool:
		v.SetBool(f.number()%2 == 0)
	case reflect.String:
		v.SetString(fmt.Sprintf("%0*x", f.width, f.number()))
	case reflect.Int:
		v.SetInt(int64(f.number() % MostItems))
	case reflect.Uint8:
		v.SetUint(f.number() % 256)
	case reflect.Uint32:
		v.SetUint(f.number() % (1 << 32))
	case reflect.Uint64:
		v.SetUint(f.number())
	case reflect.Interface: // the body is filled by itself
	default:
		panic(fmt.Sprint("no way to fill ", v.Type()))
	}
}

// leaves adds the paths of a value's fields, with whether each has something.
func leaves(v reflect.Value, path string, found map[string]bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), path, found)
		}
		if v.Type().Elem().Kind() == reflect.Struct {
			if v.Len() == 0 {
				leaves(reflect.Zero(v.Type().Elem()), path, found)
			}
			return
		}
		found[path] = found[path] || v.Len() > 0
	case reflect.Interface:
	default:
		found[path] = found[path] || !v.IsZero()
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	var list []byte
	for _, place := range []int{9, 0, 255, 8, -1, 256, 9} {
		list = AddPlace(list, place)
	}
	if got, want := Places(list), []int{0, 8, 9, 255}; !slices.Equal(got, want) || len(list) != MostEndorsers {
		t.Errorf("got %v in %d bytes, want %v in %d", got, len(list), want, MostEndorsers)
	}
}
