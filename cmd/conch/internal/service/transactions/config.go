package transactions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Section is the configuration of the service: [[chains]], [[accounts]] and [[webhooks]].
type Section struct {
	chains   []Chain
	accounts []Account
	webhooks []Webhook
}

// Chain is one [[chains]].
type Chain struct {
	Name      string
	Kind      string                  // KindEVM
	Endpoints [mostEndpoints]Endpoint // as many as are given
	ChainID   int                     // chain that the endpoint must serve
	Finality  int                     // blocks below the head at which a block is final; 0: as the chain says
	Instant   bool                    // a block is final at once
	Budget    Budget                  // of each endpoint that has none of its own
	MinDepth  int                     // least blocks below the head of the block that the chain calls final; 0: the driver's default
	MinTip    uint64                  // lowest tip for a unit of gas, in wei
	// StillAfter is for how long the head has to stand until time counts in the place of blocks; 0: the driver's default, below 0: never.
	StillAfter time.Duration
	FinalIn    time.Duration // how long a transaction is in a block before its state says so; 0: the default of package pending, below 0: never
}

// KindEVM is Ethereum and everything that talks like it.
const KindEVM = "evm"

// ID is that of chain.Description.
func (c Chain) ID() string { return fmt.Sprintf("%s:%d", c.Kind, c.ChainID) }

// String leaves out the URLs, which may be secret.
func (c Chain) String() string { return fmt.Sprintf("chain %q (%s)", c.Name, c.ID()) }

// Account is one [[accounts]], and a role of the node.
type Account struct {
	Name         string
	Chain        Chain
	Scope        string // default: made of the chain's ID and the address
	Address      chain.Account
	Keystore     string // file of web3 secret storage
	PasswordFile string
	Signer       string        // instead of a keystore: URL of an external signer, which may carry a secret, or a service of keys and its key
	SignerMethod string        // default DefaultSignerMethod
	MaxInFlight  int           // 0: the default of package pending
	ArchiveAfter time.Duration // age at which finished transactions are archived; 0: never
	MaxFee       *big.Int      // highest price of a unit of gas, in wei; nil: any
	MaxTip       *big.Int      // highest tip for a unit of gas, in wei; nil: any
	GapFill      int           // blocks after which a nonce that no transaction needs is filled; 0: the default of package pending
	Relaxed      bool          // transactions pass one that cannot be paid, estimated or understood
	SharedKey    bool          // others send from the account too
	Unlimited    bool          // callers whose token has no policy may send from it
	RestoreWait  time.Duration // how long no nonce is given away after a restore; 0: the default of package pending, below 0: not at all
	RaiseAfter   time.Duration // how long a transaction waits before it may pay more; 0: the default of package pending
	Repair       time.Duration // interval of looks that make up for a lost notification; 0: the default of package pending
}

// DefaultSignerMethod is the method of web3signer.
const DefaultSignerMethod = "eth_signTransaction"

// Table implements config.Section.
func (*Section) Table() string { return "accounts" }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{
		"chains":   func(place string, value any) { s.readChains(d, place, value) },
		"accounts": func(place string, value any) { s.readAccounts(d, place, value) },
		"webhooks": func(place string, value any) { s.readWebhooks(d, place, value) },
	}
}

// Roles implements config.Section. The fenced door will do for accounts, since the chain and the database refuse what a stale leader
// sends. A receiver of webhooks does not.
func (s *Section) Roles() (roles []config.Role) {
	for _, a := range s.accounts {
		roles = append(roles, config.Role{Name: a.Name, Scope: a.Scope, Fenced: true, Does: a})
	}
	if len(s.webhooks) > 0 {
		roles = append(roles, config.Role{Name: hooksScope, Scope: hooksScope, Does: deliveries{}})
	}
	return roles
}

