package wire

import (
	"time"
	"unicode/utf8"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// checker judges a message: Encode before it is written, Decode after it was read. So both refuse the same. It keeps
// the first fault.
type checker struct{ err error }

func (c *checker) fail(err error, text string, args ...any) {
	if c.err == nil {
		c.err = fault(err, text, args...)
	}
}

// must says what is malformed unless a condition holds.
func (c *checker) must(holds bool, text string) {
	if !holds {
		c.fail(ErrMalformed, "%s", text)
	}
}

// most judges a size. The noun is that of the thing that has it.
func (c *checker) most(noun string, size, most int) {
	if size > most {
		c.fail(ErrSize, "%s of %d, which is more than %d", noun, size, most)
	}
}

func (c *checker) head(m Message) {
	c.contract(m.Contract)
	c.must(m.Request == RequestID{} || m.Request.Number > 0, "a request with the number 0")
	c.wait(m.Wait)
}

func (c *checker) contract(address string) {
	c.must(address != "" && utf8.ValidString(address), "the address of a contract is empty, or no text")
	c.most("the address of a contract", len(address), MostContract)
}

func (c *checker) account(a ledger.Account) {
	c.must(a != "", "an empty account")
	c.most("an account", len(a), MostAccount)
}

func (c *checker) wait(d time.Duration) {
	c.must(d >= 0 && d <= MostWait, "a wait that is negative, or very long")
}

func (c *checker) why(w Why) { c.must(w < whys, "a reason that is not known") }

func (c *checker) attempt(w Whole) {
	a := w.Attempt
	c.account(a.Owner)
	c.most("a list of inputs", len(a.Inputs), MostStates)
	c.most("a list of reads", len(a.Reads), MostStates)
	c.most("a list of outputs", len(a.Outputs), MostStates)
	c.most("the data of an attempt", len(a.Data), MostData)
	c.most("a payload", len(w.Payload), MostPayload)
	c.most("a list of secrets", len(w.Outputs), MostStates)
	for _, s := range w.Outputs {
		c.secret(s)
	}
	c.most("an attempt", w.Size(), MostAttempt)
}

func (c *checker) secret(s domain.Secret) { c.most("the data of a state", len(s.Data), MostData) }

func (c *checker) attempts(all []Whole) {
	c.most("a list of attempts", len(all), MostItems)
	for i := range all {
		c.attempt(all[i])
	}
}

func (c *checker) context(x Context) {
	c.most("a list of states", max(len(x.Locked), len(x.Gone)), MostNames)
	c.most("a list of states", len(x.Created), MostItems)
	for _, s := range x.Created {
		c.account(s.Creator.Owner)
		c.secret(s.Secret)
	}
}

func (c *checker) result(r Result) {
	c.why(r.Why)
	c.wait(r.NotBefore)
	c.must(r.NotBefore == 0 || r.Why == NotBefore, "a time to wait for with another reason")
	if r.Why == Done {
		c.attempt(r.Whole)
		return
	}
	a := r.Attempt
	nothing := a.Intent == ledger.Intent{} && a.Payload == ledger.Hash{} &&
		len(a.Inputs)+len(a.Reads)+len(a.Outputs)+len(a.Data)+len(r.Payload)+len(r.Outputs) == 0
	c.must(nothing, "an attempt, and a reason why there is none")
}

func (c *checker) grant(g GrantResult) {
	c.why(g.Why)
	if g.Why == Done {
		c.granted(g.Grant)
		return
	}
	grant := g.Grant
	nothing := grant.Assembled == ledger.Hash{} && grant.Coordinator == "" && grant.Delegation == ledger.Hash{} &&
		grant.ValidUntil == 0 && len(grant.Signature) == 0
	c.must(nothing, "a grant, and a reason why there is none")
}

func (c *checker) granted(g ledger.Grant) {
	c.account(g.Coordinator)
	c.signature(g.Signature)
}

func (c *checker) dispatch(d *Dispatch) {
	c.attempt(d.Whole)
	c.granted(d.Grant)
	c.most("a list of endorsements", len(d.Endorsements), MostSigned)
	for _, e := range d.Endorsements {
		c.must(e.Member >= 0 && e.Member < MostItems, "an endorsement of nobody")
		c.signature(e.Signature)
	}
}

func (c *checker) verdict(v Verdict) {
	c.why(v.Why)
	if v.Why == Done {
		c.signature(v.Signature)
		return
	}
	c.must(len(v.Signature) == 0, "an endorsement, and a reason why there is none")
}

func (c *checker) signature(s []byte) {
	c.must(len(s) > 0, "an empty signature")
	c.most("a signature", len(s), MostSignature)
}
