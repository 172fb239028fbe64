package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
)

// Chain is one [[chains]].
type Chain struct {
	Name     string
	Kind     string // KindEVM
	URL      string // may carry a secret
	ChainID  int    // the endpoint must serve this one
	Finality int    // how deep a block is final; 0: as the chain says itself
}

// KindEVM is Ethereum and everything that talks like it.
const KindEVM = "evm"

// ID tells chains apart, as chain.Description.ID does.
func (c Chain) ID() string { return fmt.Sprintf("%s:%d", c.Kind, c.ChainID) }

// String leaves out what may be secret.
func (c Chain) String() string { return fmt.Sprintf("chain %q (%s)", c.Name, c.ID()) }

// Account is one [[accounts]]: what it sends is a role of the node, behind the
// fenced door.
type Account struct {
	Name         string
	Chain        Chain
	Scope        string // by default made of the chain's ID and the address
	Address      chain.Account
	Keystore     string // a file of web3 secret storage
	PasswordFile string
	Signer       string        // instead: the URL of a process that signs; may carry a secret
	SignerMethod string        // of a signer; DefaultSignerMethod if it was not said
	MaxInFlight  int           // 0: as the wing says
	ArchiveAfter time.Duration // finished ones are moved to the archive after that; 0: never
	MaxFee       *big.Int      // the highest price of a unit of gas, in the smallest unit; nil: any
	MaxTip       *big.Int
	GapFill      int           // blocks after which a gap that nothing of ours belongs into is filled; 0: as the wing says
	Repair       time.Duration // between looks for what a lost notification would have said; 0: as the wing says
}

// DefaultSignerMethod is how web3signer and clef's relatives are asked.
const DefaultSignerMethod = "eth_signTransaction"

// mostFinality is less than the number of blocks that a driver remembers.
const mostFinality = 4095

// addressBytes is how long an address of an EVM chain is.
const addressBytes = 20

func (d *decoder) chains(place string, value any, c *Config) {
	for i, v := range d.tables(place, value, "[[chains]]") {
		var one Chain
		d.table(fmt.Sprintf("%s[%d]", place, i), v, map[string]setter{
			"name": d.text(&one.Name), "kind": d.text(&one.Kind), "url": d.text(&one.URL),
			"chain_id": d.count(&one.ChainID), "finality": d.count(&one.Finality),
		})
		c.Chains = append(c.Chains, one)
	}
}

func (d *decoder) accounts(place string, value any, c *Config) {
	for i, v := range d.tables(place, value, "[[accounts]]") {
		var one Account
		address := ""
		here := fmt.Sprintf("%s[%d]", place, i)
		d.table(here, v, map[string]setter{
			"name": d.text(&one.Name), "chain": d.text(&one.Chain.Name), "scope": d.text(&one.Scope),
			"address": d.text(&address), "keystore": d.path(&one.Keystore), "password_file": d.path(&one.PasswordFile),
			"signer": d.text(&one.Signer), "signer_method": d.text(&one.SignerMethod),
			"max_in_flight": d.count(&one.MaxInFlight), "max_fee": d.wei(&one.MaxFee), "max_tip": d.wei(&one.MaxTip),
			"gap_fill_threshold_blocks": d.count(&one.GapFill), "repair_interval": d.span(&one.Repair),
			"archive_after": d.span(&one.ArchiveAfter),
		})
		if address != "" {
			if raw, err := chain.ParseHex(address); err != nil || len(raw) != addressBytes {
				d.fault(here+".address", "%q is no address: write 0x and 40 hexadecimal digits", address)
			} else {
				one.Address = chain.Account(raw)
			}
		}
		c.Accounts = append(c.Accounts, one)
	}
}

// tables takes what is written in double brackets.
func (d *decoder) tables(place string, value any, form string) []any {
	list, ok := value.([]any)
	if !ok {
		d.fault(place, "is one table: write %s, in double brackets, once for each", form)
	}
	return list
}

// wei takes a whole number, or a text of one with its unit.
func (d *decoder) wei(to **big.Int) setter {
	return func(place string, value any) {
		number, unit, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(value)), " ")
		factor := map[string]int64{"": 1, "wei": 1, "gwei": 1e9}[strings.TrimSpace(unit)]
		n, ok := new(big.Int).SetString(number, 10)
		if !ok || n.Sign() <= 0 || factor == 0 {
			d.fault(place, `%v is no price above 0: write "30 gwei", or a whole number of wei`, value)
			return
		}
		*to = n.Mul(n, big.NewInt(factor))
	}
}

// settleAccounts gives every account its chain, its address and its scope.
func (d *decoder) settleAccounts(c *Config) {
	for i := range c.Accounts {
		a, place := &c.Accounts[i], fmt.Sprintf("accounts[%d]", i)
		at := slices.IndexFunc(c.Chains, func(one Chain) bool { return one.Name == a.Chain.Name })
		if at < 0 {
			d.fault(place+".chain", "%q is the name of no [[chains]]", a.Chain.Name)
		} else {
			a.Chain = c.Chains[at]
		}
		d.settleAddress(place, a)
		if a.Signer != "" {
			a.SignerMethod = or(a.SignerMethod, DefaultSignerMethod)
		}
		a.Name = or(a.Name, a.Address.String())
		if a.Scope == "" && a.Address != "" {
			a.Scope = "pending:" + a.Chain.ID() + ":" + a.Address.String()
		}
	}
}

