package transactions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/pattern"
	"github.com/conchhq/conch/pending/pgstore"
)

// Policy says what the callers of a token may have sent on a chain, as "conch policy" reads and shows it. Whatever it does not allow is
// refused, and an amount that it does not limit is not limited.
type Policy struct {
	Token        string     `json:"token"` // a name in token_file
	Chain        string     `json:"chain"` // its ID, such as evm:1
	Accounts     []string   `json:"accounts"`
	Receivers    []Receiver `json:"receivers,omitempty"`
	ERC20        []Coin     `json:"erc20,omitempty"`
	Creation     bool       `json:"creation,omitempty"` // of contracts
	Cancel       bool       `json:"cancel,omitempty"`   // transactions of its accounts, also others' if it sees them
	ReadOthers   bool       `json:"read_others,omitempty"`
	Value        *Amount    `json:"value,omitempty"` // of one transaction
	ValueADay    *Amount    `json:"value_a_day,omitempty"`
	FeeADay      *Amount    `json:"fee_a_day,omitempty"` // gas times max_fee
	CountAMinute *Amount    `json:"count_a_minute,omitempty"`
}

// Receiver is an address that may be called.
type Receiver struct {
	To        string   `json:"to"`                  // or "any"
	Functions []string `json:"functions,omitempty"` // signatures, selectors, "plain" (no data) or "any"; none: "plain"
}

// Coin is an ERC-20 contract of which transfer, approve and transferFrom may be called.
type Coin struct {
	Contract   string   `json:"contract"`         // or "any"
	To         []string `json:"to"`               // who may get coins, or be allowed to take them; or "any"
	Amount     *Amount  `json:"amount,omitempty"` // of one transaction, in the contract's smallest unit
	AmountADay *Amount  `json:"amount_a_day,omitempty"`
}

// Amount is a number of 0 or more, a text of decimal digits in JSON.
type Amount struct{ big.Int }

// MarshalJSON writes it as a text, which no program rounds.
func (a *Amount) MarshalJSON() ([]byte, error) { return json.Marshal(a.String()) }

// UnmarshalJSON reads what MarshalJSON writes, and a number that any program can read.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if !decimal().MatchString(text) {
		return fmt.Errorf("%.100s is no amount: write decimal digits in quotation marks", raw)
	}
	a.SetString(text, 10)
	return nil
}

func (a *Amount) limit() *big.Int {
	if a == nil {
		return nil
	}
	return &a.Int
}

const (
	anyWord   = "any"
	plainWord = "plain"
)

// rules is a policy that has no fault, ready to judge by.
type rules struct {
	Policy

	accounts  addresses
	receivers map[chain.Account]functions // "": any
	coins     map[chain.Account]coin      // likewise
}

type addresses struct {
	all bool
	set map[chain.Account]bool
}

func (a addresses) has(one chain.Account) bool { return a.all || a.set[one] }

type functions struct {
	plain, all bool
	set        map[evm.Selector]bool
}

type coin struct {
	Coin

	to addresses
}

// readPolicy reads a policy, and refuses what it does not know: a limit with a wrong name would limit nothing.
func readPolicy(from io.Reader) (p Policy, err error) {
	text, err := io.ReadAll(from)
	if err != nil {
		return p, err
	}
	if err := web.Decode(text, &p); err != nil {
		return p, fmt.Errorf("is no policy: %w", err)
	}
	return p, nil
}

var chainID = pattern.Of(`^` + KindEVM + `:[1-9][0-9]*$`)

