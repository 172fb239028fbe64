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
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/internal/pg/pgtest"
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
			inTime(t, fmt.Sprintf("at the start it is refused, by an error that names the key: %v", c.refused), func() (bool, any) {
				err := s.compareChains(t.Context(), []Account{{Chain: c.chain}})
				return (err != nil) == c.refused && (err == nil || strings.Contains(err.Error(), `chain "dev"`) && strings.Contains(err.Error(), "set finality")), err
			})
			section := &Section{chains: []Chain{c.chain}}
			inTime(t, fmt.Sprintf("doctor calls it a failure, with a remedy: %v", c.refused), func() (bool, any) {
				f := findingOf(t, section)
				return (f.Status == doctor.Fail) == c.refused && (!c.refused || strings.Contains(f.Remedy, "finality") && strings.Contains(f.Detail, `chain "dev"`)), f
			})
		})
	}
}

// inTime looks until it is so: a node and doctor take an endpoint that answers late for one that does not answer, which beside other tests this one may do.
func inTime(t *testing.T, what string, is func() (ok bool, seen any)) {
	t.Helper()
	var last any
	defer func() {
		if t.Failed() {
			t.Logf("last seen: %+v", last)
		}
	}()
	pgtest.Eventually(t, time.Minute, what, func() (ok bool) { ok, last = is(); return ok })
}

// findingOf returns what doctor finds of the only endpoint of a section.
func findingOf(t *testing.T, section *Section) doctor.Finding {
	t.Helper()
	for _, f := range examine(t.Context(), config.Config{Sections: []config.Section{section}}) {
		if f.Check == "chains" {
			return f
		}
	}
	t.Fatal("doctor finds nothing of the chain")
	return doctor.Finding{}
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
	inTime(t, "at the start it is refused, since there is no base fee", func() (bool, any) {
		err := s.compareChains(t.Context(), []Account{{Chain: c}})
		return err != nil && strings.Contains(err.Error(), `chain "dev"`) && strings.Contains(err.Error(), "no base fee"), err
	})
	inTime(t, "doctor calls it a failure, with a remedy", func() (bool, any) {
		f := findingOf(t, &Section{chains: []Chain{c}})
		return f.Status == doctor.Fail && strings.Contains(f.Detail, "no base fee") && f.Remedy != "", f
	})
}