// settleAddress reads the address from the keystore, which has it beside the key.
func (d *decoder) settleAddress(place string, a *Account) {
	if a.Keystore == "" {
		return
	}
	kept, err := keystoreAddress(a.Keystore)
	switch {
	case err != nil:
		d.fault(place+".keystore", "%v", err)
	case kept == "" && a.Address == "":
		d.fault(place+".address", "is missing, and the keystore does not say it either: write it down")
	case kept != "" && a.Address != "" && kept != a.Address:
		d.fault(place+".address", "%v is not the keystore's, which is %v: correct one of them", a.Address, kept)
	case a.Address == "":
		a.Address = kept
	}
}

// keystoreAddress looks into a file of web3 secret storage. Nothing that stands in
// it is ever repeated but the address.
func keystoreAddress(file string) (chain.Account, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("can not be read: %w", err)
	}
	var kept struct {
		Version int
		Address string
		Crypto  map[string]any
	}
	if json.Unmarshal(text, &kept) != nil || kept.Version != 3 || len(kept.Crypto) == 0 {
		return "", errors.New("is no keystore: it has to be web3 secret storage, version 3, as geth, clef or cast write it")
	}
	raw, err := chain.ParseHex(kept.Address)
	if err != nil || len(raw) != addressBytes && len(raw) != 0 {
		return "", errors.New("has an address that is none")
	}
	return chain.Account(raw), nil
}

func (d *decoder) validateChains(c Config) {
	names := map[string]int{}
	for i, one := range c.Chains {
		place := fmt.Sprintf("chains[%d]", i)
		if one.Name == "" {
			d.fault(place, "has no name: accounts name their chain by it")
		} else if first, taken := names[one.Name]; taken {
			d.fault(place+".name", "%q is the name of chains[%d] already", one.Name, first)
		} else {
			names[one.Name] = i
		}
		switch one.Kind {
		case KindEVM:
		case "memory":
			d.fault(place+".kind", "a chain in memory is for the tests of conch and forgets everything: conch-devnode is a chain to try things on, of kind %q", KindEVM)
		case "substrate":
			d.fault(place+".kind", "substrate is not in this version: there is %q", KindEVM)
		default:
			d.fault(place+".kind", "%q is no kind of chain: there is %q", one.Kind, KindEVM)
		}
		// A URL may hold a secret and is never repeated.
		if u, err := url.Parse(one.URL); err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
			d.fault(place+".url", "is not a URL such as http://127.0.0.1:8545 or wss://node.example")
		}
		if one.Finality > mostFinality {
			d.fault(place+".finality", "%d blocks are more than are remembered: write %d at most", one.Finality, mostFinality)
		}
		if one.ChainID == 0 {
			d.fault(place+".chain_id", "is missing: a transaction for one chain is worthless on another, or worse")
		}
	}
}

func (d *decoder) validateAccounts(c Config) {
	type seat struct {
		chain   string
		address chain.Account
	}
	names, seats := map[string]int{}, map[seat]int{}
	for i, a := range c.Accounts {
		place := fmt.Sprintf("accounts[%d]", i)
		if a.Chain.Name == "" {
			continue // said already
		}
		s := seat{a.Chain.ID(), a.Address}
		if first, taken := names[a.Name]; taken && a.Name != "" {
			d.fault(place+".name", "%q is the name of accounts[%d] already", a.Name, first)
		} else if first, taken := seats[s]; taken && a.Address != "" {
			d.fault(place, "%v on %s is accounts[%d] already: two that send from one account would both give its nonces away", a.Address, s.chain, first)
		} else {
			names[a.Name], seats[s] = i, i
		}
		if c.Node.Standalone && a.ArchiveAfter > 0 {
			d.fault(place+".archive_after", "a standalone node keeps transactions in memory and has no archive to move them to: take it out")
		}
		d.validateSigner(place, a)
	}
}

func (d *decoder) validateSigner(place string, a Account) {
	switch {
	case a.Keystore == "" && a.Signer == "":
		d.fault(place, "has nothing to sign with: name a keystore and its password_file, or a signer")
	case a.Keystore != "" && a.Signer != "":
		d.fault(place+".signer", "there is a keystore too: take one of the two out")
	case a.Keystore != "" && a.PasswordFile == "":
		d.fault(place+".password_file", "is missing: name a file whose first line opens the keystore")
	case a.Signer != "" && a.Address == "":
		d.fault(place+".address", "is missing: a signer has to be told for whom to sign")
	}
	if a.Signer != "" && a.Keystore == "" && a.PasswordFile != "" {
		d.fault(place+".password_file", "opens a keystore, and a signer opens its keys itself: take it out")
	}
	if a.Signer == "" && a.SignerMethod != "" {
		d.fault(place+".signer_method", "says how a signer is asked, and there is none: take it out, or name a signer instead of the keystore")
	}
	if a.Signer != "" {
		if u, err := url.Parse(a.Signer); err != nil || u.Host == "" {
			d.fault(place+".signer", "is not a URL such as http://127.0.0.1:9000")
		}
	}
}
