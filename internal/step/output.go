package step

// Output is what a core asks for after a step. The order is binding: first come the gives, which are true whether they are
// stored or not; then the writes are stored, in their order; then come the acts, which say or do what must not be lost.
type Output[G, W, A any] struct {
	Gives  []G
	Writes []W
	Acts   []A
}

// Do does it in that order. After a write that fails no act is done.
func (o Output[G, W, A]) Do(give func([]G), write func([]W) error, act func([]A) error) error {
	give(o.Gives)
	if err := write(o.Writes); err != nil {
		return err
	}
	return act(o.Acts)
}
