package wire

// message judges a message with its body.
func (c *checker) message(m Message) {
	c.head(m)
	if m.Body == nil {
		c.fail(ErrMalformed, "there is no body")
		return
	}
	c.must((m.Request == RequestID{}) == (m.Body.Kind() == KindReturned), "a request or an answer without an id, or a notice with one")
	c.body(m.Body)
}

func (c *checker) body(body Body) {
	switch b := body.(type) {
	case Delegate:
		c.most("a list of members", len(b.Avoid), MostItems)
		for _, a := range b.Avoid {
			c.account(a)
		}
		c.most("a list of intents", len(b.Intents), MostItems)
	case Assemble:
		c.most("a list of intents", len(b.Items), MostItems)
		c.most("a list of states", len(b.Withheld), MostNames)
		c.context(b.Context)
	case Assembled:
		c.most("a list of results", len(b.Results), MostItems)
		for i := range b.Results {
			c.result(b.Results[i])
		}
	case AskGrant:
		c.account(b.By)
		c.most("a list of intents", len(b.Items), MostItems)
	case Granted:
		c.most("a list of grants", len(b.Items), MostItems)
		for i := range b.Items {
			c.grant(b.Items[i])
		}
	case Dispatched:
		c.most("a list of intents", len(b.Items), MostItems)
		for i := range b.Items {
			c.most("a list of endorsers", len(b.Items[i].Endorsers), MostEndorsers)
		}
	case Returned:
		c.most("a list of intents", len(b.Items), MostItems)
		c.refusal(b.Why)
		c.most("an account", len(b.Better), MostAccount)
	case List:
		c.most("a list of intents", len(b.Sequences), MostNames)
	case Rejected:
		c.refusal(b.Why)
	case Accepted, Noted, AskList, AskHandover:
	default:
		c.members(body)
	}
}

// members judges what the members of a contract tell each other.
func (c *checker) members(body Body) {
	switch b := body.(type) {
	case Endorse:
		c.attempts(b.Attempts)
		c.attempts(b.Upstream)
	case Endorsed:
		c.most("a list of verdicts", len(b.Verdicts), MostItems)
		for i := range b.Verdicts {
			c.verdict(b.Verdicts[i])
		}
	case Handover:
		c.most("a list of attempts", len(b.Entries), MostItems)
		for i := range b.Entries {
			c.dispatch(&b.Entries[i])
		}
	case AskAttempts:
		c.most("a list of attempts", len(b.Assembled), MostNames)
	case Attempts:
		c.attempts(b.Attempts)
	default:
		c.fail(ErrKind, "it has no number")
	}
}

// refusal judges the reason of what was not carried out.
func (c *checker) refusal(w Why) {
	c.why(w)
	c.must(w != Done, "a refusal without a reason")
}

func (c *checker) beat(b Beat) {
	c.most("a list of contracts", len(b.Contracts), MostItems)
	for _, p := range b.Contracts {
		c.contract(p.Contract)
	}
}
