package swarm

// board has what each living process names now.
type board struct {
	nodes map[int]string // the living ones, by their lives
	views map[int]named
}

// named is a leader and its reign; the zero value is nobody.
type named struct {
	leader string
	reign  uint64
}

func newBoard() board { return board{map[int]string{}, map[int]named{}} }

func (b *board) begin(life int, node string) { b.nodes[life] = node }

func (b *board) end(life int) {
	delete(b.nodes, life)
	delete(b.views, life)
}

// see takes a view. That of a process which has ended may come late; it counts no more.
func (b *board) see(v View) { b.views[v.Life] = named{v.Leader, v.reign} }

// living returns how many processes there are.
func (b *board) living() int { return len(b.nodes) }

// counts returns how many processes name each leader; those that name nobody are under "".
func (b *board) counts() map[string]int {
	all := map[string]int{}
	for life := range b.nodes {
		all[b.views[life].leader]++
	}
	return all
}

// agreed returns the leader that all living processes name, among the nodes that of picks; nil picks all.
func (b *board) agreed(of func(node string) bool) (by named, all bool) {
	first := true
	for life, node := range b.nodes {
		if of != nil && !of(node) {
			continue
		}
		v := b.views[life]
		if v.leader == "" || !first && v.leader != by.leader {
			return named{}, false
		}
		first, by = false, named{v.leader, max(by.reign, v.reign)}
	}
	return by, !first
}

// leads returns the lives that name themselves.
func (b *board) leads() (lives []int) {
	for life, node := range b.nodes {
		if b.views[life].leader == node {
			lives = append(lives, life)
		}
	}
	return lives
}

// leaders returns how many different leaders are named.
func (b *board) leaders() int {
	all := b.counts()
	delete(all, "")
	return len(all)
}
