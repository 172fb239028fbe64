package pending

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending/internal/rules"
)

// W12: a call is rejected when it was refused again some blocks and some time later, with the account's
// earlier calls in blocks. W15: an answer that nobody knows rejects after many tries over some time. The height
// of another chain, or of one that went back, is replaced by the present one.
func TestOneRefusalRejectsNothing(t *testing.T) {
	t.Parallel()
	first := Refusal{Cause: Refused, Times: 1, Height: 100, Next: 7}
	odd := Refusal{Cause: Unclear, Times: maxUnclearTries - 1}
	for name, c := range map[string]struct {
		last   Refusal
		cause  Cause
		age    time.Duration
		height uint64
		best   uint64
		want   bool
	}{
		"the first":                      {Refusal{}, Refused, time.Hour, 102, 7, false},
		"at once":                        {first, Refused, 0, 100, 7, false},
		"at the next block":              {first, Refused, time.Minute, 101, 7, false},
		"too soon":                       {first, Refused, 14 * time.Second, 102, 7, false},
		"an earlier call is in no block": {first, Refused, 15 * time.Second, 102, 6, false},
		"again later":                    {first, Refused, 15 * time.Second, 102, 7, true},
		"after another cause":            {odd, Refused, time.Hour, 102, 7, false},
		"on a chain that began anew":     {first, Refused, time.Hour, 5, 7, false},
		"later on that chain":            {first.oneMore(Refused, "words", 5, 7), Refused, time.Hour, 7, 7, true},
		"odd words for the last time":    {odd, Unclear, minUnclearTime, 0, 0, true},
		"odd words too soon":             {odd, Unclear, minUnclearTime - 1, 0, 0, false},
		"odd words too few":              {Refusal{Cause: Unclear, Times: maxUnclearTries - 2}, Unclear, time.Hour, 0, 0, false},
		"no money, for ever":             {Refusal{Cause: Funds, Times: 1e6}, Funds, 1000 * time.Hour, 1e6, 1e6, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := assign{Best: c.best, RejectAfter: 15 * time.Second}
			if got := a.givesUp(c.last.oneMore(c.cause, "words", c.height, 7), c.age, c.height, 9); got != c.want {
				t.Errorf("rejected %v, want %v", got, c.want)
			}
		})
	}
}

// W12: those that are put off have no nonces, so that what is behind them does not wait for these. What is signed
// before it is waited for, also if that is in the same turn. If what was before it is gone, it is not waited for.
func TestWhatIsPutOffDelaysNoRejection(t *testing.T) {
	t.Parallel()
	a := assign{First: 5, Best: 5, Relaxed: true, RejectAfter: 15 * time.Second}
	tried, prepared := queueOf("ppgr", a.First)
	b, _ := a.judgeTried(Queue{Oldest: tried}, prepared, 100)
	tried[3].Refusal = b.Held[len(b.Held)-1].Refusal
	tried[3].Refusal.Age = 15 * time.Second
	if last := tried[3].Refusal; last.Cause != Refused || last.Next != 6 {
		t.Fatalf("behind one that will have the nonce 5: %+v, want it refused for 6", last)
	}
	for name, c := range map[string]struct {
		first, best uint64
		from        int // of the queue
		want        bool
	}{
		"the one before is in no block":   {6, 5, 3, false},
		"it is in a block":                {6, 6, 3, true},
		"it was cancelled":                {5, 5, 3, true},
		"it is signed in this turn alone": {5, 5, 2, false},
	} {
		a := assign{First: c.first, Best: c.best, Relaxed: true, RejectAfter: 15 * time.Second}
		b, _ := a.judgeTried(Queue{Oldest: tried[c.from:]}, prepared[c.from:], 102)
		if got := len(b.Rejects) == 1; got != c.want {
			t.Errorf("%s: rejected %v, want %v", name, got, c.want)
		}
	}
}

