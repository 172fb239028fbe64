package contracts

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// names has the members' names, as the configuration gives them. A stranger's is its account.
type names map[ledger.Account]string

func namesIn(s Section) names {
	n := names{}
	for _, a := range s.contracts {
		for _, name := range a.Members {
			n[a.accountOf(name)] = name
		}
	}
	return n
}

func (n names) of(a ledger.Account) string {
	if name, known := n[a]; known || a == "" {
		return name
	}
	return a.String()
}

func (n names) all(accounts []ledger.Account) []string {
	list := make([]string, 0, len(accounts))
	for _, a := range accounts {
		list = append(list, n.of(a))
	}
	return list
}

// idOf writes a sequence as users see it.
func idOf(s ledger.Sequence) string {
	b := s.Bytes()
	return hex.EncodeToString(b[:])
}

// sequenceOf is the reverse of idOf. It returns false if the text is no ID.
func sequenceOf(id string) (s ledger.Sequence, is bool) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != 16 {
		return s, false
	}
	for i, b := range raw {
		part := &s.Lineage
		if i >= 8 {
			part = &s.Counter
		}
		*part = *part<<8 | uint64(b)
	}
	return s, s.Lineage > 0 && s.Counter > 0
}

// Transaction is an intent of this node's users.
type Transaction struct {
	ID         string          `json:"id"`
	Contract   string          `json:"contract"`
	Key        string          `json:"idempotency_key"`
	Request    json.RawMessage `json:"request"`
	Deadline   uint64          `json:"deadline,omitempty"`
	Fate       string          `json:"fate"` // open, confirmed or reverted
	Why        string          `json:"why,omitempty"`
	Attempt    *string         `json:"attempt"`
	Block      *uint64         `json:"block"`
	AcceptedAt time.Time       `json:"accepted_at"`
}

// Told is a Transaction with its story.
type Told struct {
	AsOf time.Time `json:"as_of"`
	Transaction
	Story []Moment `json:"story"`
}

// Moment is something that happened to a transaction.
type Moment struct {
	At        time.Time `json:"at"`
	Event     string    `json:"event"`
	State     string    `json:"state"`
	Node      string    `json:"node,omitempty"`
	Attempt   string    `json:"attempt,omitempty"`
	Endorsers []string  `json:"endorsers,omitempty"`
	Block     uint64    `json:"block,omitempty"`
	Why       string    `json:"why,omitempty"`
	Times     int       `json:"times,omitempty"` // in a row by then; 0: once
}

// waitsFor returns why the transaction has ended, or what it waits for by the last moment of its story.
func (t Told) waitsFor() string {
	if t.Fate != fateOpen || len(t.Story) == 0 {
		return t.Why
	}
	return t.Story[len(t.Story)-1].Why
}

// The fates of a transaction; those of one that has ended are called as the stages that end it.
const (
	fateOpen      = "open"
	fateConfirmed = "confirmed"
	fateReverted  = "reverted"
)

func transactionOf(contract string, f sequencer.Found) Transaction {
	t := Transaction{
		ID: idOf(f.Sequence), Contract: contract, Key: f.Key, Request: requestOf(f.Payload), Deadline: f.Deadline, Fate: fateOpen,
		AcceptedAt: f.Accepted.UTC(),
	}
	if !f.Ended {
		return t
	}
	t.Fate, t.Why = fateReverted, f.Result.Why
	if f.Result.Confirmed {
		t.Fate, t.Attempt = fateConfirmed, new(f.Result.Assembled.String())
	}
	if f.Result.Block > 0 {
		t.Block = &f.Result.Block
	}
	return t
}

// requestOf shows a payload, which need not be JSON.
func requestOf(payload []byte) json.RawMessage {
	if json.Valid(payload) {
		return payload
	}
	return json.RawMessage(strconv.Quote("0x" + hex.EncodeToString(payload)))
}

func storyOf(moments []sequencer.Moment, n names) []Moment {
	story := make([]Moment, 0, len(moments))
	for _, m := range moments {
		one := Moment{At: m.At.UTC(), Event: m.Event, State: m.State, Node: n.of(m.With), Endorsers: n.all(m.Endorsers), Block: m.Block, Why: m.Why, Times: m.Times}
		if m.Assembled != (ledger.Hash{}) {
			one.Attempt = m.Assembled.String()
		}
		story = append(story, one)
	}
	return story
}

