package endorser

import (
	"time"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Config describes an endorser.
type Config struct {
	Contract  ledger.Contract
	Committee ranking.Committee // of the accounts of Contract.Committee, as strings
	Book      Book
	Final     uint64        // the last final block that the node knows at its start
	Strict    bool          // document 002's rule instead of D17's
	Most      int           // requests that are checked at a time; 64 if 0
	Attempts  int           // attempts of a request; 256 if 0
	Remember  time.Duration // for how long an answer is kept at most; 30 s if 0
}

// Book is what an endorser needs of book.Book.
type Book interface {
	// Hear takes an attempt with its contents, and returns its name, also with an error.
	Hear(w wire.Whole) (assembled ledger.Hash, err error)
	// Known returns a state whose contents are known, whether it is there, spent or yet to be created.
	Known(id ledger.StateID) (domain.State, bool)
}

func (c Config) withDefaults() Config {
	if c.Most == 0 {
		c.Most = 64
	}
	if c.Attempts == 0 {
		c.Attempts = 256
	}
	if c.Remember == 0 {
		c.Remember = 30 * time.Second
	}
	return c
}

// Validate returns every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "endorser: "}
	f.Join(c.Contract.Validate())
	for _, a := range c.Contract.Committee {
		f.Add(!c.Committee.Has(string(a)), "%v is in the contract's committee and not in the one that is ranked", a)
	}
	f.Add(c.Book == nil, "it needs the contract's book")
	f.Add(c.Most < 0 || c.Attempts < 0 || c.Remember < 0, "Most, Attempts and Remember are positive, or 0 for the default")
	return f.All()
}

func (c Config) window() ranking.Window {
	if c.Strict {
		return ranking.Strict
	}
	return ranking.Endorsement
}