// W19: what becomes of an account's queue. Each letter is an intent: g is signed, r is refused, u is refused in
// odd words, p cannot be paid, o could be paid but for what is in flight, f needs a higher fee than is allowed. A
// capital is refused for the last time, but G was refused before and is signed.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue   string
		relaxed bool
		want    string // signed, rejected, refused, put off; then the reason to stop, and how many are left
	}{
		{"ggg", false, "signed ggg, left 0"},
		{"gpg", false, "signed g, refused p, stops at p, left 2"},
		{"rg", false, "refused r, stops at r, left 2"},
		{"Rg", false, "rejected R, left 1"},
		{"gUug", false, "signed g, rejected U, refused u, stops at u, left 2"},
		{"rrprg", false, "refused rrpr, stops at r, left 5"},
		{"RRg", false, "rejected RR, left 1"},
		{"RgR", false, "rejected R, left 2"},
		{"pR", false, "refused p, stops at p, left 2"},
		{"fRg", false, "stops at f, left 3"},
		{"rG", false, "refused rG, stops at r, left 2"},
		{"gfr", false, "signed g, refused r, stops at f, left 2"},
		{"og", false, "stops at o, left 2"},
		{"gfg", false, "signed g, stops at f, left 2"},

		{"ggg", true, "signed ggg, left 0"},
		{"gpgrug", true, "signed g, put off pru, left 2"},
		{"pru", true, "put off pru, left 0"},
		{"RgU", true, "rejected RU, left 1"},
		{"GR", true, "signed G, put off R, left 0"},
		{"gfRr", true, "signed g, rejected R, put off r, stops at f, left 1"},
		{"gog", true, "signed g, stops at o, left 2"},
		{"pgf", true, "put off p, left 2"},
	} {
		t.Run(fmt.Sprint(c.queue, c.relaxed), func(t *testing.T) {
			t.Parallel()
			a := assign{First: 5, Best: 7, Relaxed: c.relaxed, RejectAfter: 15 * time.Second}
			tried, prepared := queueOf(c.queue, a.First)
			b, out := a.judgeTried(Queue{Oldest: tried}, prepared, 102)
			if got := told(b, out); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for i, s := range b.New {
				if s.Index != 5+uint64(i) || s.Since != 102 {
					t.Errorf("slot %+v leaves a gap, or is not of height 102", s)
				}
			}
		})
	}
}

// What is refused again is stored only if that changes something: with many of them each write has many rows. A clock that
// was ahead at the first time is set right by the next write.
func TestWhichRefusalsAreStored(t *testing.T) {
	t.Parallel()
	first := Refusal{Cause: Refused, Why: "words", Times: 1, Height: 100, Next: 7}
	aged := first
	aged.Age = -1
	for name, c := range map[string]struct {
		last Refusal
		next Refusal
		want bool
	}{
		"the first":          {Refusal{}, first, true},
		"the same":           {first, first.oneMore(Refused, "words", 101, 7), false},
		"other words":        {first, first.oneMore(Refused, "others", 101, 7), true},
		"after a rewind":     {first, first.oneMore(Refused, "words", 90, 7), true},
		"a clock was ahead":  {aged, aged.oneMore(Refused, "words", 101, 7), true},
		"another cause":      {first, first.oneMore(Funds, "words", 101, 7), true},
		"no money":           {Refusal{Cause: Funds, Times: 1}, Refusal{Cause: Funds, Times: 2, Why: "1 wei"}, false},
		"odd words, counted": {Refusal{Cause: Unclear, Times: 1}, Refusal{Cause: Unclear, Times: 2}, true},
	} {
		if got := c.next.isNews(c.last); got != c.want {
			t.Errorf("%s: stored %v, want %v", name, got, c.want)
		}
	}
}