// Contract is what a node knows of a contract.
type Contract struct {
	AsOf         time.Time         `json:"as_of"`
	Address      string            `json:"address"`
	Chain        string            `json:"chain"`
	Domain       string            `json:"domain"`
	Endorsements int               `json:"endorsements"`
	Warning      string            `json:"warning,omitempty"`
	Head         *uint64           `json:"head"`
	Final        *uint64           `json:"final"` // null with range and coordinators while no final block is known
	Unread       string            `json:"unread,omitempty"`
	Range        *uint64           `json:"range"`
	RangeSize    uint64            `json:"range_size"`
	Takes        *uint64           `json:"takes"` // blocks that a transaction takes; null: not measured
	Coordinator  *string           `json:"coordinator"`
	Next         *string           `json:"next_coordinator"`
	Order        []string          `json:"order"` // of the committee for the range, the coordinator first; empty while none is known
	NextOrder    []string          `json:"next_order"`
	Open         map[string]int    `json:"open"`         // of this node's transactions, by state
	Coordinating map[string]int    `json:"coordinating"` // what this node coordinates, by stage
	Missing      int               `json:"missing"`
	Landed       uint64            `json:"landed"`             // entries of this node since its start
	Skipped      map[string]uint64 `json:"skipped"`            // those that the ledger has not taken, by why
	Unsigned     string            `json:"unsigned,omitempty"` // why this node can sign nothing
	Waits        string            `json:"waits,omitempty"`    // why what this node has dispatched is in no block
	Nudges       uint64            `json:"nudges"`             // empty transactions since the node's start
	Drained      bool              `json:"drained"`            // this node coordinates it no more
	Members      []Member          `json:"members"`
}

// Member is a member of a contract, as this node knows it.
type Member struct {
	Name        string     `json:"name"`
	Account     string     `json:"account"`
	Coordinates bool       `json:"may_coordinate"`
	This        bool       `json:"this_node"`
	Final       *uint64    `json:"final"`         // the last final block that it spoke of
	HeardAt     *time.Time `json:"heard_at"`      // its last message since this node's start
	Differs     bool       `json:"differs"`       // it has another declaration of the contract
	Wrong       bool       `json:"signs_wrongly"` // and is left out for that
	Idle        bool       `json:"lands_nothing"` // of what this node has given it to coordinate, and is left out for that
}

// warningOf says what is dangerous or slow about a contract in which a transaction takes so many blocks.
func warningOf(d ledger.Contract, takes uint64) string {
	declared := d.Warning()
	if d.Range >= ledger.ShortRange*takes {
		return declared
	}
	if declared != "" {
		declared += "; "
	}
	return declared + fmt.Sprintf("a transaction takes %d blocks here, and a range of %d is shorter than %d times that: much of the work moves to another coordinator before it is done", takes, d.Range, ledger.ShortRange)
}

func contractOf(d ledger.Contract, chainName string, s sequencer.Status, self ledger.Account, n names, now time.Time) Contract {
	c := Contract{
		AsOf: now.UTC(), Address: d.Address, Chain: chainName, Domain: d.Domain, Endorsements: d.Needed, Warning: warningOf(d, s.Takes), Unread: s.Unread,
		RangeSize: d.Range, Open: s.Intents, Coordinating: map[string]int{}, Missing: s.Missing, Order: []string{}, NextOrder: []string{},
		Waits: s.Waits, Nudges: s.Nudges, Drained: s.Drained, Unsigned: s.Unsigned, Landed: s.Landed, Skipped: map[string]uint64{},
	}
	if s.Takes > 0 {
		c.Takes = &s.Takes
	}
	if s.Head > 0 {
		c.Head = &s.Head
	}
	if s.Unread == "" {
		at, named, next := s.Range, n.of(s.Coordinator), n.of(s.Next)
		c.Final, c.Range, c.Coordinator, c.Next = &s.Final, &at, &named, &next
		c.Order, c.NextOrder = n.all(s.Order), n.all(s.NextOrder)
	}
	maps.Copy(c.Coordinating, s.Coordinates)
	for why, n := range s.Skipped {
		if n > 0 {
			c.Skipped[why] = n
		}
	}
	heard := map[ledger.Account]sequencer.Member{}
	for _, h := range s.Members {
		heard[h.Account] = h
	}
	for _, a := range d.Members {
		m := Member{Name: n.of(a), Account: a.String(), Coordinates: slices.Contains(d.Committee, a), This: a == self, Differs: heard[a].Differs, Wrong: heard[a].Forges, Idle: heard[a].Idle}
		if h := heard[a]; !h.At.IsZero() {
			if m.HeardAt = new(h.At.UTC()); h.Final > 0 {
				m.Final = &h.Final
			}
		}
		if m.This {
			m.Final = c.Final
		}
		c.Members = append(c.Members, m)
	}
	return c
}
