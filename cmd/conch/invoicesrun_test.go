//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
)

const officeToken = "0123456789abcdefghijklmnopqrstuv"

// run is one run of examples/invoices. Its outputs may be read once it is over.
type run struct {
	*proctest.Process
	out, log bytes.Buffer
}

func invoicesRun(t *testing.T, list string, nodes ...string) *run {
	t.Helper()
	example, err := proctest.Build("invoices", "../../examples/invoices")
	if err != nil {
		t.Fatal(err)
	}
	r := &run{}
	cmd := exec.Command(example)
	cmd.Env = append(os.Environ(), "CONCH_NODES="+strings.Join(nodes, ","), "CONCH_ACCOUNT=payer", "CONCH_TOKEN="+officeToken)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(list), &r.out, &r.log
	r.Process = proctest.Start(t, cmd)
	return r
}

// A list with any bad line is refused as a whole: an invoice without an id of its own would be paid twice.
func TestInvoiceListsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := "invoice-1," + nobodysAddress + ",1\n"
	for _, bad := range []string{
		"," + nobodysAddress + ",1\n", good, "invoice-2," + nobodysAddress[1:] + ",1\n", "invoice-2," + nobodysAddress + ",0\n",
		"invoice-2," + nobodysAddress + ",-1\n", "invoice-2," + nobodysAddress + ",1e18\n", "invoice-2," + nobodysAddress + "\n",
	} {
		r := invoicesRun(t, good+bad, "http://127.0.0.1:1")
		if code := r.Wait(patience); code != 1 || r.out.String() != "" || !strings.Contains(r.log.String(), "nothing was sent: ") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q; want 1 and that nothing was sent", bad, code, r.out.String(), r.log.String())
		}
	}
}

// doubtful is an API whose first answer about some invoices leaves it open what was done, and that says no to others.
type doubtful struct {
	mu    sync.Mutex
	asked map[string]int // number of requests by idempotency key, or by path
}

// ServeHTTP implements http.Handler.
func (d *doubtful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Account, To, Value string
		Key                string `json:"idempotency_key"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
	if body.Key == "" {
		body.Key = r.URL.Path
	}
	d.mu.Lock()
	d.asked[body.Key]++
	first := d.asked[body.Key] == 1
	d.mu.Unlock()
	status, answer := http.StatusAccepted, fmt.Sprintf(`{"id":"tx-%s"}`, body.Key)
	switch body.Key {
	case "/v1/transactions/tx-rejected":
		answer = `{"fate":"rejected","outcome":"rejected","why":"the chain does not take it","hash":null}`
	case "/v1/transactions/tx-failed":
		answer = `{"fate":"done","outcome":"reverted","hash":"0xfa11ed"}`
	case "taken":
		status, answer = http.StatusConflict, `{"detail":"another transaction has the key"}`
	default:
		switch {
		case r.Method == http.MethodGet && first:
			answer = `{"fate":"open"}`
		case r.Method == http.MethodGet:
			answer = `{"fate":"done","outcome":"succeeded","hash":"0xd0e"}`
		case first && body.Key == "busy":
			status, answer = http.StatusServiceUnavailable, `{"detail":"too many requests"}`
		case first && body.Key == "limited":
			status, answer = http.StatusTooManyRequests, `{}`
		case first && body.Key == "slow":
			status, answer = http.StatusRequestTimeout, `{}`
		case first && body.Key == "half":
			answer = answer[:5]
		case first && body.Key == "broken":
			panic(http.ErrAbortHandler) // break the connection
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(answer))
}

// After any doubt the same is asked again, and a no is final. What was not paid is named with its reason, and is not
// in the sum.
func TestInvoicesThatFail(t *testing.T) {
	t.Parallel()
	d := &doubtful{asked: map[string]int{}}
	api := httptest.NewServer(d)
	t.Cleanup(api.Close)
	var list strings.Builder
	for _, id := range []string{"taken", "rejected", "failed", "busy", "limited", "slow", "half", "broken"} {
		fmt.Fprintf(&list, "%s,%s,10\n", id, nobodysAddress)
	}
	r := invoicesRun(t, list.String(), api.URL, "http://127.0.0.1:1")
	code, said := r.Wait(longPatience), r.out.String()
	if code != 1 || !strings.HasSuffix(said, "\npaid 5 of 8 invoices, 50 of 80 wei\n") || strings.Count(said, ": NOT PAID: ") != 2 {
		t.Errorf("exit code %d, stdout %s, stderr %s; want 1, and 5 of 8 paid", code, said, &r.log)
	}
	for _, why := range []string{"taken, 10 wei to " + nobodysAddress + ": NOT KNOWN TO BE PAID: ", "another transaction has the key", "the chain does not take it", "0xfa11ed"} {
		if !strings.Contains(said, why) {
			t.Errorf("stdout is %s, want %q in it", said, why)
		}
	}
	for id, want := range map[string]int{"taken": 1, "rejected": 1, "failed": 1, "busy": 2, "limited": 2, "slow": 2, "half": 2, "broken": 2} {
		if d.asked[id] != want {
			t.Errorf("%s was asked for %d times, want %d", id, d.asked[id], want)
		}
	}
}
