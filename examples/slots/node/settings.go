package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/conchhq/conch/examples/slots"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport/mtls"
)

// settings are what an organisation writes into its file. The second half is the same in every organisation's.
type settings struct {
	Name     string // of this organisation
	Database string // URL
	API      string // host:port for this organisation's own users
	Listen   string // host:port for the peers
	Identity string // file of conch identity new
	Keystore string // file of the account's key
	Password string // file
	Chain    string // URL of an endpoint

	ChainID   uint64
	Contract  string // address; empty before it is deployed
	Warehouse string // name of the member that opens and closes days
	Needed    int    // endorsements
	Members   []member
}

type member struct {
	Name    string
	Account string // address
	URL     string // where its peers reach it
	Key     string // fingerprint of its identity
}

func readSettings(path string) (s settings, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range []string{s.Name, s.Warehouse} {
		if s.accountOf(name) == "" {
			return s, fmt.Errorf("%s: %q is no member with an account", path, name)
		}
	}
	return s, s.declaration().Validate()
}

func (s settings) accountOf(name string) ledger.Account {
	i := slices.IndexFunc(s.Members, func(m member) bool { return m.Name == name })
	if i < 0 {
		return ""
	}
	raw, err := hex.DecodeString(strings.TrimPrefix(s.Members[i].Account, "0x"))
	if err != nil || len(raw) != 20 {
		return ""
	}
	return ledger.Account(raw)
}

func (s settings) rules() slots.Rules { return slots.New(s.accountOf(s.Warehouse)) }

// declaration is what the contract on the chain has to say.
func (s settings) declaration() ledger.Contract {
	c := ledger.Contract{Chain: s.ChainID, Address: s.Contract, Needed: s.Needed, Range: 100, Depth: 2, Life: 50, Domain: s.rules().Domain()}
	if c.Address == "" {
		c.Address = "none yet"
	}
	for _, m := range s.Members {
		c.Members = append(c.Members, s.accountOf(m.Name))
	}
	c.Committee = c.Members
	return c
}

// peers returns the others, as the transport knows them, and the names of their accounts.
func (s settings) peers() (list []mtls.Peer, names map[ledger.Account]string) {
	names = map[ledger.Account]string{}
	for _, m := range s.Members {
		if m.Name != s.Name {
			list, names[s.accountOf(m.Name)] = append(list, mtls.Peer{Name: m.Name, URL: m.URL, Key: m.Key}), m.Name
		}
	}
	return list, names
}
