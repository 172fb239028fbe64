// Package solve solves goals: resolution by depth first on a draft of a base. A machine is pure, it has no stack of Go that grows with a user's term, and whatever
// walks or allocates spends of the budget first.
package solve

import (
	"maps"
	"strconv"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/syntax"
	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// Effect is what a goal wants done outside of the log.
type Effect struct {
	Kind string
	Body string // the text of a term
}

// Limits of what a goal says beside its solution.
const (
	MostOutput  = 4 << 10  // bytes that it has written
	MostText    = 1 << 20  // of one atom, or a text on its way to one
	mostEffects = 16       // see txlog
	mostBody    = 16 << 10 // of an effect
)

// Machine solves one goal. It is used once, by one goroutine.
type Machine struct {
	Budget   *txlog.Budget
	Draft    *ontology.Draft
	ReadOnly bool // a query: what would change something is an error
	Output   strings.Builder
	Effects  []Effect

	now     *cont // what is to be done next; nil: all is solved
	trail   []*term.Var
	choices []choice
	catch   *catcher
	few     [8]proc                 // the predicates that were called first
	known   int                     // how many of these there are
	procs   map[ontology.Name]*proc // the others
	globals map[term.Atom]term.Term
	ids     int64 // of variables
	mark    int64 // a variable that is younger needs no trail: nothing goes back to a time when it was

	bound [8]*term.Var // room for the first of the trail, which is enough for most goals
	other [4]choice    // and of the choices
}

// cont is something to be done, and what comes after it. It never changes, since a choice may come back to it.
type cont struct {
	do   func(m *Machine) (bool, error) // nil: solve the goal
	goal term.Term                      // with env, slots are in it
	env  []term.Term
	cut  int // how many choices a cut in the goal leaves
	next *cont
}

// choice is what else could be done.
type choice struct {
	trail int
	mark  int64
	next  *cont
	catch *catcher

	alt  *cont          // this, if it is not nil
	it   *ontology.Iter // or the next clause of a predicate, with these arguments
	args []term.Term    //
	gen  generator      // or the next solution of a builtin
}

// catcher is a catch/3 whose goal is under way.
type catcher struct {
	ball, recovery term.Term
	trail, height  int
	mark           int64
	next           *cont
	parent         *catcher
}

// proc is a predicate as one goal sees it.
type proc struct {
	name    ontology.Name
	builtin builtin
	library *ontology.Pred
	calls   int
}

type builtin func(m *Machine, args []term.Term) (bool, error)

// generator looks for the next solution of a builtin, and says whether there may be another. What it has bound without finding one is undone.
type generator func(m *Machine) (found, more bool)

// Ball is what was thrown and not caught.
type Ball struct { //nolint:errname // it is what the standard calls it
	Term term.Term

	error *term.Compound // whose second argument is still to say which predicate has thrown it
}

// Error names it.
func (b *Ball) Error() string { return "a goal has thrown a term" }

// New returns a machine.
func New(b *txlog.Budget, d *ontology.Draft, readOnly bool) *Machine {
	m := &Machine{Budget: b, Draft: d, ReadOnly: readOnly}
	m.trail, m.choices = m.bound[:0], m.other[:0]
	b.Explain(m.busiest)
	return m
}

// called goes through the predicates that were called, in no order.
func (m *Machine) called(yield func(*proc) bool) {
	for i := range m.few[:m.known] {
		if !yield(&m.few[i]) {
			return
		}
	}
	maps.Values(m.procs)(yield)
}

// busiest says which predicate was called most.
func (m *Machine) busiest() string {
	var most *proc
	for p := range m.called {
		if most == nil || p.calls > most.calls || p.calls == most.calls && p.name.Compare(most.name) < 0 {
			most = p
		}
	}
	if most == nil || most.calls < 2 {
		return ""
	}
	name := syntax.Quote(most.name.Atom.Name())
	if len(name) > 100 {
		name = name[:strings.LastIndexFunc(name[:100], func(r rune) bool { return r < 0x80 })] + "…"
	}
	return name + "/" + strconv.Itoa(most.name.Arity) + " was called " + strconv.Itoa(most.calls) + " times"
}

// NewVar returns a variable.
func (m *Machine) NewVar() *term.Var {
	m.Budget.Spend(1)
	m.ids++
	return &term.Var{ID: m.ids}
}

func (m *Machine) deref(t term.Term) term.Term { return term.Deref(m.Budget, t) }

// Solve begins to solve a goal, and reports whether it has a solution. What it is in the variables stays until Again. The error is a *Ball.
func (m *Machine) Solve(goal term.Term) (bool, error) {
	m.drop(0)
	m.catch, m.now = nil, &cont{do: calling(goal)}
	return m.run()
}

// Again reports whether there is another solution.
func (m *Machine) Again() (bool, error) {
	if !m.back() {
		return false, nil
	}
	return m.run()
}

// Final reports whether there is surely no other solution.
func (m *Machine) Final() bool { return len(m.choices) == 0 }

// run goes on until there is a solution, or none.
func (m *Machine) run() (bool, error) {
	for m.now != nil {
		k := m.now
		m.now = k.next
		var is bool
		var err error
		if k.do != nil {
			is, err = k.do(m)
		} else {
			is, err = m.step(k.goal, k.env, k.cut)
		}
		if err != nil {
			if is, err = m.raise(err); err != nil {
				return false, err
			}
		}
		if !is && !m.back() {
			return false, nil
		}
	}
	return true, nil
}

// push adds a choice. Once it is taken, it is as it is now.
func (m *Machine) push(c choice) {
	m.Budget.Spend(2)
	c.trail, c.mark, c.catch = len(m.trail), m.ids, m.catch
	m.choices = append(m.choices, c)
	m.mark = m.ids
}

// back takes the last choice; false: there is none that leads on.
func (m *Machine) back() bool {
	for len(m.choices) > 0 {
		i := len(m.choices) - 1
		c := &m.choices[i]
		m.undo(c.trail)
		m.catch = c.catch
		m.mark = c.mark
		m.Budget.Spend(1)
		switch {
		case c.alt != nil:
			m.now = c.alt
			m.drop(i)
			return true
		case c.it != nil:
			if m.resume(i) {
				return true
			}
		default:
			m.now = c.next
			found, more := c.gen(m)
			switch {
			case !more:
				m.drop(i)
			case !found:
				m.undo(m.choices[i].trail)
			}
			if found {
				return true
			}
		}
	}
	return false
}

// drop leaves so many choices.
func (m *Machine) drop(height int) {
	if height >= len(m.choices) {
		return
	}
	clear(m.choices[height:])
	m.choices = m.choices[:height]
	m.mark = 0
	if height > 0 {
		m.mark = m.choices[height-1].mark
	}
	if m.catch != nil {
		m.mark = max(m.mark, m.catch.mark)
	}
}

// undo takes values from variables.
func (m *Machine) undo(height int) {
	for i := len(m.trail) - 1; i >= height; i-- {
		m.trail[i].Ref = nil
		m.trail[i] = nil
	}
	m.trail = m.trail[:height]
}

// bind gives a variable a value.
func (m *Machine) bind(v *term.Var, t term.Term) {
	v.Ref = t
	if v.ID <= m.mark {
		m.trail = append(m.trail, v)
	}
}

// raise finds the catch/3 that takes what was thrown, and reports whether there is one. What no builtin has thrown is a fault of this program.
func (m *Machine) raise(thrown error) (bool, error) {
	ball, is := thrown.(*Ball) //nolint:errorlint // nothing wraps it
	if !is {
		return false, thrown
	}
	for c := m.catch; c != nil; c = m.catch {
		m.Budget.Spend(1)
		m.catch = c.parent
		m.drop(c.height)
		m.undo(c.trail)
		m.mark = max(m.mark, m.ids) // what the ball binds is undone if it does not fit
		if m.unify(c.ball, ball.Term) {
			m.now = &cont{do: calling(c.recovery), next: c.next}
			return true, nil
		}
		m.undo(c.trail)
	}
	m.drop(0)
	return false, ball
}

// proc returns a predicate.
func (m *Machine) proc(n ontology.Name) *proc {
	for i := range m.few[:m.known] {
		if m.few[i].name == n {
			return &m.few[i]
		}
	}
	p := m.procs[n]
	if p != nil {
		return p
	}
	m.Budget.Spend(2)
	switch {
	case m.known < len(m.few):
		p = &m.few[m.known]
		m.known++
	case m.procs == nil:
		m.procs = map[ontology.Name]*proc{}
		fallthrough
	default:
		p = &proc{}
		m.procs[n] = p
	}
	p.name, p.builtin = n, builtins[n]
	if p.builtin == nil {
		p.library = library()[n]
	}
	return p
}

// call calls a predicate. What comes after it is in m.now.
func (m *Machine) call(n ontology.Name, args []term.Term) (bool, error) {
	p := m.proc(n)
	p.calls++
	m.Budget.Spend(1)
	if p.builtin != nil {
		is, err := p.builtin(m, args)
		return is, within(err, n)
	}
	pred := m.Draft.Pred(n)
	if pred == nil {
		pred = p.library
	}
	if pred == nil {
		if f := m.Draft.Flag("unknown"); f == "fail" || f == "warning" {
			return false, nil
		}
		return false, existence("procedure", indicator(n))
	}
	it := pred.Each(m.Budget, ontology.FirstOf(m.Budget, args))
	return m.clauses(&it, args, -1), nil
}

// resume goes on with the clauses of a choice.
func (m *Machine) resume(i int) bool {
	c := &m.choices[i]
	m.now = c.next
	it, args := c.it, c.args
	return m.clauses(it, args, i)
}

// clauses goes on with the first clause whose head fits. With own, the choice of that number is the one for the clauses that are left.
func (m *Machine) clauses(it *ontology.Iter, args []term.Term, own int) bool {
	trail, height := len(m.trail), len(m.choices)
	if own >= 0 {
		height = own
	}
	next := m.now
	for c := it.Next(); c != nil; c = it.Next() {
		more := it.More()
		if !more && own >= 0 {
			m.drop(own)
		}
		if more {
			m.mark = m.ids // of what a head binds before it fails
		}
		code := c.Code(m.Budget)
		m.Budget.Spend(1 + code.Vars)
		var env []term.Term
		if code.Vars > 0 {
			env = make([]term.Term, code.Vars)
		}
		if len(code.Args) == len(args) && m.heads(code.Args, args, env) {
			if more && own < 0 {
				kept := *it
				m.Budget.Spend(2)
				m.choices = append(m.choices, choice{trail: trail, mark: m.mark, catch: m.catch, next: next, it: &kept, args: args})
			}
			if code.Body != nil {
				m.now = &cont{goal: code.Body, env: env, cut: height, next: next}
			}
			return true
		}
		m.undo(trail)
	}
	if own >= 0 {
		m.drop(own)
	}
	return false
}
