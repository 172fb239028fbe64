package committee

import (
	"fmt"
	"time"
)

// fewNotes: ten payments a second are made from a few notes, so that each is built on those before it. What a fault has killed
// may then be built on for as long as users go on.
func fewNotes(r *run) {
	purses := []string{"red", "green", "blue", "black", "white", "pink"}
	for i, purse := range purses {
		for range 4 {
			r.wish(time.Millisecond, r.nodes[i%len(r.nodes)], fmt.Sprintf("give %s 100", purse), 100)
		}
	}
	end := r.cfg.Faults + r.scene.Plot.goesOn
	for at := 2 * time.Second; at < end; at += 100 * time.Millisecond {
		from := r.w.Pick(len(purses))
		to := (from + 1 + r.w.Pick(len(purses)-1)) % len(purses)
		text := fmt.Sprintf("move %s %s %d", purses[from], purses[to], 1+r.w.Pick(50))
		r.wish(at+r.w.Between(0, 50*time.Millisecond), r.nodes[r.w.Pick(len(r.nodes))], text, 0).exempt = true
	}
	for i, purse := range purses { // so that each can end
		r.wish(end+time.Second, r.nodes[i%len(r.nodes)], fmt.Sprintf("give %s 10000", purse), 10_000)
	}
	r.quiet = false
	for _, n := range r.nodes {
		n.lag = r.w.Between(0, 20*time.Second)
	}
	r.w.After(6*time.Second, r.hurt)
}

// hurt does something bad to the node that has dispatched last, again and again.
func (r *run) hurt() {
	if r.quiet {
		return
	}
	n := r.busiest
	if n == nil {
		n = r.first()
	}
	switch r.w.Pick(3) {
	case 0:
		n.crash("")
	case 1:
		for _, other := range r.others(n)[:2] {
			r.cut(n, other, 8*time.Second)
		}
	default:
		r.tell(n.name, "loses its database for 6 s")
		n.committed = n.now() + 6*time.Second
	}
	r.w.After(r.w.Between(5*time.Second, 10*time.Second), r.hurt)
}
