// Payout-go is a payout service: each payment once, within a limit, and nothing shipped for what the chain takes back. It was written from
// GET /v1/openapi.yaml alone. It keeps nothing: a payment's name is its idempotency key, so run it again with the same list after any end.
//
//	export CONCH_NODE=http://127.0.0.1:7070 CONCH_ACCOUNT=payer CONCH_TOKEN=…
//	go run ./examples/payout-go < payments.csv    # in each line a name, an address, an amount in wei, perhaps data and gas
//
// Each line of its output is a word, the payment's name and more: sent, paid, failed, refused, held until a limit is whole again, and back
// for a payment that the chain has taken back after it was final: stop what was begun for it, it ends anew. It follows each payment by
// requests that wait, until its input ends and each payment has.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// transaction has what is needed of an answer about one.
type transaction struct {
	Version uint64
	Outcome *string
	Hash    *string
	Why     string
	Revert  struct{ Reason, Unknown string } // one of the two
}

// problem is an answer that says no.
type problem struct {
	Status        int
	Title, Detail string
	Limit         struct{ Until string }
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

type request struct {
	Account string `json:"account"`
	To      string `json:"to"`
	Value   string `json:"value"`
	Data    string `json:"data,omitempty"`
	Gas     uint64 `json:"gas,omitempty"`
	Key     string `json:"idempotency_key"`
}

var (
	over   = make(chan struct{}) // closed when the input has ended
	failed atomic.Bool
)

func main() {
	var following sync.WaitGroup
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		name, id := pay(strings.Split(lines.Text(), ","))
		if id == "" {
			failed.Store(true)
			continue
		}
		say("sent", name, id)
		following.Go(func() {
			if !follow(name, id) {
				failed.Store(true)
			}
		})
	}
	close(over)
	if following.Wait(); failed.Load() {
		os.Exit(1)
	}
}

// pay sends a payment, unless its limit or its call says no; then its ID is empty.
func pay(line []string) (name, id string) {
	if len(line) < 3 {
		say("refused", line[0], "a line has a name, an address and an amount")
		return line[0], ""
	}
	body := request{Account: os.Getenv("CONCH_ACCOUNT"), Key: line[0], To: line[1], Value: line[2]}
	if len(line) > 3 {
		body.Data = line[3]
	}
	if len(line) > 4 {
		body.Gas, _ = strconv.ParseUint(line[4], 10, 64)
	}
	var dry struct {
		ID      *string
		Refusal *problem
		Works   *bool
		Reason  string
	}
	if err := ask(http.MethodPost, "/v1/transactions?dry_run=true", body, &dry); err != nil {
		return refused(body.Key, err)
	}
	if dry.Refusal != nil && dry.Refusal.Status != http.StatusTooManyRequests { // a count of the minute is waited for
		return refused(body.Key, dry.Refusal)
	}
	if dry.Works != nil && !*dry.Works && dry.ID == nil { // its fee would be lost
		say("refused", body.Key, "its call fails: "+dry.Reason)
		return body.Key, ""
	}
	var accepted struct{ ID string }
	if err := ask(http.MethodPost, "/v1/transactions", body, &accepted); err != nil {
		return refused(body.Key, err)
	}
	return body.Key, accepted.ID
}

// refused says why a payment was not accepted; one that exceeds a day's limit is accepted when that is whole again.
func refused(name string, no error) (string, string) {
	if p, is := no.(*problem); is && p.Limit.Until != "" { //nolint:errorlint // ask wraps nothing
		say("held", name, "until "+p.Limit.Until+" "+p.Detail)
	} else {
		say("refused", name, no.Error())
	}
	return name, ""
}

// follow says what becomes of a payment, until the input has ended and the payment too. It reports whether it was paid then.
func follow(name, id string) bool {
	path, outcome, version := "/v1/transactions/"+id, "", uint64(0)
	for query := ""; ; query = fmt.Sprintf("?wait=5s&until=any&version=%d", version) {
		var now transaction
		if err := ask(http.MethodGet, path+query, nil, &now); err != nil {
			say("failed", name, err.Error())
			return false
		}
		if now.Version > version { // another node may be asked, which must not take it back
			version, outcome = now.Version, told(name, outcome, now)
		}
		select {
		case <-over:
			if outcome != "" {
				return outcome == "succeeded"
			}
		default:
		}
	}
}

// told says how an outcome has changed, and returns it.
func told(name, before string, now transaction) (outcome string) {
	if now.Outcome != nil {
		outcome = *now.Outcome
	}
	if before != "" && outcome != before {
		say("back", name, "it was "+before)
	}
	switch outcome {
	case before, "":
	case "succeeded":
		say("paid", name, *now.Hash)
	default:
		say("failed", name, outcome+" "+now.Why+now.Revert.Reason+now.Revert.Unknown)
	}
	return outcome
}

var saying sync.Mutex

func say(word, name, more string) {
	saying.Lock()
	defer saying.Unlock()
	fmt.Println(word, name, more)
}

var client = http.Client{Timeout: 20 * time.Second}

// ask sends a request until the answer says yes or no. After any doubt it sends the same: with its key it is the same payment. What the
// minute's count does not allow waits for the next minute.
func ask(method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for {
		doubt, pause := once(method, path, text, into)
		if no, is := doubt.(*problem); doubt == nil || is && no.Status < 500 && no.Status != http.StatusTooManyRequests { //nolint:errorlint // as above
			return doubt
		}
		log.Printf("asked again in %s: %v", pause, doubt)
		time.Sleep(pause)
	}
}

func once(method, path string, body []byte, into any) (doubt error, pause time.Duration) { //nolint:revive,staticcheck // the error decides
	r, err := http.NewRequest(method, os.Getenv("CONCH_NODE")+path, bytes.NewReader(body)) //nolint:noctx // the client has a timeout
	if err != nil {
		log.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token := os.Getenv("CONCH_TOKEN"); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		return err, time.Second
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < 300 {
		return json.NewDecoder(answer.Body).Decode(into), time.Second
	}
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil {
		seconds = 1
	}
	no := &problem{}
	_ = json.NewDecoder(answer.Body).Decode(no)
	no.Status = answer.StatusCode
	return no, time.Duration(seconds) * time.Second
}
