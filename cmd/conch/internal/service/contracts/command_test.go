package contracts

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// runs runs conch contract, and returns what it prints.
func runs(t *testing.T, asJSON bool, args ...string) (out string, err error) {
	t.Helper()
	out, _, err = speaks(t, asJSON, args...)
	return out, err
}

// speaks is runs, with what it says on stderr.
func speaks(t *testing.T, asJSON bool, args ...string) (out, said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := (&shell{&cli.Shell{World: cli.World{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }}, JSON: asJSON}}).contract()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func member(name string, n int) string { return fmt.Sprintf("%s=0x%040x", name, n) }

// What is wrong about a command is said before any node is asked.
func TestUsage(t *testing.T) {
	t.Parallel()
	deploy := func(more ...string) []string {
		return append([]string{"deploy", "--account", "ops", "--issuer", "bank", "--member", member("bank", 1), "--member", member("north", 2)}, more...)
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"needs one of deploy, show, send, list, cancel", nil},
		{"unknown", []string{"remove"}},
		{"the address of one contract, or nothing", []string{"list", "0xc0", "0xc1"}},
		{"--limit is for the transactions of a contract", []string{"list", "--limit", "3"}},
		{"the address of a contract and the ID of a transaction", []string{"cancel", "0xc0"}},
		{"drain takes the address of one contract", []string{"drain"}},
		{"the address of a contract", []string{"show"}},
		{"the address of a contract", []string{"show", "a", "b", "c"}},
		{"name its ID too", []string{"show", "0xc0", "--wait"}},
		{"the address of one contract", []string{"send"}},
		{"--request is no JSON", []string{"send", "0xc0"}},
		{"--request is no JSON", []string{"send", "0xc0", "--request", "{pay}"}},
		{"needs --account", []string{"deploy", "--member", member("bank", 1)}},
		{"--member bank is not a name", []string{"deploy", "--account", "ops", "--member", "bank"}},
		{"with these digits it is 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", []string{"deploy", "--account", "ops", "--member", "bank=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"}},
		{"it has 38 digits after 0x", []string{"deploy", "--account", "ops", "--member", member("bank", 1)[:45]}},
		{"--member =0x", []string{"deploy", "--account", "ops", "--member", member("", 1)}},
		{`"west" is not among the members`, deploy("--committee", "bank,west")},
		{`"west" is not among the members`, deploy("--issuer", "west")},
		{`--endorsement is "all" or a number`, deploy("--endorsement", "most")},
		{"3 endorsements of 2 members", deploy("--endorsement", "3")},
		{"needs an issuer", []string{"deploy", "--account", "ops", "--member", member("bank", 1)}},
		{"slots/1", deploy("--domain", "slots/1")},
		{"life", deploy("--life", "2")},
		{"twice", deploy("--member", member("east", 2))},
	} {
		out, err := runs(t, false, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.says) || out != "" {
			t.Errorf("%v: %v, printed %q; want an error with %q", c.args, err, out, c.says)
		}
	}
}

func TestEachHelpHasAnExample(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "deploy", "show", "send", "list", "cancel", "drain"} {
		out, err := runs(t, false, append(strings.Fields(name), "--help")...)
		if err != nil || !strings.Contains(out, "Examples:\n  conch contract ") {
			t.Errorf("the help of %q has no example: %v\n%s", name, err, out)
		}
	}
}