func (s *Section) readChains(d *config.Decoder, place string, value any) {
	for i, v := range d.Tables(place, value) {
		var one Chain
		keys := map[string]config.Setter{
			"name": d.Name(&one.Name), "kind": d.Text(&one.Kind), "url": readURL(d, &one), "urls": readURLs(d, &one),
			"chain_id": d.Count(&one.ChainID), "finality": finality(d, &one), "min_depth": minDepth(d, &one), "min_tip": minTip(d, &one), "finality_timeout": wait(d, &one.FinalIn),
			"still_after": wait(d, &one.StillAfter),
		}
		maps.Copy(keys, budgetKeys(d, &one.Budget))
		d.Table(fmt.Sprintf("%s[%d]", place, i), v, keys)
		s.chains = append(s.chains, one)
	}
}

func (s *Section) readAccounts(d *config.Decoder, place string, value any) {
	for i, v := range d.Tables(place, value) {
		var one Account
		address := ""
		here := fmt.Sprintf("%s[%d]", place, i)
		d.Table(here, v, map[string]config.Setter{
			"name": d.Name(&one.Name), "chain": d.Text(&one.Chain.Name), "scope": d.Text(&one.Scope),
			"address": d.Text(&address), "keystore": d.Path(&one.Keystore), "password_file": d.Path(&one.PasswordFile),
			"signer": d.Text(&one.Signer), "signer_method": d.Text(&one.SignerMethod),
			"max_in_flight": d.Count(&one.MaxInFlight), "max_fee": wei(d, &one.MaxFee), "max_tip": wei(d, &one.MaxTip),
			"gap_fill_threshold_blocks": d.Count(&one.GapFill), "repair_interval": d.Span(&one.Repair), "raise_after": d.Span(&one.RaiseAfter),
			"order":         order(d, &one.Relaxed),
			"archive_after": d.Span(&one.ArchiveAfter), "shared_key": d.Flag(&one.SharedKey), "unlimited": d.Flag(&one.Unlimited), "restore_wait": wait(d, &one.RestoreWait),
		})
		if address != "" {
			var err error
			if one.Address, err = evm.ParseAddress(address); err != nil {
				d.Fault(here+".address", "%q %v", address, err)
			}
		}
		s.accounts = append(s.accounts, one)
	}
}

// wei reads a whole number, or a text of one with the unit wei or gwei.
func wei(d *config.Decoder, to **big.Int) config.Setter {
	return func(place string, value any) {
		number, unit, _ := strings.Cut(strings.TrimSpace(fmt.Sprint(value)), " ")
		factor := map[string]int64{"": 1, "wei": 1, "gwei": 1e9}[strings.TrimSpace(unit)]
		n, ok := new(big.Int).SetString(number, 10)
		if !ok || n.Sign() <= 0 || factor == 0 {
			d.Fault(place, `%v is not a price above 0: write "30 gwei", or a whole number of wei`, value)
			return
		}
		*to = n.Mul(n, big.NewInt(factor))
	}
}

// Settle implements config.Section. It gives every account its chain, address and scope.
func (s *Section) Settle(d *config.Decoder, _ config.Config) {
	chains := map[string]Chain{}
	for _, one := range slices.Backward(s.chains) {
		chains[one.Name] = one
	}
	for i := range s.accounts {
		a, place := &s.accounts[i], fmt.Sprintf("accounts[%d]", i)
		if one, known := chains[a.Chain.Name]; known {
			a.Chain = one
		} else {
			d.Fault(place+".chain", "%q is the name of no [[chains]]", a.Chain.Name)
		}
		settleAddress(d, place, a)
		if _, _, is := a.keyService(); a.Signer != "" && a.SignerMethod == "" && !is {
			a.SignerMethod = DefaultSignerMethod
		}
		a.Name = cmp.Or(a.Name, a.Address.String())
		if a.Scope == "" && a.Address != "" {
			a.Scope = "pending:" + a.Chain.ID() + ":" + a.Address.String()
		}
	}
}

