package transactions

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// endpointAt serves a chain with ID 1 whose head is block 9. final is its answer for the final block,
// as a part of a JSON-RPC response, or several, of which the last is for all further questions.
func endpointAt(t *testing.T, final string) string {
	t.Helper()
	finals, asked := strings.Split(final, "|"), new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		type call struct {
			ID     json.RawMessage
			Method string
			Params []any
		}
		calls, batch := []call{}, json.Unmarshal(body, &[]call{}) == nil
		if one := new(call); batch {
			_ = json.Unmarshal(body, &calls)
		} else if json.Unmarshal(body, one) == nil {
			calls = append(calls, *one)
		}
		answers := []string{}
		for _, c := range calls {
			part := `"error":{"code":-32601,"message":"the method does not exist"}`
			switch {
			case c.Method == "eth_chainId":
				part = `"result":"0x1"`
			case c.Method == "eth_getBlockByNumber" && c.Params[0] == "latest":
				part = `"result":` + blockNine
			case c.Method == "eth_getBlockByNumber" && c.Params[0] == "finalized":
				part = finals[min(int(asked.Add(1)), len(finals))-1]
			}
			answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, c.ID, part))
		}
		text := strings.Join(answers, ",")
		if batch {
			text = "[" + text + "]"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

var (
	blockNine = blockOf(9)
	noTag     = `"error":{"code":-32602,"message":"invalid argument 0: hex string without 0x prefix"}`
)

func blockOf(number int) string {
	return fmt.Sprintf(`{"number":"0x%x","hash":"0x%064x","parentHash":"0x%064x","gasLimit":"0x1c9c380","baseFeePerGas":"0x7"}`, number, number, number-1)
}

// W1: a node does not start with an endpoint of which it is not known which blocks are final, and says
// which key helps. conch doctor says the same.
func TestAChainOfUnknownFinalityIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		final   string
		chain   Chain
		refused bool
	}{
		"no tag":                  {final: noTag, refused: true},
		"no tag and a depth":      {final: noTag, chain: Chain{Finality: 12}},
		"the head is final":       {final: `"result":` + blockNine, refused: true},
		"the head is to be final": {final: `"result":` + blockNine, chain: Chain{Instant: true}},
		"a final block":           {final: `"result":` + blockOf(5)},
		"an error for once":       {final: `"error":{"code":-32603,"message":"internal error"}|"result":` + blockOf(5)},
		"no final block yet":      {final: `"result":null`, chain: Chain{MinDepth: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.chain.Name, c.chain.Kind, c.chain.ChainID, c.chain.Endpoints[0].URL = "dev", KindEVM, 1, endpointAt(t, c.final)
			s := &service{frame: node.Frame{Log: slog.New(slog.DiscardHandler)}}
			err := s.compareChains(t.Context(), []Account{{Chain: c.chain}})
			if (err != nil) != c.refused || err != nil && (!strings.Contains(err.Error(), `chain "dev"`) || !strings.Contains(err.Error(), "set finality")) {
				t.Errorf("at the start: got error %v, want one that names the key: %v", err, c.refused)
			}
			section := &Section{chains: []Chain{c.chain}}
			for _, f := range examine(t.Context(), config.Config{Sections: []config.Section{section}}) {
				if f.Check != "chains" {
					continue
				}
				if (f.Status == doctor.Fail) != c.refused || c.refused && (!strings.Contains(f.Remedy, "finality") || !strings.Contains(f.Detail, `chain "dev"`)) {
					t.Errorf("doctor: got %+v, want a failure with a remedy: %v", f, c.refused)
				}
			}
		})
	}
}

// F13: a node does not start with a chain whose blocks have no base fee, and conch doctor says the same.
func TestALegacyChainIsRefused(t *testing.T) {
	t.Parallel()
	whole := endpointAt(t, `"result":`+blockOf(5))
	own := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // other tests close the idle connections of the default one
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, whole, r.Body)
		if err != nil {
			return
		}
		answer, err := own.Do(request)
		if err != nil {
			return
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(string(text), `,"baseFeePerGas":"0x7"`, ""))
	}))
	t.Cleanup(server.Close)
	c := Chain{Name: "dev", Kind: KindEVM, ChainID: 1}
	c.Endpoints[0].URL = server.URL
	s := &service{frame: node.Frame{Log: slog.New(slog.DiscardHandler)}}
	if err := s.compareChains(t.Context(), []Account{{Chain: c}}); err == nil || !strings.Contains(err.Error(), `chain "dev"`) || !strings.Contains(err.Error(), "no base fee") {
		t.Errorf("at the start: got error %v, want that there is no base fee", err)
	}
	found := examine(t.Context(), config.Config{Sections: []config.Section{&Section{chains: []Chain{c}}}})
	if f := found[0]; f.Status != doctor.Fail || !strings.Contains(f.Detail, "no base fee") || f.Remedy == "" {
		t.Errorf("doctor: got %+v, want a failure with a remedy", f)
	}
}
