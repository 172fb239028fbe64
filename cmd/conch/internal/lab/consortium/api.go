//go:build unix

package consortium

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/nodeapi"
)

// answerMost is how long a customer waits for an answer before it asks again.
const answerMost = 5 * time.Second

// mostIdle is how many connections to a node are kept for the next requests.
const mostIdle = 64

// api is the HTTP API of one node, wherever it is at the time.
type api struct{ *nodeapi.Node }

// newAPI takes host:port, or unix: and a path.
func newAPI(listen string) *api { return &api{nodeapi.Listening(listen, mostIdle, answerMost)} }

// transaction is a transaction of a contract, as its node lists it.
type transaction struct {
	ID      string          `json:"id"`
	Key     string          `json:"idempotency_key"`
	Request json.RawMessage `json:"request"`
	Fate    string          `json:"fate"`
	Attempt *string         `json:"attempt"`
	Block   *uint64         `json:"block"`
}

const openFate = "open"

// list returns the transactions of a contract, the newest first; all of them, or one page.
func (a *api) list(ctx context.Context, contract string, all bool) (found []transaction, err error) {
	const page = 500
	for before := uint64(0); ; {
		path := fmt.Sprintf("/v1/contracts/%s/transactions?limit=%d", contract, page)
		if before > 0 {
			path += fmt.Sprintf("&before=%d", before)
		}
		var answer struct {
			Transactions []transaction `json:"transactions"`
			Next         uint64        `json:"next_before"`
		}
		if err := a.Ask(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return nil, err
		}
		found = append(found, answer.Transactions...)
		if before = answer.Next; before == 0 || !all {
			return found, nil
		}
	}
}

// status is what a node says of a contract.
type status struct {
	Head        uint64 `json:"head"`
	Final       uint64 `json:"final"`
	Coordinator string `json:"coordinator"`
	Missing     int    `json:"missing"`
}

// clock returns by how much the clock of the node's process is off, to the second: each answer has its time.
func (a *api) clock(ctx context.Context) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Base+"/v1/contracts", nil)
	if err != nil {
		return 0, err
	}
	answer, err := a.Client.Do(r)
	if err != nil {
		return 0, err
	}
	_ = answer.Body.Close()
	at, err := http.ParseTime(answer.Header.Get("Date"))
	return time.Until(at), err
}

func (a *api) status(ctx context.Context, contract string) (s status, err error) {
	err = a.Ask(ctx, http.MethodGet, "/v1/contracts/"+contract, nil, &s)
	return s, err
}
