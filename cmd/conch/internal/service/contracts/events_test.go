package contracts

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Each stage of an intent is an event with its contract, id, key, time, block and attempt, as it is documented. Steps that are
// about how nodes agree are none.
func TestEventsOfStages(t *testing.T) {
	t.Parallel()
	doc := webtest.Read(t, openAPI)
	told := sequencer.Told{Contract: "0xc0", Sequence: ledger.Sequence{Lineage: 7, Counter: 1}, Key: "k", Moment: sequencer.Moment{At: time.Unix(1, 0), Event: "row stored"}}
	for stage, want := range map[string]string{
		"stored":     `{"at":"1970-01-01T00:00:01Z","contract":"0xc0","id":"` + openID + `","idempotency_key":"k","event":"stored","fate":"open"}`,
		"dispatched": "", "skipped": "", "rewound": "", "ending": "",
		"included":  `{"at":"1970-01-01T00:00:01Z","contract":"0xc0","id":"` + openID + `","idempotency_key":"k","event":"included","fate":"open","node":"north","attempt":"0xab00000000000000000000000000000000000000000000000000000000000000","block":8,"why":"why"}`,
		"confirmed": `{"at":"1970-01-01T00:00:01Z","contract":"0xc0","id":"` + openID + `","idempotency_key":"k","event":"confirmed","fate":"confirmed"}`,
		"reverted":  `{"at":"1970-01-01T00:00:01Z","contract":"0xc0","id":"` + openID + `","idempotency_key":"k","event":"reverted","fate":"reverted"}`,
	} {
		one := told
		one.Stage = stage
		if stage == "included" {
			one.With, one.Assembled, one.Block, one.Why = "n", ledger.Hash{0xab}, 8, "why"
		}
		data, err := json.Marshal(eventOf(one, names{"n": "north"}))
		if err != nil || want != "" && string(data) != want {
			t.Errorf("%s is %s, %v, want %s", stage, data, err, want)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		for _, f := range doc.Faults(stage, doc.At(doc.Root(), "components", "schemas", "ContractEvent"), v) {
			t.Error(f)
		}
	}
}

// A stream of a contract is for the process that leads, and for a contract that there is.
func TestEventsOfOneContract(t *testing.T) {
	t.Parallel()
	for _, x := range []exchange{
		{Name: "of another contract", Ask: "GET /v1/events?contract=0xC1", Status: 404, Want: "unknown-contract"},
		{Name: "another process leads", Given: elsewhere, Ask: "GET /v1/events?contract=0xC0", Status: 503, Want: "not-leading"},
	} {
		webtest.Answers(t, webtest.Read(t, openAPI), []exchange{x}, func(string) bool { return false }, newWorld, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
	}
	if address, err := newWorld().api.selects("0xC0"); address != "0xc0" || err != nil {
		t.Errorf("the contract is %q, %v, want it as it is configured", address, err)
	}
}

// What is no stage is not told. The end of the term is, and ends the streams of a contract: nothing is missed silently.
func TestATermIsTold(t *testing.T) {
	t.Parallel()
	cfg, err := configtest.Load(t, whole, config.Source{Sections: configtest.Beside(peers.Kind().Section, Kind().Section)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	board := web.NewBoard()
	s := open(node.Frame{Board: board, Log: slog.New(slog.DiscardHandler), Accounts: &node.Accounts{}}).(*service)
	section := *config.Of[*Section](cfg)
	address := declaration(section.contracts[0], 0).Address
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	webtest.Serve(t, webtest.Site(t, &webtest.Log{}, nil, func(c *web.Config) { c.Board = board }), ln)
	s.set(&term{section: section, node: new(sequencer.Node)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ln.Addr().String()+"/v1/events?contract="+strings.ToUpper(address), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := webtest.Client(t, &http.Transport{}).Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v, want a stream", answer, err)
	}
	defer func() { _ = answer.Body.Close() }()
	told := s.teller(section)
	told(sequencer.Told{Contract: address, Key: "k", Stage: "stored"})
	told(sequencer.Told{Contract: address, Key: "k", Moment: sequencer.Moment{Event: "offered"}})
	told(sequencer.Told{Contract: address, Key: "k", Stage: "confirmed"})
	s.set(nil)
	text, err := io.ReadAll(answer.Body)
	rest := string(text)
	for _, want := range []string{"event: contract", `"event":"stored"`, "event: contract", `"event":"confirmed"`, "event: gap", "does not run the contracts' node any more"} {
		_, after, found := strings.Cut(rest, want)
		if rest = after; !found {
			t.Errorf("%s is missing", want)
		}
	}
	if err != nil || strings.Contains(string(text), "offered") || strings.Count(string(text), "data: ") != 3 {
		t.Errorf("the stream has %s, %v, want the two stages and its end", text, err)
	}
}
