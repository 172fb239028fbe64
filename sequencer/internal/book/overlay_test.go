package book

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// An overlay is its base with some states out and others in, in the order of all views, while its base changes.
func TestRandomOverlays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		chance := rand.New(rand.NewPCG(seed, 2))
		b := open(t, 0)
		lower := Over(b, letters{})
		upper := Over(lower, letters{})
		var base, made []domain.State
		in, out := [2]map[ledger.StateID]bool{{}, {}}, [2]map[ledger.StateID]bool{{}, {}}
		for n := range 200 {
			layer := chance.IntN(2)
			o := []*Overlay{lower, upper}[layer]
			var s domain.State
			if len(made) > 0 {
				s = made[chance.IntN(len(made))]
			}
			switch {
			case n%3 == 0:
				w := whole(uint64(n), string("abc"[chance.IntN(3)]))
				hears(t, b, w)
				s, _ = b.Known(output(w, 0))
				if made = append(made, s); chance.IntN(2) == 0 {
					lands(t, b, w)
					base = append(base, s)
				}
			case chance.IntN(3) == 0:
				o.Hide(s.ID)
				in[layer][s.ID], out[layer][s.ID] = false, true
			case chance.IntN(2) == 0:
				o.Add(s)
				in[layer][s.ID], out[layer][s.ID] = true, false
			default:
				o.Drop(s.ID)
				in[layer][s.ID], out[layer][s.ID] = false, false
			}
			begin := place(uint64(n))
			for _, label := range []string{"a", "b", "c"} {
				var want [2][]domain.State
				for _, s := range made {
					is := slices.ContainsFunc(base, func(x domain.State) bool { return x.ID == s.ID })
					for l := range want {
						is = in[l][s.ID] || is && !out[l][s.ID]
						if got, there := []*Overlay{lower, upper}[l].State(s.ID); there != is || is && got.ID != s.ID {
							t.Fatalf("seed %d, step %d, layer %d: %v is there: %v, want %v", seed, n, l, s.ID, there, is)
						}
						if is && string(s.Data) == label {
							want[l] = append(want[l], s)
						}
					}
				}
				for l, o := range []*Overlay{lower, upper} {
					slices.SortFunc(want[l], func(x, y domain.State) int { return map[bool]int{true: -1, false: 1}[begin.before(x.ID, y.ID)] })
					if got := slices.Collect(o.Labelled(label, uint64(n))); !slices.EqualFunc(got, want[l], same) {
						t.Fatalf("seed %d, step %d, layer %d, %q\n%v\nwant\n%v", seed, n, l, label, got, want[l])
					}
				}
			}
		}
	}
}

// Who takes one state asks for no more, and every place on the circle is begun at.
func TestOrdersBeginAnywhere(t *testing.T) {
	t.Parallel()
	b, _ := bookOf(t, 64)
	first := map[ledger.StateID]int{}
	o := Over(b, letters{})
	for seed := range uint64(4000) {
		for s := range o.Labelled("a", seed) {
			first[s.ID]++
			break
		}
	}
	if len(first) < 60 {
		t.Errorf("of 64 states %d come first, want nearly all", len(first))
	}
}

func same(x, y domain.State) bool {
	return x.ID == y.ID && x.Creator == y.Creator && x.Assembled == y.Assembled && x.Salt == y.Salt && string(x.Data) == string(y.Data)
}

// bookOf returns a book with so many states, and their attempts.
func bookOf(t testing.TB, n int) (*Book, []wire.Whole) {
	b := open(t, n)
	var all []wire.Whole
	for i := range n {
		all = append(all, whole(uint64(i), "a"))
	}
	hears(t, b, all...)
	lands(t, b, all...)
	return b, all
}

// A batch of 64 intents, each of which takes the first state that it finds and leaves another. The cost of an intent
// does not depend on how many states there are.
func BenchmarkAssemble(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			base, _ := bookOf(b, n)
			b.ResetTimer()
			var o *Overlay
			for i := range b.N {
				if i%64 == 0 {
					o = Over(base, letters{})
				}
				for s := range o.Labelled("a", uint64(i)) {
					o.Hide(s.ID)
					s.ID[31]++
					o.Add(s)
					break
				}
			}
		})
	}
}

// What a landing costs does not depend on how many states there are.
func BenchmarkBlock(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			base, last := bookOf(b, n)
			before := last[0]
			b.ResetTimer()
			for i := range b.N {
				w := whole(uint64(n+i), "a", output(before, 0))
				hears(b, base, w)
				lands(b, base, w)
				base.Final()
				before = w
			}
		})
	}
}

// What each step of a ring costs is bounded by its table: no part is long, and there are not many empty ones.
func TestRingsKeepTheirShape(t *testing.T) {
	t.Parallel()
	r, chance := &ring{}, rand.New(rand.NewPCG(3, 3))
	var all []*domain.State
	for n := range 3000 {
		id := ledger.StateID(domain.PayloadHash([]byte{byte(n), byte(n >> 8)}))
		all = append(all, &domain.State{ID: id})
	}
	check := func() {
		t.Helper()
		longest := 0
		for _, part := range r.table {
			longest = max(longest, len(part))
		}
		if longest > 12 || len(r.table) > 4*r.size+2 {
			t.Fatalf("%d states in %d parts, of which one has %d", r.size, len(r.table), longest)
		}
	}
	for i := range all {
		r.add(all[i])
		r.add(all[i])
		check()
	}
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all {
		if r.size != len(all)-i {
			t.Fatalf("%d states are left, want %d", r.size, len(all)-i)
		}
		r.remove(all[i].ID)
		r.remove(all[i].ID)
		check()
	}
}

