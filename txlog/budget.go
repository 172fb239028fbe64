package txlog

// Budget is how many steps a goal or a query may take. A step is one turn of a loop, or about a microsecond of other work; what counts is that the
// same goal on the same state takes the same number everywhere. No clock is asked, so a busy machine fails no goal. A million steps are about
// a second then, for which the leader's other goals wait, and a third of the usual lease. A query keeps no goal waiting, but a processor busy,
// and one of the few places for queries taken.
type Budget struct {
	left int
	over bool
	why  func() string
}

// NewBudget returns a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{left: steps} }

// Spend takes steps from the budget. Once there are none left it does not return: it panics with ErrBudget, of which Run makes an
// outcome with a fault, and Ask an error. Without a budget (nil) nothing is counted.
func (b *Budget) Spend(steps int) {
	switch {
	case b == nil:
	case b.over || steps > b.left:
		b.over = true
		panic(ErrBudget) //nolint:forbidigo // Run and Ask take it: an error would have to be passed on in every loop, and one that is not would loop on
	default:
		b.left -= max(steps, 0)
	}
}

// Explain has a state machine say where the steps have gone, once there are none left: a few words, which the goal's fault or the query's error ends with. It
// is called by Run or Ask, at most once.
func (b *Budget) Explain(why func() string) {
	if b != nil {
		b.why = why
	}
}

// explained returns a text with what the state machine says of its steps.
func (b *Budget) explained(text string) (whole string) {
	if b.why == nil {
		return text
	}
	defer func() {
		if recover() != nil {
			whole = text // it is broken, and the budget is over all the same
		}
	}()
	if why := b.why(); why != "" {
		return text + "; " + why
	}
	return text
}