// W19: while one saves, the others wait for the next block with it.
func TestTheOneThatSavesStopsTheOthers(t *testing.T) {
	t.Parallel()
	poor := Record{Intent: Intent{ID: ID{1}}, Refusal: Refusal{Cause: Funds, Times: 9, Age: rules.SavesAfter}}
	q := Queue{Oldest: []Record{{Intent: Intent{ID: ID{2}}}}, Saving: &poor}
	if tried := q.nextTries(); len(tried) != 1 || tried[0].ID != poor.ID || q.leftOver() == 0 {
		t.Errorf("tried %+v with %d left, want the one that saves and some left", tried, q.leftOver())
	}
	b, out := assign{Relaxed: true}.judgeTried(q, []chain.Prepared{{Err: chain.ErrFunds}}, 5)
	if hold := holdOf(out.Hold); hold.Intent != poor.ID || len(b.New)+len(b.Rejects)+len(b.Held) != 0 {
		t.Errorf("got %+v, held by %+v; want nothing stored, and the account held by the one that saves", b, hold)
	}
	if poor.Refusal.Age = 2 * rules.SavesAfter; len(q.nextTries()) != 1 || q.nextTries()[0].ID == poor.ID || q.leftOver() != 0 {
		t.Errorf("after its turn: tried %+v with %d left, want the other", q.nextTries(), q.leftOver())
	}
}

// What signing is held up for ends with the next block or after Patience, and asks for no tick after that.
func TestAHoldEnds(t *testing.T) {
	t.Parallel()
	m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9, Patience: time.Minute, ResendAfter: 9})
	now := fence.Instant(time.Hour)
	m.Step(now, tick{})
	m.Step(now, loaded{Snapshot: Snapshot{Waits: Waits{Queued: 1}}})
	m.finding.lookBy = now.Add(time.Hour)
	m.Step(now, stored{Left: 1, Hold: chain.ErrFee})
	if due := m.Next(); due != now.Add(time.Minute) {
		t.Fatalf("the next tick is due in %v, want a minute", due.Sub(now))
	}
	now = now.Add(time.Minute)
	if out := m.Step(now, tick{}); !slices.ContainsFunc(out, func(a action) bool { _, is := a.(assign); return is }) {
		t.Errorf("after a minute without a block: %v, want an assign", out)
	}
	if due := m.Next(); due != 0 && due <= now {
		t.Errorf("the next tick was due %v ago, want none or a later one", now.Sub(due))
	}
}

func queueOf(letters string, first uint64) (tried []Record, prepared []chain.Prepared) {
	errs := map[rune]error{'r': chain.ErrCall, 'u': chain.ErrUnclear, 'p': chain.ErrFunds, 'o': chain.ErrOwed, 'f': chain.ErrFee}
	last := map[rune]Refusal{'R': {Cause: Refused, Why: chain.ErrCall.Error(), Times: 1, Height: 100, Next: 7}, 'U': {Cause: Unclear, Times: maxUnclearTries, Next: 7}, 'G': {Cause: Refused, Times: 1, Height: 100, Next: 7}}
	for i, letter := range letters {
		w := Record{Intent: Intent{ID: ID{byte(i), byte(letter)}}, Refusal: last[letter]}
		w.Refusal.Age = minUnclearTime
		p := chain.Prepared{Signed: chain.Signed{Index: first + uint64(i)}, Err: errs[[]rune(strings.ToLower(string(letter)))[0]]}
		tried, prepared = append(tried, w), append(prepared, p)
	}
	return tried, prepared
}

// told says what was decided in the words of TestJudge.
func told(b Batch, out stored) string {
	var parts []string
	add := func(what string, ids []ID) {
		letters := ""
		for _, id := range ids {
			letters += string(rune(id[1]))
		}
		if letters != "" {
			parts = append(parts, what+" "+letters)
		}
	}
	var signed, rejected, refused, off []ID
	for _, s := range b.New {
		signed = append(signed, *s.Intent)
	}
	for _, r := range b.Rejects {
		rejected = append(rejected, r.Intent)
	}
	for _, h := range b.Held {
		if h.Pause > 0 {
			off = append(off, h.Intent)
		} else {
			refused = append(refused, h.Intent)
		}
	}
	add("signed", signed)
	add("rejected", rejected)
	add("refused", refused)
	add("put off", off)
	if hold := holdOf(out.Hold); hold.Why != "" {
		add("stops at", []ID{hold.Intent})
	}
	return strings.Join(append(parts, fmt.Sprint("left ", out.Left)), ", ")
}

