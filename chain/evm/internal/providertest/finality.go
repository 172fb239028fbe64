package providertest

import "sync"

// finality answers for the tag "finalized" by another height. It is asked once a call.
func finality(height func(r *Request) uint64) Behaviour {
	return func(c *Call, next Answerer) Answer {
		tag, at, has := c.blockTag()
		if !has || tag != finalized {
			return next(c)
		}
		return c.changed(next(c.with(at, hex(height(c.request)))))
	}
}

// FinalityBehind keeps the final block so many blocks behind the head.
func FinalityBehind(blocks uint64) Behaviour {
	return finality(func(r *Request) uint64 { return r.head() - min(r.head(), blocks) })
}

// FinalityIsLatest calls the head final.
func FinalityIsLatest() Behaviour { return finality((*Request).head) }

// FinalityStalls keeps the final block where it was when the switch went on, until the switch is off.
func FinalityStalls(s *Switch) Behaviour {
	var mu sync.Mutex
	var height uint64
	stalled := false
	frozen := finality(func(r *Request) uint64 {
		mu.Lock()
		defer mu.Unlock()
		if !stalled {
			stalled, height = true, r.final()
		}
		return height
	})
	return func(c *Call, next Answerer) Answer {
		if s.IsOn() {
			return frozen(c, next)
		}
		mu.Lock()
		stalled = false
		mu.Unlock()
		return next(c)
	}
}

// FinalityGoesBack names an older final block in each second answer.
func FinalityGoesBack(blocks uint64) Behaviour {
	var mu sync.Mutex
	asked := 0
	return finality(func(r *Request) uint64 {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked%2 == 0 {
			return r.final() - min(r.final(), blocks)
		}
		return r.final()
	})
}

// FinalityAnswers gives one answer to each call about the final block.
func FinalityAnswers(a Answer) Behaviour {
	return func(c *Call, next Answerer) Answer {
		if tag, _, has := c.blockTag(); !has || tag != finalized {
			return next(c)
		}
		return c.changed(a)
	}
}

// FinalityIsZero names block 0 as the final one.
func FinalityIsZero() Behaviour { return finality(func(*Request) uint64 { return 0 }) }

// Pruned is a node without the states of blocks that are further than so many blocks below its head.
func Pruned(kept uint64) Behaviour {
	return func(c *Call, next Answerer) Answer {
		tag, _, has := c.blockTag()
		if !has || !c.is(stateMethods...) {
			return next(c)
		}
		if height, known := c.request.height(tag); known && height+kept < c.request.head() {
			return c.refuse(-32000, "historical state of block %d is not available", height)
		}
		return next(c)
	}
}
