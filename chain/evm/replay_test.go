package evm_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// word is 32 bytes in hexadecimal digits, with a number at the end.
func word(n string) string { return strings.Repeat("0", 64-len(n)) + n }

// revertData is a contract's Error(string), as it comes.
func revertData(text string) string {
	digits := hex.EncodeToString([]byte(text))
	size := hex.EncodeToString([]byte{byte(len(text) >> 8), byte(len(text))})
	return "0x08c379a0" + word("20") + word(size) + digits + strings.Repeat("0", (64-len(digits)%64)%64)
}

// Why a call fails is read from the data of the node's error, or else from its words. What says nothing
// about the call is no reason.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		says any
		want string // with ! before it: an error with that in it
	}{
		{"a reason", dataError{fault{3, "execution reverted: no money"}, revertData("no money")}, "no money"},
		{"a reason without data", fault{3, "execution reverted: no money"}, "execution reverted: no money"},
		{"no reason", dataError{fault{3, "execution reverted"}, "0x"}, "execution reverted"},
		{"a panic", dataError{fault{3, "execution reverted"}, "0x4e487b71" + word("11")}, "arithmetic underflow or overflow"},
		{"a custom error", dataError{fault{3, "execution reverted"}, "0xcf479181" + word("5") + word("7")}, "custom error 0xcf479181" + word("5") + ", of 68 bytes"},
		{"a broken reason", dataError{fault{3, "execution reverted"}, "0x08c379a0" + word("ffffffffffffffff")}, "custom error 0x08c379a0" + word("ffffffffffffffff") + ", of 36 bytes"},
		{"data that are none", dataError{fault{3, "execution reverted: a"}, "zz"}, "execution reverted: a"},
		{"too little gas", errors.New("out of gas"), "out of gas"},
		{"it does not fail", "0x", ""},
		{"a state that is gone", errors.New("missing trie node 1234"), "!missing trie node"},
		{"a limit", fault{-32005, "too many requests"}, "!too many requests"},
		{"no answer", errNoAnswer, "!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(method string, params []json.RawMessage) any {
				if method != "eth_call" {
					return healthy(method, params)
				}
				if got := string(params[0]) + string(params[1]); got != `{"from":"0x0101010101010101010101010101010101010101","gas":"0x11170","input":"0x05"}"0x8"` {
					return errors.New("asked for " + got)
				}
				return c.says
			})
			why, err := open(t, evm.Config{ChainID: 1337, URL: url}).Replay(t.Context(), chain.Account(strings.Repeat("\x01", 20)), chain.Call{Data: []byte{5}, Gas: 70_000}, 8)
			want, fails := strings.CutPrefix(c.want, "!")
			if fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && why != want {
				t.Errorf("got %q, %v, want %q", why, err, c.want)
			}
		})
	}
}
