package txlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// plain computes the hash of a tree from its items alone: leaves and forks as the text of Tree says.
func plain(all []spot, depth int) Hash {
	text := []byte{leafMark}
	switch {
	case len(all) == 0:
		return Hash{}
	case len(all) <= mostInLeaf || depth == lowest:
		slices.SortFunc(all, spot.compare)
		for _, s := range all {
			text = append(text, s.item[:]...)
		}
		return sha256.Sum256(text)
	}
	text = []byte{forkMark}
	for i := range uint64(mostParts) {
		var below []spot
		for _, s := range all {
			if s.place<<(3*depth)>>61 == i {
				below = append(below, s)
			}
		}
		h := plain(below, depth+1)
		text = append(text, h[:]...)
	}
	return sha256.Sum256(text)
}

// grove plays a tree beside the list of what it has.
type grove struct {
	tree Tree
	all  []spot
}

func (g *grove) swap(place uint64, before, after Hash) {
	g.tree.Swap(place, before, after)
	if i := slices.Index(g.all, spot{place, before}); i >= 0 {
		g.all = slices.Delete(g.all, i, i+1)
	}
	if !after.IsZero() {
		g.all = append(g.all, spot{place, after})
	}
}

// play reads what happens from bytes: four for each change. Places begin alike, and are the same.
func (g *grove) play(script []byte) {
	places := []func(uint64) uint64{
		func(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 }, // anywhere
		func(n uint64) uint64 { return 5<<40 | n },              // far down
		func(n uint64) uint64 { return n % 3 },                  // of many
	}
	for ; len(script) >= 4; script = script[4:] {
		n := uint64(script[1])
		place, before, after := places[int(script[0])%len(places)](n), Hash{}, Hash{1: script[2], 2: script[1]}
		switch script[3] % 8 {
		case 0: // another comes
		case 1, 2: // one goes, if it is there
			before, after = after, before
		case 3, 4: // the first of its place goes for it
			if i := slices.IndexFunc(g.all, func(s spot) bool { return s.place == place }); i >= 0 {
				before = g.all[i].item
			}
		case 5, 6:
			g.tree.Hash()
		case 7: // many go
			for len(g.all) > int(script[2]) {
				g.swap(g.all[0].place, g.all[0].item, Hash{})
			}
		}
		g.swap(place, before, after)
	}
}

func (g *grove) judge(t *testing.T) {
	t.Helper()
	want := plain(g.all, 0)
	if got := g.tree.Hash(); got != want {
		t.Fatalf("a tree of %d items says %s, and its items say %s", len(g.all), got.Short(), want.Short())
	}
	var again, filled Tree
	rand.Shuffle(len(g.all), func(i, j int) { g.all[i], g.all[j] = g.all[j], g.all[i] })
	for _, s := range g.all {
		again.Swap(s.place, Hash{}, s.item)
	}
	half := len(g.all) / 2 * (len(g.all) % 2) // of every other one
	for _, part := range [][]spot{g.all[:half], g.all[half:]} {
		filled.Fill(func(yield func(uint64, Hash) bool) {
			for _, s := range part {
				if !yield(s.place, s.item) {
					return
				}
			}
		})
	}
	if again.Hash() != want || filled.Hash() != want || piled(g.all, len(g.all)).Hash() != want {
		t.Fatal("in another order, or at once, it is another hash")
	}
	for _, s := range g.all {
		again.Swap(s.place, s.item, Hash{})
		filled.Swap(s.place, s.item, Hash{})
	}
	if again.Hash() != (Hash{}) || filled.Hash() != (Hash{}) || filled.all.fork != nil {
		t.Fatal("nothing is left, and the tree says something")
	}
}

// A tree's hash says which items there are, and nothing of how they came (V7).
func TestATreeIsOfASet(t *testing.T) {
	t.Parallel()
	chance := rand.NewChaCha8([32]byte{1})
	for range 300 {
		script := make([]byte, 4*(1<<(chance.Uint64()%10)))
		_, _ = chance.Read(script) // it never fails
		var g grove
		g.play(script)
		g.judge(t)
	}
}

// piled returns a pile of items that was made for so many.
func piled(all []spot, items int) *Pile {
	p := NewPile(items)
	for _, s := range all {
		p.Add(s.place, s.item)
	}
	return p
}