// stale returns a book that shows a state of first, which second has spent: that one is missing. All is final.
func stale(t *testing.T) (b *Book, disk *Snapshot, id ledger.StateID) {
	b, disk = open(t, 0), &Snapshot{}
	first := whole(1, "ab")
	id = output(first, 0)
	hears(t, b, first)
	lands(t, b, first)
	lands(t, b, whole(2, "c", id))
	for range deal.Depth {
		lands(t, b)
	}
	stores(t, b, disk)
	if !b.Unspent(id) {
		t.Fatal("what is missing has spent it, and it is not there")
	}
	return b, disk, id
}

func stores(t *testing.T, b *Book, disk *Snapshot) {
	t.Helper()
	if c, is := b.Final(); is {
		disk.apply(t, c)
	}
}

// again returns a book that begins with what is stored.
func again(t *testing.T, disk Snapshot) *Book {
	t.Helper()
	b := open(t, 0)
	if err := b.Load(disk); err != nil {
		t.Fatal(err)
	}
	return b
}

// What the ledger no longer has is in no view, whatever comes later: blocks, a restart, and what has spent it. When that
// is heard nothing of it is left in memory and in the store.
func TestGone(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"the same book": false, "after a restart": true} {
		b, disk, id := stale(t)
		b.Gone(id, id, ledger.StateID{9})
		if stores(t, b, disk); restarts {
			b = again(t, *disk)
		}
		if _, is := b.State(id); is || len(slices.Collect(b.Labelled("a", 1))) > 0 || slices.Contains(b.States(), id) {
			t.Errorf("%s: it is there", name)
		}
		if len(disk.States) != 1 || len(b.Missing()) != 1 {
			t.Errorf("%s: %d states are stored and %d attempts missing, want one and one", name, len(disk.States), len(b.Missing()))
		}
		hears(t, b, whole(1, "ab")) // its creator, once more
		if b.Unspent(id) {
			t.Errorf("%s: it is there when its creator is heard again", name)
		}
		for range deal.Life + deal.Depth {
			lands(t, b)
		}
		hears(t, b, whole(2, "c", id))
		b.Vouch(b.Late()...)
		stores(t, b, disk)
		if b.Unspent(id) || !b.Unspent(output(whole(2, "c", id), 0)) || len(b.Missing())+len(disk.Missing) > 0 {
			t.Errorf("%s: heard late, what has spent it does not count", name)
		}
		if len(disk.States) != 2 || len(disk.Early)+len(b.spent) > 0 || len(b.states) != 2 {
			t.Errorf("%s: %d states and %d early ones are stored, and %d spent ones in memory; want 2, 0, 0", name, len(disk.States), len(disk.Early), len(b.spent))
		}
	}
}

// A node that follows behind hears of what is gone before it has the block that spends it, which may still be taken back
// for another place.
func TestGoneAheadOfItsBlock(t *testing.T) {
	t.Parallel()
	b, disk := open(t, 0), &Snapshot{}
	first := whole(1, "a")
	second := whole(2, "c", output(first, 0))
	id := output(first, 0)
	hears(t, b, first, second)
	lands(t, b, first)
	b.Gone(id)
	if !b.Unspent(id) {
		t.Error("it is gone, and its creator is not final here: a rewind could not take it back")
	}
	for range deal.Depth {
		lands(t, b)
	}
	b.Gone(id)
	lands(t, b, second)
	stores(t, b, disk)
	if err := b.Rewind(ledger.Rewind{To: 4}); err != nil || b.Unspent(id) {
		t.Errorf("it is back after a rewind (error %v)", err)
	}
	if third := whole(3, "b", id); !b.Decided(named(third), third.Attempt) {
		t.Error("what would use it is not decided")
	}
	lands(t, b, second)
	for range deal.Depth + 3 {
		lands(t, b)
	}
	stores(t, b, disk)
	if b.Unspent(id) || len(disk.States) != 1 || len(disk.Early)+len(b.spent) > 0 {
		t.Errorf("%d states and %d early ones are stored, want one and none", len(disk.States), len(disk.Early))
	}
}

// A member that sends large attempts takes no more memory than is given to all that have not landed.
func TestLargeAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	b, err := New(Config{Contract: deal, Scheme: fake, Rules: letters{}, MostBytes: wire.MostAttempt})
	if err != nil {
		t.Fatal(err)
	}
	size, count := 0, 0
	measure := func() {
		size, count = 0, 0
		for e := b.waiting.Front(); e != nil; e = e.Next() {
			size, count = size+e.Value.(*attempt).Size(), count+1
		}
	}
	for n := range uint64(41) {
		w := wire.Whole{Payload: []byte{byte(n)}, Outputs: []domain.Secret{{Data: bytes.Repeat([]byte{'a'}, wire.MostData)}}}
		w.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: "bob", Sequence: ledger.Sequence{Counter: n}}, Payload: domain.PayloadHash(w.Payload), Outputs: []ledger.Hash{w.Outputs[0].Commitment()}}
		hears(t, b, w)
		if n%3 == 0 {
			lands(t, b, w)
		}
		if _, is := b.Whole(named(w)); !is {
			t.Fatal("the last one is not remembered")
		}
		if measure(); size > wire.MostAttempt || len(b.states) > count+14 {
			t.Fatalf("%d attempts of %d bytes wait, of %d at most, and there are %d states", count, size, wire.MostAttempt, len(b.states))
		}
	}
	if count != 15 {
		t.Errorf("%d wait, want as many as there is room for: 15", count)
	}
	if _, err := New(Config{Contract: deal, Scheme: fake, Rules: letters{}, MostBytes: wire.MostAttempt - 1}); err == nil {
		t.Error("a book without room for one attempt has no fault")
	}
}