// settleAddress reads the address from the keystore, where it is not encrypted.
func settleAddress(d *config.Decoder, place string, a *Account) {
	if a.Keystore == "" {
		return
	}
	kept, err := keystoreAddress(a.Keystore)
	switch {
	case err != nil:
		d.Fault(place+".keystore", "%v", err)
	case kept == "" && a.Address == "":
		d.Fault(place+".address", "is missing, and the keystore does not have it either: write it down")
	case kept != "" && a.Address != "" && kept != a.Address:
		d.Fault(place+".address", "%v is not the keystore's, which is %v: correct one of them", a.Address, kept)
	case a.Address == "":
		a.Address = kept
	}
}

// keystoreAddress reads the address in a keystore. Its errors quote nothing of the file but the address.
func keystoreAddress(file string) (chain.Account, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	var kept struct {
		Version int
		Address string
		Crypto  map[string]any
	}
	if json.Unmarshal(text, &kept) != nil || kept.Version != 3 || len(kept.Crypto) == 0 {
		return "", errors.New("is not a keystore: it has to be web3 secret storage, version 3, as geth, clef or cast write it")
	}
	if kept.Address == "" {
		return "", nil
	}
	address, err := evm.ParseAddress("0x" + strings.TrimPrefix(kept.Address, "0x")) // most write it without
	if err != nil {
		return "", fmt.Errorf("has an address that %w", err)
	}
	return address, nil
}

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	s.validateChains(d)
	s.validateAccounts(d, c)
	s.validateWebhooks(d, c)
}

func (s *Section) validateAccounts(d *config.Decoder, c config.Config) {
	names, ids := map[string]int{}, map[accountID]int{}
	for i, a := range s.accounts {
		place := fmt.Sprintf("accounts[%d]", i)
		if a.Chain.Name == "" {
			continue // Settle has found this fault
		}
		at := a.id()
		if first, taken := names[a.Name]; taken && a.Name != "" {
			d.Fault(place+".name", "%q is the name of accounts[%d] already", a.Name, first)
		} else if first, taken := ids[at]; taken && a.Address != "" {
			d.Fault(place, "%v on %s is accounts[%d] already: two roles for one account would use its nonces twice", a.Address, at.chain, first)
		} else {
			names[a.Name], ids[at] = i, i
		}
		if c.Node.Standalone && a.ArchiveAfter > 0 {
			d.Fault(place+".archive_after", "a standalone node keeps transactions in memory and has no archive: take this key out")
		}
		validateTips(d, place, a)
		validateSigner(d, place, a)
	}
}

func validateSigner(d *config.Decoder, place string, a Account) {
	switch {
	case a.Keystore == "" && a.Signer == "":
		d.Fault(place, "has nothing to sign with: name a keystore and its password_file, or a signer")
	case a.Keystore != "" && a.Signer != "":
		d.Fault(place+".signer", "there is a keystore too: take one of the two out")
	case a.Keystore != "" && a.PasswordFile == "":
		d.Fault(place+".password_file", "is missing: name a file whose first line is the keystore's password")
	case a.Signer != "" && a.Address == "":
		d.Fault(place+".address", "is missing: an external signer has to be told which account signs")
	}
	if a.Signer != "" && a.Keystore == "" && a.PasswordFile != "" {
		d.Fault(place+".password_file", "opens a keystore, and there is a signer instead of one: take it out")
	}
	if a.Signer == "" && a.SignerMethod != "" {
		d.Fault(place+".signer_method", "is for an external signer, and there is none: take it out, or name a signer instead of the keystore")
	}
	of, key, is := a.keyService()
	switch u, err := url.Parse(a.Signer); {
	case is && a.SignerMethod != "":
		d.Fault(place+".signer_method", "is for a process that is asked over JSON-RPC, and the signer is a service of keys: take it out")
	case is && of.parse(key) != nil:
		d.Fault(place+".signer", "does not name a key: %v", of.parse(key))
	case a.Signer != "" && !is && (err != nil || u.Host == ""):
		d.Fault(place+".signer", "is not a URL such as http://127.0.0.1:9000, and no key of a service such as awskms:alias/payouts, gcpkms:projects/… or vault:transit/payouts")
	}
}
