package step

import (
	"context"
	"time"
)

// MostAtOnce is how many messages of others are taken together at most: what is to be kept of them may be stored at once, and
// those who talk much do not shut out this process and the time.
const MostAtOnce = 256

// least is how soon the time comes again after a core was told of it: one that is due all the same would leave no processor
// for what it waits for.
const least = time.Millisecond

// Source is where a loop takes inputs from.
type Source[I any] interface {
	// Ready has something to receive if inputs have come since the last Take.
	Ready() <-chan struct{}
	// Take returns the inputs that wait, which wait no longer.
	Take() []I
}

// Loop feeds a core. All of it is called by the goroutine of Run.
type Loop[I any] struct {
	From Source[I]
	// Wait returns for how long the core needs nothing but inputs; false: until one comes.
	Wait func() (d time.Duration, is bool)
	// Tick returns the inputs that say that the time has come.
	Tick func() []I
	// Feed has the core take inputs, of which there is at least one, and does what it asks for. An error ends the loop.
	Feed func([]I) error
}

// Each returns a Feed for a core that takes one input at a time. The end comes between two of them, too.
func Each[I any](ctx context.Context, feed func(I) error) func([]I) error {
	return func(all []I) error {
		for _, in := range all {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := feed(in); err != nil {
				return err
			}
		}
		return nil
	}
}

// Run feeds the core until ctx ends, and returns its cause, or the error of Feed.
func (l Loop[I]) Run(ctx context.Context) error { return Hear[struct{}](ctx, l, nil, nil) }

// Hear is Run for a core to which others talk, on a line that is never closed.
func Hear[E, I any](ctx context.Context, l Loop[I], line <-chan E, read func(E) I) error {
	return HearBoth(ctx, l, line, nil, read)
}

// HearBoth is Hear on two lines, of which the busier one does not shut out the other.
func HearBoth[E, I any](ctx context.Context, l Loop[I], line, other <-chan E, read func(E) I) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for told := false; ; { // of the time, in the batch before
		var due <-chan time.Time
		if d, is := l.Wait(); is {
			if told {
				d = max(d, least)
			}
			timer.Reset(d)
			due = timer.C
		}
		told = false
		var heard []I
		select {
		case <-ctx.Done():
		case <-l.From.Ready():
		case e := <-line:
			heard = append(heard, read(e))
		case e := <-other:
			heard = append(heard, read(e))
		case <-due:
			told = true
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batch := append(l.From.Take(), gather(heard, line, other, read)...)
		if d, is := l.Wait(); told || is && d <= 0 {
			told, batch = true, append(batch, l.Tick()...)
		}
		if len(batch) == 0 { // it was taken with what came before
			continue
		}
		if err := l.Feed(batch); err != nil {
			return err
		}
	}
}

// gather adds the messages that wait on the lines, one of each in turn.
func gather[E, I any](heard []I, line, other <-chan E, read func(E) I) []I {
	for before := -1; len(heard) > before && len(heard) < MostAtOnce; {
		before = len(heard)
		heard = next(next(heard, line, read), other, read)
	}
	return heard
}

// next adds the message that is the next one on a line, if one waits.
func next[E, I any](heard []I, line <-chan E, read func(E) I) []I {
	select {
	case e := <-line:
		return append(heard, read(e))
	default:
		return heard
	}
}
