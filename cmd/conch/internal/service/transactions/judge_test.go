package transactions

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending/pgstore"
)

const (
	me          = "0x0101010101010101010101010101010101010101"
	shopAddress = "0x00000000000000000000000000000000000000aa"
	market      = "0x00000000000000000000000000000000000000bb"
	dollar      = "0x00000000000000000000000000000000000000dd" // an ERC-20 contract
	thief       = "0x00000000000000000000000000000000000000ee"
)

// payout is a policy with every kind of limit.
const payout = `{"token":"payout","chain":"evm:1","accounts":["` + me + `"],
	"receivers":[{"to":"` + shopAddress + `"},{"to":"` + market + `","functions":["deposit()","0xac9650d8"]},{"to":"` + me + `"}],
	"erc20":[{"contract":"` + dollar + `","to":["` + shopAddress + `"],"amount":"500","amount_a_day":"900"}],
	"value":"100","value_a_day":"250","fee_a_day":"1000000","count_a_minute":"60"}`

func ruled(t *testing.T, text string) *rules {
	t.Helper()
	p, err := readPolicy(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func at(t *testing.T, text string) chain.Account {
	t.Helper()
	raw, err := chain.ParseHex(text)
	if err != nil {
		t.Fatal(err)
	}
	return chain.Account(raw)
}

// words is the data of a call: a selector, and its arguments as words.
func words(selector string, args ...string) string {
	for _, a := range args {
		a = strings.TrimPrefix(a, "0x")
		selector += strings.Repeat("0", 64-len(a)) + a
	}
	return selector
}

var unlimitedApproval = strings.Repeat("f", 64)

// What a policy says of each kind of call, without a look at what was spent before. C4.13: a multicall, even of a contract that may be called
// otherwise, needs a line of its own.
func TestWhatAPolicySays(t *testing.T) {
	t.Parallel()
	limited := ruled(t, payout)
	open := ruled(t, `{"token":"payout","chain":"evm:1","accounts":["any"],"receivers":[{"to":"any","functions":["any"]}],"erc20":[{"contract":"any","to":["any"]}],"creation":true}`)
	narrow := ruled(t, `{"token":"payout","chain":"evm:1","accounts":["any"],"receivers":[{"to":"`+dollar+`","functions":["any"]},{"to":"any"},{"to":"`+market+`","functions":["plain","deposit()"]}],"value_a_day":"9"}`)
	for _, c := range []struct {
		name     string
		by       *rules
		to       string
		value    int64
		data     string
		gas      uint64
		takes    string
		refuses  string // the limit
		mentions string
	}{
		{"a payment", limited, shopAddress, 100, "", 10, "count 1 value 100 fee 30", "", ""},
		{"nothing at all", limited, shopAddress, 0, "", 10, "count 1 fee 30", "", ""},
		{"more than a transaction may", limited, shopAddress, 101, "", 10, "", "value", "100"},
		{"to somebody else", limited, thief, 1, "", 10, "", "receivers", thief},
		{"to itself", limited, me, 7, "", 10, "count 1 value 7 fee 30", "", ""},
		{"a fallback", limited, shopAddress, 1, "01", 10, "", "receivers", "0x01"},
		{"a call of one who gets payments", limited, shopAddress, 0, words("d0e30db0"), 10, "", "receivers", "0xd0e30db0"},
		{"a function with a line, by its name", limited, market, 50, words("d0e30db0"), 10, "count 1 value 50 fee 30", "", ""},
		{"multicall with a line, by its bytes", limited, market, 0, words("ac9650d8", "20", "0"), 10, "count 1 fee 30", "", ""},
		{"an unknown selector", limited, market, 0, words("deadbeef"), 10, "", "receivers", "0xdeadbeef"},
		{"half a selector", limited, market, 0, "d0e30d", 10, "", "receivers", "0xd0e30d"},
		{"value alone to one with functions", limited, market, 1, "", 10, "", "receivers", market},
		{"multicall of a coin's contract", limited, dollar, 0, words("ac9650d8", "20", "0"), 10, "", "receivers", "0xac9650d8"},
		{"a transfer", limited, dollar, 0, words("a9059cbb", shopAddress, "1f4"), 10, "count 1 fee 30 " + dollar + " 500", "", ""},
		{"a transfer of nothing", limited, dollar, 0, words("a9059cbb", shopAddress, "0"), 10, "count 1 fee 30", "", ""},
		{"a transfer of too much", limited, dollar, 0, words("a9059cbb", shopAddress, "1f5"), 10, "", "erc20", "500"},
		{"a transfer to somebody else", limited, dollar, 0, words("a9059cbb", thief, "1"), 10, "", "erc20", thief},
		{"a transfer to itself, which is no receiver of coins", limited, dollar, 0, words("a9059cbb", me, "1"), 10, "", "erc20", me},
		{"a transfer of another coin", limited, market, 0, words("a9059cbb", shopAddress, "1"), 10, "", "erc20", market},
		{"a transfer with value", limited, dollar, 1, words("a9059cbb", shopAddress, "1"), 10, "", "erc20", "value"},
		{"a transfer with something behind", limited, dollar, 0, words("a9059cbb", shopAddress, "1") + "00", 10, "", "erc20", "65 bytes"},
		{"a transfer to what is no address", limited, dollar, 0, words("a9059cbb", "1"+strings.Repeat("0", 23)+shopAddress[2:], "1"), 10, "", "erc20", "something else"},
		{"an approval", limited, dollar, 0, words("095ea7b3", shopAddress, "1f4"), 10, "count 1 fee 30 " + dollar + " 500", "", ""},
		{"an unlimited approval", limited, dollar, 0, words("095ea7b3", shopAddress, unlimitedApproval), 10, "", "erc20", "500"},
		{"an approval of somebody else", limited, dollar, 0, words("095ea7b3", thief, "1"), 10, "", "erc20", thief},
		{"a transfer from another", limited, dollar, 0, words("23b872dd", thief, shopAddress, "9"), 10, "count 1 fee 30 " + dollar + " 9", "", ""},
		{"a transfer from itself to somebody else", limited, dollar, 0, words("23b872dd", shopAddress, thief, "9"), 10, "", "erc20", thief},
		{"without gas", limited, shopAddress, 1, "", 0, "", "fee_a_day", "how much gas"},
		{"a creation", limited, "", 0, "60", 10, "", "creation", "create"},
		{"a creation that is allowed", open, "", 5, "60", 0, "", "", ""},
		{"anything", open, thief, 1 << 60, "deadbeef", 0, "", "", ""},
		{"any coins to anybody", open, dollar, 0, words("095ea7b3", thief, unlimitedApproval), 0, "", "", ""},
		{"coins where only functions are allowed", narrow, dollar, 0, words("a9059cbb", shopAddress, "1"), 0, "", "erc20", dollar},
		{"any other function of it", narrow, dollar, 0, words("deadbeef"), 0, "", "", ""},
		{"value to anybody", narrow, thief, 9, "", 0, "value 9", "", ""},
		{"data to anybody", narrow, thief, 9, "deadbeef", 0, "", "receivers", "deadbeef"},
		{"a function beside plain", narrow, market, 1, words("d0e30db0"), 0, "value 1", "", ""},
	} {
		data, err := hex.DecodeString(c.data)
		if err != nil {
			t.Fatal(err)
		}
		w := wanted{account: at(t, me), call: chain.Call{Value: big.NewInt(c.value), Data: data, Gas: c.gas}, maxFee: big.NewInt(3)}
		if c.to != "" {
			w.call.To = []byte(at(t, c.to))
		}
		takes, no := c.by.judge(w)
		if got := strings.Trim(strings.NewReplacer("{", "", "}", "").Replace(fmt.Sprint(takes)), "[]"); no == nil && got != c.takes {
			t.Errorf("%s: takes %q, want %q", c.name, got, c.takes)
		}
		if (no != nil) != (c.refuses != "") || no != nil && (no.limit != c.refuses || !strings.Contains(no.text, c.mentions) || len(takes) > 0) {
			t.Errorf("%s: refused by %+v, want by %q, with %q", c.name, no, c.refuses, c.mentions)
		}
	}
	for _, c := range []struct{ ceiling, gas, fee int64 }{
		{0, 100_000, 300_000}, {2, 100_000, 200_000}, {5, 100_000, 300_000},
		{1, 21_000, 63_000}, {1, 63_000, 63_000}, {1, 63_001, 63_001}, // a cancellation may cost 21,000 times 3
	} {
		w := wanted{account: at(t, me), call: chain.Call{To: []byte(at(t, shopAddress)), Gas: uint64(c.gas)}, maxFee: big.NewInt(3)}
		if c.ceiling > 0 {
			w.ceiling = big.NewInt(c.ceiling)
		}
		if takes, no := limited.judge(w); no != nil || len(takes) != 2 || takes[1].Amount.Int64() != c.fee {
			t.Errorf("gas %d under the ceiling %d takes %v, %v; want a fee of %d", c.gas, c.ceiling, takes, no, c.fee)
		}
	}
	nothing := wanted{account: at(t, shopAddress), call: chain.Call{To: []byte(at(t, shopAddress)), Gas: 1}}
	if _, no := limited.judge(nothing); no == nil || no.limit != "accounts" {
		t.Errorf("another account: %+v, want a refusal", no)
	}
	nothing.account = at(t, me)
	if _, no := limited.judge(nothing); no == nil || !strings.Contains(no.text, "max_fee") {
		t.Errorf("an account without a highest fee: %+v, want a refusal", no)
	}
}

// A policy with a fault is refused whole, with all that is wrong with it: a limit with a wrong name would limit nothing.
func TestFaultsOfPolicies(t *testing.T) {
	t.Parallel()
	const whole = `{"token":"a","chain":"evm:1","accounts":["any"]%s}`
	for more, want := range map[string]string{
		`,"value_per_day":"1"`: `unknown field "value_per_day"`,
		`,"value":"1.5"`:       "no amount",
		`,"value":-1`:          "no amount",
		`,"value":"1 ether"`:   "no amount",
		`} {`:                  "something follows",
		`,"receivers":[{}]`:    "receivers[0].to",
		`,"receivers":[{"to":"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"}]`:                                               "checksum",
		`,"receivers":[{"to":"any","functions":"any"}]`:                                                                    "is no policy: receivers.functions is a text, and has to be an array",
		`,"receivers":[{"to":"any","functions":["pay"]}]`:                                                                  "is no function",
		`,"receivers":[{"to":"any","functions":["transfer(address,uint256)"]}]`:                                            "allowed by erc20",
		`,"receivers":[{"to":"any","functions":["0x095ea7b3"]}]`:                                                           "allowed by erc20",
		`,"erc20":[{"contract":"any","to":["any"],"amount":"1"}]`:                                                          "name the contract",
		`,"erc20":[{"contract":"` + dollar + `"}]`:                                                                         "erc20[0].to is missing",
		`,"erc20":[{"contract":"` + dollar + `","to":["any"]},{"contract":"` + dollar + `","to":["` + shopAddress + `"]}]`: "two entries",
		`,"erc20":[{"contract":"` + dollar + `","to":["` + shopAddress + `","0x1"]}]`:                                      "erc20[0].to[1]",
		`,"token":"two words","chain":"main","accounts":[]`:                                                                "accounts is missing",
	} {
		p, err := readPolicy(strings.NewReader(fmt.Sprintf(whole, more)))
		if err == nil {
			_, err = p.rules()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", more, err, want)
		}
	}
	if _, err := (Policy{}).rules(); err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("an empty policy has the faults %v, want three", err)
	}
}

// A policy comes back from the database as it was, and its limits are those that the database counts.
func TestAPolicyIsStored(t *testing.T) {
	t.Parallel()
	stored, err := ruled(t, payout).stored()
	if err != nil || stored.Token != "payout" || stored.Chain != "evm:1" || fmt.Sprint(stored.Limits) != "[{count 60} {value 250} {fee 1000000} {"+dollar+" 900}]" {
		t.Errorf("stored is %+v, %v", stored, err)
	}
	back, err := fromStore(stored)
	if err != nil || fmt.Sprint(back.Policy.Receivers) != fmt.Sprint(ruled(t, payout).Policy.Receivers) || back.FeeADay.String() != "1000000" {
		t.Errorf("it comes back as %+v, %v", back, err)
	}
	if _, err := fromStore(pgstore.Policy{Rules: []byte(`{"newer":1}`)}); err == nil {
		t.Error("a policy of a newer conch is applied in part")
	}
}