// One that is tried without end is tried ever less often, and not so seldom that nobody would wait for it.
func TestPauses(t *testing.T) {
	t.Parallel()
	var got []time.Duration
	for times := 1; times < 9; times++ {
		got = append(got, Refusal{Times: times}.nextPause()/time.Second)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("pauses of %v seconds, want %v", got, want)
	}
	if got := (Refusal{Times: 1e9}).nextPause(); got != rules.LongestPause {
		t.Errorf("after a billion refusals the pause is %v, want %v", got, rules.LongestPause)
	}
}

// T16, W19: in relaxed order an intent that is dearer than what the account ever has at once gets its turn, while small
// ones spend all that comes in. One that can never be paid has the money for a sixth of the time at most.
func TestADearOneIsPaidInTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		price     int64
		more      int // of which none can be paid, one every ten minutes
		paid      bool
		small     int // at least so many of the small ones are paid, of 480
		atOnce    int // and so many of these in their block: a dear one that is paid leaves a debt
		relaxed   bool
		stopsAtIt bool
	}{
		"relaxed":                        {15, 0, true, 380, 0, true, false},
		"relaxed, never to be paid":      {1e9, 0, false, 380, 380, true, false},
		"relaxed, many never to be paid": {1e9, 8, false, 380, 380, true, false},
		"strict, never to be paid":       {1e9, 0, false, 0, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(0, 0)
			store := &Memory{Now: func() time.Time { return now }}
			purse := &purse{}
			l := &loop{
				Config: Config{Account: "a", Chain: purse, Store: store, Longest: time.Minute, Sequence: new(Sequence)},
				gate:   fence.Standalone("s", "h"), mostFee: limitOf(chain.Fee{}),
			}
			l.headed.Store(1)
			accept := func(price int64) {
				if _, err := store.Accept(t.Context(), Intent{Account: "a", Call: chain.Call{Value: big.NewInt(price)}}); err != nil {
					t.Fatal(err)
				}
			}
			accept(c.price)
			next, told, atOnce := uint64(0), false, 0
			for block := range 4 * 60 * 2 { // four hours of blocks of half a minute, in each of which one unit comes in and is asked for
				now, purse.has = now.Add(30*time.Second), purse.has+1
				if block%20 == 0 && block/20 < c.more {
					accept(1e9)
				}
				accept(1)
				for range 9 { // until nothing more can be signed in this block
					in, err := l.perform(t.Context(), assign{First: next, Most: 100, Relaxed: c.relaxed})
					got, is := in.(stored)
					if err != nil || !is {
						t.Fatalf("assign: got %+v, error %v; want stored", in, err)
					}
					if counts, err := store.Waiting(t.Context(), "a"); err != nil || got.Waits != nil && (got.Waits.Poor != counts.Poor || got.Waits.Unclear != counts.Unclear) {
						t.Fatalf("told that %+v are put off, want %+v, error %v", got.Waits, counts, err)
					}
					told = told || got.Waits != nil && got.Waits.Poor >= 1
					for _, s := range got.Slots {
						purse.has -= s.Value.Int64()
					}
					if next += uint64(len(got.Slots)); got.Hold != nil || got.Left == 0 {
						break
					}
				}
				if all := store.Records(); all[len(all)-1].Index != nil {
					atOnce++
				}
			}
			if told != c.relaxed {
				t.Errorf("told that one waits for money: %v, want %v", told, c.relaxed)
			}
			small := 0
			for _, r := range store.Records()[1:] {
				if r.Index != nil {
					small++
				}
			}
			if paid := store.Records()[0].Index != nil; paid != c.paid || small < c.small || atOnce < c.atOnce || c.stopsAtIt && small > 0 {
				t.Errorf("the dear one is paid: %v, and %d small ones, %d at once; want %v, %d and %d", paid, small, atOnce, c.paid, c.small, c.atOnce)
			}
		})
	}
}

// purse is a chain on which the account has an amount, and a call costs its value.
type purse struct {
	choosy
	has int64
}

func (p *purse) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	prepared, err := p.choosy.Prepare(ctx, drafts)
	left := p.has
	for i, d := range drafts {
		switch price := d.Call.Value.Int64(); {
		case price > p.has:
			prepared[i].Err = chain.ErrFunds
		case price > left:
			prepared[i].Err = chain.ErrOwed
		default:
			left -= price
		}
	}
	return prepared, err
}