const (
	oneContract    = `{"address":"0xc0","chain":"main","domain":"notes/1","endorsements":1,"warning":"no majority","head":12,"final":10,"range":3,"range_size":100,"coordinator":"north","next_coordinator":"bank","open":{"accepted":2},"coordinating":{"endorsing":4},"landed":12,"skipped":{"expired":1,"missing":2},"unsigned":"it is damaged","waits":"account \"ops\": no money","nudges":6,"members":[{"name":"bank","account":"0x62","this_node":true,"final":10},{"name":"north","account":"0x6e","final":9,"heard_at":"1970-01-01T00:00:05Z","signs_wrongly":true,"lands_nothing":true}]}`
	unreadContract = `{"address":"0xc2","chain":"far","domain":"notes/1","endorsements":1,"head":null,"final":null,"unread":"it rains","range":null,"range_size":100,"coordinator":null,"next_coordinator":null,"open":{},"coordinating":{},"members":[{"name":"bank","account":"0x62","this_node":true,"final":null}]}`
	oneTold        = `{"id":"07","contract":"0xc0","idempotency_key":"invoice-17","request":{"pay":1},"fate":"%s","why":"%s","attempt":"0xaa","block":7,"accepted_at":"1970-01-01T00:00:05Z","story":[{"at":"1970-01-01T00:00:05Z","state":"noting","event":"dispatched","node":"north","endorsers":["bank","north"],"block":7,"why":"it rains"}]}`
)

