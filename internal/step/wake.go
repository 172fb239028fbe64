package step

// Wake wakes one goroutine, which receives from it and then looks what there is to do. Rings that come before it looks are
// one ring, and none is lost: what was there before a ring is seen after it.
type Wake chan struct{}

// NewWake returns a wake that has not rung.
func NewWake() Wake { return make(Wake, 1) }

// Ring wakes. It never waits.
func (w Wake) Ring() {
	select {
	case w <- struct{}{}:
	default:
	}
}
