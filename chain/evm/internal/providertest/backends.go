package providertest

// PerRequest answers all calls of a request by one of the backends, drawn for each request: what a
// load balancer before several nodes does.
func PerRequest(backends ...Behaviour) Behaviour {
	return func(c *Call, next Answerer) Answer {
		r := c.request
		if r.backend == 0 {
			r.backend = 1 + r.provider.draw(len(backends))
		}
		return backends[r.backend-1](c, next)
	}
}

// PerItem answers each call by one of the backends, drawn for each: what a gateway does that splits a batch.
func PerItem(backends ...Behaviour) Behaviour {
	return func(c *Call, next Answerer) Answer {
		return backends[c.request.provider.draw(len(backends))](c, next)
	}
}

// Fresh is a backend that has the node's head.
func Fresh(c *Call, next Answerer) Answer { return next(c) }

// Lag is a backend whose head is some blocks behind. It answers as of its own head.
func Lag(blocks uint64) Behaviour {
	return lagging(func(uint64) uint64 { return blocks })
}

// Steps is a backend whose head moves only every so many blocks: they come all at once.
func Steps(every uint64) Behaviour {
	return lagging(func(head uint64) uint64 { return head % every })
}

// lagging is a backend that is behind by a number of blocks that depends on the head.
func lagging(by func(head uint64) uint64) Behaviour {
	return func(c *Call, next Answerer) Answer {
		real := c.request.head()
		lag := min(real, by(real))
		if lag == 0 {
			return next(c)
		}
		b := backend{head: real - lag, lag: lag}
		if c.is("eth_blockNumber") {
			return c.changed(result(hex(b.head)))
		}
		if tag, at, has := c.blockTag(); has {
			return b.ofBlock(c, next, tag, at)
		}
		return b.ofHash(c, next)
	}
}

// backend is a node that is behind.
type backend struct{ head, lag uint64 }

// ofBlock answers a call that names a block.
func (b backend) ofBlock(c *Call, next Answerer, tag string, at int) Answer {
	switch tag {
	case "pending":
		return next(c)
	case latest, "safe":
		return c.changed(next(c.with(at, hex(b.head))))
	case finalized:
		final := c.request.final()
		return c.changed(next(c.with(at, hex(final-min(final, b.lag)))))
	}
	if height, known := c.request.height(tag); known && height > b.head {
		return c.changed(unknownBlock(c))
	}
	return next(c)
}

// unknownBlock is the answer of a node that does not have the block: an error if it needs its state.
func unknownBlock(c *Call) Answer {
	if c.is(stateMethods...) {
		return Answer{Err: &RPCError{Code: -32000, Message: "header not found"}}
	}
	return Answer{Result: null}
}

// ofHash answers a call that names a block or a transaction by its hash.
func (b backend) ofHash(c *Call, next Answerer) Answer {
	field := "blockNumber"
	if c.is("eth_getBlockByHash", "eth_getHeaderByHash") {
		field = "number"
	}
	a := next(c)
	if height, in := a.number(field); !in || height <= b.head {
		return a
	}
	if c.is("eth_getTransactionByHash") { // for this node it is in the pool
		return c.changed(a.put(map[string]any{"blockHash": nil, "blockNumber": nil, "transactionIndex": nil}))
	}
	return c.changed(Answer{Result: null})
}

// Without answers that some methods do not exist.
func Without(methods ...string) Behaviour {
	return Behaviour(func(c *Call, _ Answerer) Answer {
		return c.refuse(-32601, "the method %s does not exist/is not available", c.Method)
	}).On(methods...)
}

// Only answers that all methods but some do not exist.
func Only(methods ...string) Behaviour {
	return func(c *Call, next Answerer) Answer {
		if c.is(methods...) {
			return next(c)
		}
		return c.refuse(-32601, "the method %s does not exist/is not available", c.Method)
	}
}

// Falters fails one call in so many, also of a batch, as a gateway does that has lost the backend.
func Falters(in int) Behaviour {
	return func(c *Call, next Answerer) Answer {
		if c.request.provider.draw(in) > 0 {
			return next(c)
		}
		return c.refuse(-32603, "internal error: upstream connection reset")
	}
}