// aNode answers as a node does. The second look at the transaction sees its end.
func aNode(t *testing.T, fate, why string) *httptest.Server {
	t.Helper()
	looks := 0
	routes := http.NewServeMux()
	answer := func(pattern string, code int, text func() string) {
		routes.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, text())
		})
	}
	answer("GET /v1/contracts/0xc2", http.StatusOK, func() string { return unreadContract })
	answer("POST /v1/contracts/0xc2/transactions", http.StatusServiceUnavailable, func() string {
		return `{"type":"urn:conch:problem:not-leading","title":"Not leading","detail":"has stored nothing"}`
	})
	answer("GET /v1/contracts", http.StatusOK, func() string { return `{"contracts":[` + oneContract + "," + unreadContract + `]}` })
	answer("GET /v1/contracts/0xc0", http.StatusOK, func() string { return oneContract })
	answer("POST /v1/contracts/0xc0/transactions", http.StatusAccepted, func() string { return `{"id":"07","fate":"open"}` })
	answer("GET /v1/contracts/0xc0/transactions", http.StatusOK, func() string {
		return `{"transactions":[` + fmt.Sprintf(oneTold, "confirmed", "") + "," + strings.Replace(fmt.Sprintf(oneTold, "open", ""), `"block":7,"acc`, `"block":null,"acc`, 1) + `]}`
	})
	answer("POST /v1/contracts/0xc0/transactions/07/cancel", http.StatusAccepted, func() string { return fmt.Sprintf(oneTold, "open", "") })
	answer("POST /v1/contracts/0xc0/drain", http.StatusOK, func() string { return strings.Replace(oneContract, `"waits"`, `"drained":true,"waits"`, 1) })
	answer("POST /v1/contracts/0xc0/undrain", http.StatusOK, func() string { return oneContract })
	answer("GET /v1/contracts/0xc0/transactions/07", http.StatusOK, func() string {
		if looks++; looks == 1 && fate != "open" {
			return fmt.Sprintf(oneTold, "open", "")
		}
		return fmt.Sprintf(oneTold, fate, why)
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return server
}

// What a node answers is printed for people, or with --json as it came.
func TestWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fate, why string
		json            bool
		args            []string
		says            []string // of stdout
		fails           string
	}{
		{"list", "open", "", false, []string{"list"}, []string{"ADDRESS", "SKIPPED", "0xc0", "main", "notes/1", "12 3 2 accepted"}, ""},
		{"list, as JSON", "open", "", true, []string{"list"}, []string{`"address":"0xc0"`}, ""},
		{"a contract", "open", "", false, []string{"show", "0xc0"}, []string{"head 12, final 10", "by 1 of 2 members", "no majority", "north, then bank", "2 accepted", "4 endorsing", `waits        account "ops": no money`, "landed 12", "skipped 3: 1 expired, 2 missing", "cannot sign it is damaged", "bank (this node)", "north (SIGNS WRONGLY: it is left out) (LANDS NOTHING: it is left out)"}, ""},
		{"a contract, as JSON", "open", "", true, []string{"show", "0xc0"}, []string{`"next_coordinator":"bank"`}, ""},
		{"a transaction", "open", "", false, []string{"show", "0xc0", "07"}, []string{"invoice-17", "fate     open", "dispatched, with north, endorsed by bank, north, block 7: it rains"}, ""},
		{"a transaction, as JSON", "open", "", true, []string{"show", "0xc0", "07"}, []string{`"idempotency_key":"invoice-17"`}, ""},
		{"its end", "confirmed", "", false, []string{"show", "0xc0", "07", "--wait"}, []string{"fate     confirmed"}, ""},
		{"a bad end", "reverted", "cancelled", false, []string{"show", "0xc0", "07", "--wait"}, []string{"fate     reverted"}, "the transaction was reverted: cancelled"},
		{"sent", "open", "", false, []string{"send", "0xc0", "--request", "{}"}, []string{"07\n"}, ""},
		{"sent, as JSON", "open", "", true, []string{"send", "0xc0", "--request", "{}"}, []string{`"id":"07"`}, ""},
		{"sent and confirmed", "confirmed", "", false, []string{"send", "0xc0", "--request", "{}", "--wait"}, []string{"fate     confirmed"}, ""},
		{"sent and reverted", "reverted", "poor", false, []string{"send", "0xc0", "--request", "{}", "--wait"}, []string{"fate     reverted"}, "poor"},
		{"one that is not read", "open", "", false, []string{"show", "0xc2"}, []string{"chain far domain", "not read it rains range of 100 blocks MEMBER"}, ""},
		{"list of one that is not read", "open", "", false, []string{"list"}, []string{"0xc2 far notes/1 1 not read yet 0 0 -"}, ""},
		{"its transactions", "open", "", false, []string{"list", "0xc0"}, []string{"ID KEY FATE BLOCK ACCEPTED REQUEST 07 invoice-17 confirmed 7 1970", `07 invoice-17 open - 1970`, `{"pay":1}`}, ""},
		{"its transactions, as JSON", "open", "", true, []string{"list", "0xc0", "--limit", "9"}, []string{`"idempotency_key":"invoice-17"`}, ""},
		{"cancelled", "open", "", false, []string{"cancel", "0xc0", "07"}, []string{"id 07", "fate open"}, ""},
		{"cancelled, as JSON", "open", "", true, []string{"cancel", "0xc0", "07"}, []string{`"fate":"open"`}, ""},
		{"drained", "open", "", false, []string{"drain", "0xc0"}, []string{"drained this node coordinates it no more"}, ""},
		{"undrained", "open", "", true, []string{"drain", "0xc0", "--undo"}, []string{`"next_coordinator":"bank"`}, ""},
		{"another contract", "open", "", false, []string{"show", "0xc1"}, nil, "404"},
	} {
		server := aNode(t, c.fate, c.why)
		out, err := runs(t, c.json, append(c.args, "--node", server.URL)...)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v, want %q", c.name, err, c.fails)
		}
		flat := strings.Join(strings.Fields(out), " ")
		for _, part := range c.says {
			if !strings.Contains(out, part) && !strings.Contains(flat, part) && !strings.Contains(strings.ReplaceAll(flat, `": `, `":`), part) {
				t.Errorf("%s printed %s\nwant %q", c.name, out, part)
			}
		}
	}
	out, said, err := speaks(t, false, "send", "0xc0", "--request", "{}", "--wait", "--node", aNode(t, "confirmed", "").URL)
	if err != nil || strings.Count(out, "dispatched, with north") != 0 || strings.Count(said, "07 ") != 1 || strings.Count(said, "dispatched, with north") != 1 {
		t.Errorf("a wait printed %s and said %s, %v, want each step once", out, said, err)
	}
	// A node that says that it has stored nothing leaves no doubt.
	_, err = runs(t, false, "send", "0xc2", "--request", "{}", "--node", aNode(t, "open", "").URL)
	if err == nil || err.Error() != "has stored nothing" {
		t.Errorf("a refusal that says that nothing was stored is reported as: %v", err)
	}
	mute := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer mute.Close()
	out, err = runs(t, false, "send", "0xc0", "--request", "{}", "--key", "mine", "--node", mute.URL)
	if err == nil || !strings.Contains(err.Error(), "--key mine") || out != "" {
		t.Errorf("without an answer: %v, want how to ask again", err)
	}
}
