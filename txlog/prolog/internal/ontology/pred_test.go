package ontology

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// fact returns the bytes of a clause with a first argument.
func fact(t *testing.T, first term.Term) string {
	t.Helper()
	raw, err := term.Encode(nil, []term.Term{first, term.Int(7)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// firsts are first arguments, some of which are nearly alike.
func firstArguments() []term.Term {
	return []term.Term{
		&term.Var{ID: 1}, term.NewAtom("a"), term.NewAtom("b"), term.NewAtom("1"), term.Int(1), term.Int(-1), term.Float(1), term.Float(0), term.Int(1 << 40),
		term.New("a", term.Int(1)), term.New("a", term.Int(2)), term.New("a", term.Int(1), term.Int(2)), term.Nil, term.List(term.Int(1)), term.NewAtom("."),
	}
}

// ranksOf returns the ranks that an iteration comes to.
func ranksOf(it Iter) (all []int64) {
	for it.More() {
		all = append(all, it.Next().Rank)
	}
	return all
}

// slow is a predicate without an index.
type slow []*Clause

func (s slow) ranksOf(first First) (all []int64) {
	for _, c := range s {
		if first.anything() || c.first.anything() || c.first == first {
			all = append(all, c.Rank)
		}
	}
	return all
}

func byRank(c *Clause, rank int64) int { return cmp.Compare(c.Rank, rank) }

// A predicate answers as a plain list of clauses does, whatever becomes of it, and what was seen of it before stays as it was (B22). Seen red: with an owner
// that goes on to change what was seen.
func TestAPredicateIsAListOfClauses(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		dice := rand.New(rand.NewPCG(seed, 0))
		pool := firstArguments()
		b := txlog.NewBudget(1 << 40)
		var p *Pred
		var plain slow
		by := &owner{}
		type seen struct {
			it   Iter
			want []int64
		}
		var before []seen
		spread := int64(1) << (1 + seed*3) // of ranks
		for range 600 {
			c := NewClause(dice.Int64N(2*spread)-spread, fact(t, pool[dice.IntN(len(pool))]))
			at, is := slices.BinarySearchFunc(plain, c.Rank, byRank)
			switch {
			case dice.IntN(3) > 0 || len(plain) == 0:
				p = p.with(c, by)
				if is {
					plain[at] = c
				} else {
					plain = slices.Insert(plain, at, c)
				}
			default:
				at = dice.IntN(len(plain))
				if !p.Has(plain[at]) {
					t.Fatalf("seed %d: a clause is missing", seed)
				}
				p = p.without(plain[at].Rank, by)
				plain = slices.Delete(plain, at, at+1)
			}
			first := FirstOf(b, []term.Term{pool[dice.IntN(len(pool))]})
			if p.Count() != len(plain) {
				t.Fatalf("seed %d: %d clauses, want %d", seed, p.Count(), len(plain))
			}
			if dice.IntN(5) == 0 { // somebody looks at it
				before = append(before, seen{p.Each(b, first), plain.ranksOf(first)})
				by = &owner{}
			}
		}
		for _, s := range before {
			if got := ranksOf(s.it); !slices.Equal(got, s.want) {
				t.Fatalf("seed %d: %v, want %v", seed, got, s.want)
			}
		}
		for len(plain) > 0 {
			p = p.without(plain[0].Rank, by)
			plain = plain[1:]
		}
		if !p.ranks.empty() || !p.firsts.empty() || !p.anything.empty() {
			t.Fatalf("seed %d: something is left", seed)
		}
	}
}

// nodes notes the nodes of a trie.
func nodes[L leaf](t trie[L], all map[any]bool) {
	if t.sub != nil {
		all[t.sub] = true
		for _, part := range t.sub.parts {
			nodes(part, all)
		}
	}
}

func (p *Pred) nodes() map[any]bool {
	all := map[any]bool{}
	nodes(p.ranks, all)
	nodes(p.anything, all)
	if nodes(p.firsts, all); !p.firsts.empty() {
		p.firsts.each(func(k *bucket) bool { all[k] = true; nodes(k.ranks, all); return true })
	}
	return all
}

// A change of one clause among many copies the way to it, and nothing else; a look-up takes as many steps as one among few.
func TestAChangeCopiesTheWayToAClause(t *testing.T) {
	t.Parallel()
	var p *Pred
	by := &owner{}
	const many = 100_000
	for i := range int64(many) {
		p = p.with(NewClause(i, fact(t, term.Int(i))), by)
	}
	before := p.nodes()
	for _, rank := range []int64{0, 4711, many - 1} {
		added, copied := p.without(rank, nil).with(NewClause(many, fact(t, term.Int(rank))), nil), 0
		for n := range added.nodes() {
			if !before[n] {
				copied++
			}
		}
		if copied > 30 {
			t.Errorf("a change at %d has copied %d nodes of %d", rank, copied, len(before))
		}
	}
	few := (*Pred)(nil).with(NewClause(0, fact(t, term.Int(0))), nil)
	for name, p := range map[string]*Pred{"many": p, "few": few} {
		b := txlog.NewBudget(1)
		it := p.Each(b, FirstOf(b, []term.Term{term.Int(0)}))
		if c := it.Next(); c == nil || c.Rank != 0 || it.More() {
			t.Errorf("%s: %v", name, c)
		}
	}
}

// The form of a trie does not depend on how it has come about, so that neither does what it costs.
func TestATrieHasOneForm(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	var one, other trie[*Clause]
	var all []*Clause
	for i := range 500 {
		all = append(all, &Clause{Rank: dice.Int64N(1<<(1+i%60)) - 1<<(i%60)})
	}
	all = append(all, &Clause{Rank: -1 << 63}, &Clause{Rank: 1<<63 - 1})
	for _, c := range all {
		one = one.with(c, nil)
	}
	for _, i := range dice.Perm(len(all)) {
		other = other.with(all[i], nil)
	}
	for i := range int64(500) { // come and gone
		if k := keyOf(i); one.get(k) == nil {
			other = other.with(&Clause{Rank: i}, nil).without(k, nil)
		}
	}
	if x, y := formOf(one), formOf(other); x != y {
		t.Errorf("%s\nand\n%s", x, y)
	}
	var walked []int64
	for c := one.cursor(); ; {
		k := c.next()
		if k == nil {
			break
		}
		walked = append(walked, k.Rank)
	}
	if !slices.IsSorted(walked) || len(walked) != len(slices.Compact(slices.Sorted(slices.Values(ranksIn(all))))) {
		t.Errorf("%d of %d, sorted is %v", len(walked), len(all), slices.IsSorted(walked))
	}
}

func ranksIn(all []*Clause) (ranks []int64) {
	for _, c := range all {
		ranks = append(ranks, c.Rank)
	}
	return ranks
}

func formOf(t trie[*Clause]) string {
	if t.sub == nil {
		return strconv.FormatInt(t.leaf.Rank, 10)
	}
	text := "(" + strconv.Itoa(int(t.sub.shift))
	for _, part := range t.sub.parts {
		text += " " + formOf(part)
	}
	return text + ")"
}
