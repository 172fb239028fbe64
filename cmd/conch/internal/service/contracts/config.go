package contracts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	chainevm "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Section is the configuration of the service: [[contracts]], and who this organisation and the others are.
type Section struct {
	contracts []Agreed
	peers     peers.Directory // of the same file
}

// Agreed is one [[contracts]]: what was agreed on. The contract on the chain has to say the same.
type Agreed struct {
	Address      string
	Account      string            // name of the [[accounts]] that sends for this node and is its account in the contract
	Members      []string          // names, in the contract's order
	Accounts     map[string]string // the members' accounts, by their names
	Committee    []string          // names; empty: all members
	Endorsements int               // 0: all members
	RangeSize    int
	Depth        int
	Life         int
	Policy       string
	Domain       string
	NudgeAfter   time.Duration // this node's own: without a block, while one is waited for, until it sends an empty transaction
	Issuer       string        // of notes: the member whose intents may issue some

	ForgetAfter time.Duration // this node's own: how long it keeps what has ended; below 0: for ever
}

// The defaults of an Agreed. They fit a chain with a block each few seconds.
const (
	defaultRange = 100
	defaultDepth = 2
	defaultLife  = 50
	defaultNudge = 2500 * time.Millisecond
	allMembers   = "all"
)

// self returns this organisation's name.
func (s *Section) self() string { return s.peers.Identity.Name }

// Table implements config.Section.
func (*Section) Table() string { return "contracts" }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{
		"contracts": func(place string, value any) {
			for i, v := range d.Tables(place, value) {
				s.contracts = append(s.contracts, readAgreed(d, fmt.Sprintf("%s[%d]", place, i), v))
			}
		},
	}
}

func readAgreed(d *config.Decoder, place string, value any) Agreed {
	one := Agreed{RangeSize: defaultRange, Depth: defaultDepth, Life: defaultLife, Policy: ledger.Policies()[0], NudgeAfter: defaultNudge, ForgetAfter: sequencer.DefaultForgetAfter}
	d.Table(place, value, map[string]config.Setter{
		"address": d.Word(&one.Address), "account": d.Word(&one.Account), "members": d.Texts(&one.Members), "committee": d.Texts(&one.Committee),
		"accounts": accounts(d, &one.Accounts), "range_size": d.Count(&one.RangeSize), "depth": d.Count(&one.Depth), "life": d.Count(&one.Life),
		"policy": d.Word(&one.Policy), "domain": d.Word(&one.Domain), "issuer": d.Word(&one.Issuer),
		"nudge_after": d.Span(&one.NudgeAfter), "forget_after": forgetAfter(d, &one.ForgetAfter),
		"endorsement": func(place string, v any) {
			if v == allMembers {
				return
			}
			if d.Count(&one.Endorsements)(place, v); one.Endorsements == 0 {
				d.Fault(place, `write "all", or the number of members that have to endorse, such as 3`)
			}
		},
	})
	return one
}

// forgetAfter reads a duration, of which "0s" means never.
func forgetAfter(d *config.Decoder, to *time.Duration) config.Setter {
	return func(place string, value any) {
		text, _ := value.(string)
		span, err := time.ParseDuration(text)
		if err == nil && span == 0 {
			*to = -1
			return
		}
		if d.Span(to)(place, value); err == nil && span > 0 && span < leastForget {
			d.Fault(place, `%q is too short: a client that asks again under its key after that has its request carried out again. Write "1h" or more, or "0s" for never`, text)
		}
	}
}

// leastForget is the shortest span: users ask again, and members come back, within an hour.
const leastForget = time.Hour

// accounts reads a table of the members' accounts.
func accounts(d *config.Decoder, to *map[string]string) config.Setter {
	return func(place string, value any) {
		table, is := value.(map[string]any)
		if !is {
			d.Fault(place, `must be a table such as { bank = "0x…", north = "0x…" }`)
			return
		}
		*to = map[string]string{}
		for name, v := range table {
			var text string
			d.Text(&text)(config.Under(place, name), v)
			(*to)[name] = text
		}
	}
}