// rules lists every fault of a policy, or returns what to judge by.
func (p Policy) rules() (*rules, error) {
	f := &faults.List{}
	r := &rules{Policy: p, receivers: map[chain.Account]functions{}, coins: map[chain.Account]coin{}}
	f.Add(p.Token == "" || strings.ContainsAny(p.Token, " \t\r\n") || len(p.Token) > 64, "token is %q, and names no token: it is the word before one in token_file, or operate if there is none", p.Token)
	f.Add(!chainID().MatchString(p.Chain), "chain is %q, and no chain's id, such as evm:1", p.Chain)
	f.Add(len(p.Accounts) == 0, "accounts is missing: without one nothing may be sent")
	r.accounts = readAddresses(f, "accounts", p.Accounts)
	for i, one := range p.Receivers {
		r.addReceiver(f, fmt.Sprintf("receivers[%d]", i), one)
	}
	for i, one := range p.ERC20 {
		r.addCoin(f, fmt.Sprintf("erc20[%d]", i), one)
	}
	return r, f.All()
}

func readAddresses(f *faults.List, at string, texts []string) addresses {
	a := addresses{set: map[chain.Account]bool{}}
	for i, text := range texts {
		if text == anyWord {
			a.all = true
			continue
		}
		one, err := evm.ParseAddress(text)
		f.Add(err != nil, "%s[%d]: %.100q %v", at, i, text, err)
		a.set[one] = true
	}
	return a
}

// readOne reads an address, or the word any, for which it returns "".
func readOne(f *faults.List, at, text string) chain.Account {
	if text == anyWord {
		return ""
	}
	one, err := evm.ParseAddress(text)
	f.Add(err != nil, "%s: %.100q %v", at, text, err)
	return one
}

func (r *rules) addReceiver(f *faults.List, at string, one Receiver) {
	to := readOne(f, at+".to", one.To)
	may := r.receivers[to]
	if may.set == nil {
		may.set = map[evm.Selector]bool{}
	}
	may.plain = may.plain || len(one.Functions) == 0
	for i, text := range one.Functions {
		switch text {
		case anyWord:
			may.all = true
		case plainWord:
			may.plain = true
		default:
			s, err := evm.ParseSelector(text)
			f.Add(err != nil, "%s.functions[%d]: %.100q %v", at, i, text, err)
			f.Add(err == nil && evm.IsERC20(s), "%s.functions[%d]: %s moves coins, so it is allowed by erc20, which can limit how many", at, i, text)
			may.set[s] = true
		}
	}
	r.receivers[to] = may
}

func (r *rules) addCoin(f *faults.List, at string, one Coin) {
	contract := readOne(f, at+".contract", one.Contract)
	_, twice := r.coins[contract]
	f.Add(twice, "%s: %s has two entries: write one, with all receivers", at, one.Contract)
	f.Add(one.Contract == anyWord && (one.Amount != nil || one.AmountADay != nil), "%s: amounts of any contract cannot be limited, since each counts in another unit: name the contract", at)
	f.Add(len(one.To) == 0, "%s.to is missing: without a receiver, or %q, nobody may get coins", at, anyWord)
	r.coins[contract] = coin{one, readAddresses(f, at+".to", one.To)}
}

// stored returns the policy as the database has it.
func (r *rules) stored() (pgstore.Policy, error) {
	raw, err := json.Marshal(r.Policy)
	p := pgstore.Policy{Token: r.Token, Chain: r.Chain, Rules: raw}
	add := func(what string, most *Amount) {
		if most != nil {
			p.Limits = append(p.Limits, pgstore.Take{What: what, Amount: most.limit()})
		}
	}
	add(pgstore.OfCount, r.CountAMinute)
	add(pgstore.OfValue, r.ValueADay)
	add(pgstore.OfFee, r.FeeADay)
	for _, one := range r.ERC20 {
		contract, _ := evm.ParseAddress(one.Contract) // any has no limit
		add(contract.String(), one.AmountADay)
	}
	return p, err
}

// fromStore reads a policy of the database. One that a newer conch has written, and this one does not understand, is an error.
func fromStore(p pgstore.Policy) (*rules, error) {
	doc, err := readPolicy(bytes.NewReader(p.Rules))
	if err != nil {
		return nil, err
	}
	return doc.rules()
}