// Many items are hashed at once, or little by little, and it makes no difference, nor does it for how many a pile was made. No step is long,
// also where all places begin alike, as somebody may choose them.
func TestAPile(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(Hash) uint64{
		"places anywhere": PlaceOf, "places that begin alike": func(h Hash) uint64 { return PlaceOf(h) >> 20 }, "three places": func(h Hash) uint64 { return PlaceOf(h) % 3 << 62 },
	} {
		var g grove
		for n := range 20_000 {
			h := sha256.Sum256(binary.AppendUvarint(nil, uint64(n)))
			g.all = append(g.all, spot{place(h), h})
		}
		want := plain(slices.Clone(g.all), 0)
		for _, items := range []int{0, 3_000, len(g.all), 1 << 19} {
			p := piled(g.all, items)
			times := 1
			for ; !p.Settle(100); times++ {
				if p.all.known {
					t.Fatal("not all is settled, and the hash is known")
				}
			}
			if p.Hash() != want {
				t.Errorf("%s: little by little, in a pile for %d, it is another hash", name, items)
			}
			if name != "three places" && times < len(g.all)/(100+mostInHeap) {
				t.Errorf("%s: a pile for %d is hashed in %d steps", name, items, times)
			}
			if at := piled(g.all, items); at.Hash() != want {
				t.Errorf("%s: at once, in a pile for %d, it is another hash", name, items)
			}
		}
	}
}

// A leaf is told from a fork: items that are the hashes of a fork's parts are other items.
func TestALeafIsNoFork(t *testing.T) {
	t.Parallel()
	var high, low Tree
	for n := range uint64(64) {
		high.Swap(n<<58, Hash{}, sha256.Sum256(binary.AppendUvarint(nil, n)))
	}
	high.Hash()
	for i := range uint64(mostParts) {
		low.Swap(i, Hash{}, high.all.parts[i].hash())
	}
	if low.Hash() == high.Hash() {
		t.Error("eight items have the hash of others")
	}
	if low.all.fork != nil || high.all.fork == nil || !bytes.Equal(high.all.text[1:33], low.all.leaf[0].item[:]) {
		t.Error("this test cannot fail")
	}
}

// One change costs the hashes of the parts that it is in, and no others.
func TestAChangeIsCheap(t *testing.T) {
	t.Parallel()
	var tree Tree
	for n := range 50_000 {
		tree.Add(binary.AppendUvarint(nil, uint64(n)))
	}
	tree.Hash()
	if n := tree.all.unknown(); n != 0 {
		t.Errorf("%d hashes are not known", n)
	}
	tree.Add([]byte("one more"))
	if n := tree.all.unknown(); n < 3 || n > 5 { // eight to the power of six are more than there are
		t.Errorf("a change costs the hashes of %d parts", n)
	}
}

// unknown returns how many hashes of parts are not known.
func (p *part) unknown() (n int) {
	if p.fork == nil {
		return 0
	}
	for i := range p.parts {
		n += int(p.stale>>i&1) + p.parts[i].unknown()
	}
	return n
}

// FuzzTree plays any changes.
func FuzzTree(f *testing.F) {
	f.Add([]byte("a1b0a1b3c2d1aaaaaaaaa5a7"))
	f.Fuzz(func(t *testing.T, script []byte) {
		var g grove
		g.play(script)
		g.judge(t)
	})
}

// BenchmarkTree is what another item in the place of one costs, with the hash after it; beside it, that of one block of 64 bytes.
func BenchmarkTree(b *testing.B) {
	b.Run("sha256", func(b *testing.B) {
		var block [64]byte
		for b.Loop() {
			copy(block[:], sumOfBlock(block[:]))
		}
	})
	for _, items := range []int{100, 1_000, 10_000, 100_000, 500_000} {
		b.Run(fmt.Sprint(items, " items"), func(b *testing.B) {
			var t Tree
			all := make([]spot, items)
			for n := range all {
				h := sha256.Sum256(binary.AppendUvarint(nil, uint64(n)))
				all[n] = spot{PlaceOf(h), h}
				t.Swap(all[n].place, Hash{}, h)
			}
			t.Hash()
			for n := 0; b.Loop(); n++ {
				s := &all[n*7919%items]
				before := s.item
				s.item[31]++
				t.Swap(s.place, before, s.item)
				t.Hash()
			}
		})
	}
}

func sumOfBlock(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}