// Settle implements config.Section.
func (s *Section) Settle(_ *config.Decoder, c config.Config) {
	s.peers = peers.Of(c)
	for i := range s.contracts {
		one := &s.contracts[i]
		if _, err := chainevm.ParseAddress(one.Address); err == nil { // else Validate says what is wrong with it
			one.Address = evm.Spelled(one.Address)
		}
		if len(one.Committee) == 0 {
			one.Committee = one.Members
		}
		one.Endorsements = cmp.Or(one.Endorsements, len(one.Members))
	}
}

// UsesPeers implements peers.User.
func (s *Section) UsesPeers() bool { return len(s.contracts) > 0 }

// Organisation is the role of an organisation's node: one process runs it at a time.
type Organisation struct{ Name string }

// Roles implements config.Section. The fenced door is enough: the database refuses what a stale leader stores, nothing
// leaves before it is stored, and the ledger takes an intent once.
func (s *Section) Roles() []config.Role {
	if len(s.contracts) == 0 {
		return nil
	}
	name := "sequencer:" + s.self()
	return []config.Role{{Name: name, Scope: name, Fenced: true, Does: Organisation{s.self()}}}
}

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	if len(s.contracts) == 0 {
		return
	}
	if c.Node.Standalone {
		d.Fault("contracts", "a standalone node forgets what it has promised: give it a database, or take the contracts out")
	}
	s.validateAccounts(d)
	for i, one := range s.contracts {
		s.validateAgreed(d, fmt.Sprintf("contracts[%d]", i), one, slices.IndexFunc(s.contracts, func(o Agreed) bool { return o.Address == one.Address }) < i)
	}
}

func (s *Section) validateAgreed(d *config.Decoder, place string, one Agreed, twice bool) {
	if _, err := chainevm.ParseAddress(one.Address); err != nil {
		d.Fault(place+".address", "%q %v (conch contract deploy prints one)", one.Address, err)
	} else if twice {
		d.Fault(place+".address", "%s is there twice", one.Address)
	}
	if one.Account == "" {
		d.Fault(place+".account", "is missing: name the [[accounts]] with which this node signs and sends")
	}
	if !slices.Contains(ledger.Policies(), one.Policy) {
		d.Fault(place+".policy", "%q is none of %s", one.Policy, strings.Join(ledger.Policies(), ", "))
	}
	if len(one.Members) == 0 {
		d.Fault(place+".members", "is missing: name all members, in the order of the contract")
	}
	for _, name := range one.Members {
		if _, known := s.peers.Peer(name); !known && name != s.self() {
			d.Fault(place+".members", "%q is neither this node nor one of the [[peers]]", name)
		}
		if _, err := chainevm.ParseAddress(one.Accounts[name]); err != nil {
			d.Fault(config.Under(place+".accounts", name), "%q %v", one.Accounts[name], err)
		}
	}
	if len(one.Members) > 0 && !slices.Contains(one.Members, s.self()) {
		d.Fault(place+".members", "%q, this node, is not among them", s.self())
	}
	if _, err := rulesOf(one); err != nil {
		d.Fault(place+".domain", "%s", config.Plain(err))
	}
	if err := declaration(one, 1).Validate(); err != nil && len(one.Members) > 0 {
		d.Fault(place, "%s", config.Plain(err))
	}
}

// validateAccounts has each member be one account in all contracts: a message of a peer speaks for its account, and a message
// for an account goes to its peer.
func (s *Section) validateAccounts(d *config.Decoder) {
	accounts, names := map[string]ledger.Account{}, map[ledger.Account]string{}
	for i, one := range s.contracts {
		for _, name := range one.Members {
			a := one.accountOf(name)
			if a == "" {
				continue
			}
			place := config.Under(fmt.Sprintf("contracts[%d].accounts", i), name)
			if before, is := accounts[name]; is && before != a {
				d.Fault(place, "%q has the account %v in another contract: a member has one account in all contracts of a node", name, before)
			}
			if before, is := names[a]; is && before != name {
				d.Fault(place, "it is the account of %q already: two members cannot share one", before)
			}
			accounts[name], names[a] = a, name
		}
	}
}

// accountOf returns a member's account; empty if it is none.
func (a Agreed) accountOf(name string) ledger.Account {
	account, _ := chainevm.ParseAddress(a.Accounts[name])
	return ledger.Account(account)
}
