package explorer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/sequencer/ledger"
)

// serving returns the URL of a chain that gives an answer to each question.
func serving(t *testing.T, answer func(method string, params []json.RawMessage) any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Method string
			Params []json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"result": answer(asked.Method, asked.Params)})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Each part has what is new, of this contract alone: what was sent twice would land once.
func TestATapeIsReadInParts(t *testing.T) {
	t.Parallel()
	one, want := given(1)
	_, other := given(2)
	spoken := receipt{TransactionHash: "0xt1", GasUsed: "0x64"}
	said(&spoken, want, landedEvent, want.Payload, want.Attempt)
	said(&spoken, other, skippedEvent, other.Payload, other.Attempt, hashOf(0).String())
	ours := transaction{Hash: "0xt1", To: place, Input: hexOf(submitted(t, ledger.Sent{Entries: []ledger.Entry{one}})), Gas: "0x5208"}
	head, blocks := "0x1", map[string]block{
		`"0x1"`: {Number: "0x1", Transactions: []transaction{{Hash: "0xt0", To: "0xother", Gas: "0x1"}, ours}},
		`"0x2"`: {Number: "0x2"},
		`"0x3"`: {Number: "0x3", Transactions: []transaction{ours}},
	}
	receipts := map[string][]receipt{`"0x1"`: {{TransactionHash: "0xt0", GasUsed: "0x1"}, spoken}, `"0x3"`: {spoken}}
	tape := NewTape(serving(t, func(method string, params []json.RawMessage) any {
		switch method {
		case "eth_blockNumber":
			return head
		case "eth_getBlockByNumber":
			return blocks[string(params[0])]
		}
		return receipts[string(params[0])]
	}), place)
	defer tape.Close()
	for _, want := range []int{1, 0, 1} {
		s, err := tape.Read(t.Context())
		if err != nil || len(s.Calls) != want || s.Said[auditor.Landed] != want || s.Said[auditor.Skipped] != want || s.Gas != uint64(100*want) {
			t.Fatalf("got %+v, %v; want %d calls", s, err, want)
		}
		if want > 0 && (s.Calls[0] != Call{Hash: "0xt1", To: place, Data: ours.Input, Gas: 21_000}) {
			t.Errorf("the call is %+v", s.Calls[0])
		}
		if want == 0 {
			head = "0x3"
		}
	}
	head, receipts[`"0x4"`] = "0x4", []receipt{}
	blocks[`"0x4"`] = block{Number: "0x4", Transactions: []transaction{ours}}
	if s, err := tape.Read(t.Context()); err == nil {
		t.Errorf("without receipts it reads %+v, want an error", s)
	}
}

// Another chain gets the same blocks at the same heights or above, where gas costs no more.
func TestATapeIsCopied(t *testing.T) {
	t.Parallel()
	from := serving(t, func(method string, params []json.RawMessage) any {
		switch method {
		case "eth_blockNumber":
			return "0x9"
		case "eth_getBlockByNumber":
			b := block{Number: strings.Trim(string(params[0]), `"`)}
			if n := string(params[0]); n == `"0x5"` || n == `"0x9"` {
				b.Transactions = []transaction{{Hash: n}}
			}
			return b
		}
		return fmt.Sprintf("raw %s", params)
	})
	var made []string
	to := serving(t, func(method string, params []json.RawMessage) any {
		if method == "eth_blockNumber" {
			return "0x6"
		}
		made = append(made, fmt.Sprintf("%s %s", method, params))
		return "0x0"
	})
	tape := NewTape(from, place)
	defer tape.Close()
	if err := tape.Copy(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	want := []string{`dev_block [["raw [\"\\\"0x5\\\"\"]"]]`, "dev_mine [\"0x2\"]", `dev_block [["raw [\"\\\"0x9\\\"\"]"]]`}
	if !slices.Equal(made, want) {
		t.Errorf("got %q, want %q", made, want)
	}
}
