package evm

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// NewKeystore makes a signer from a key, without the second that decrypting a file takes.
var NewKeystore = newKeystore

// Judge returns the verdict for an error.
var Judge = judge

// SetSignPatience sets how long one signature waits for a signer that throttles.
func SetSignPatience(x *External, wait time.Duration) { x.lull.patience = wait }

// SignPatience and CallPatience bound a signature by a service.
const (
	SignPatience = signPatience
	CallPatience = callPatience
)

// SetLinkPatience sets how long one look waits for the final block to be linked.
func SetLinkPatience(c *Chain, wait time.Duration) { c.linkPatience = wait }

// Status reads a binary receipt.
var Status = status

// Patience returns for how long a line may be silent, after heads with pauses before them and some lines that
// fell silent.
func Patience(c *Chain, heads []uint64, pause func(), silences int) time.Duration {
	for _, n := range heads {
		pause()
		c.pace.notice(n)
	}
	for range silences {
		c.pace.fellSilent()
	}
	return c.patience()
}

// Denials denies a line of one block three times, the third time after a pause, and reports whether each drops it.
func Denials(pause func()) (dropped [3]bool) {
	var l links
	for i := range dropped {
		if i == 2 {
			pause()
		}
		_ = l.thread.RiseTo(chain.Block{Number: 1, Hash: "1"}, nil) // one block needs no look
		l.denied()
		dropped[i] = l.thread.Newest().Hash == ""
	}
	return dropped
}

// KeepsDenied reports whether a line that is denied while it is lengthened is there again afterwards.
func KeepsDenied() bool {
	var l links
	_ = l.thread.RiseTo(chain.Block{Number: 9, Hash: "bad"}, nil)
	walk, drops := l.begin(9)
	l.denied()
	l.end(walk, drops, 9, nil, "")
	return l.thread.Newest().Hash == "bad"
}

// TakesNoMore lets the endpoint refuse calls for some time.
func TakesNoMore(c *Chain, after time.Duration) {
	c.endpoint.budget.NoteAnswers(&responseError{cause: errors.New("too many"), status: http.StatusTooManyRequests, waits: true, after: after}, nil)
}

// UrgencyOfSend is how urgent a Submit with this context is.
func UrgencyOfSend(ctx context.Context) budget.Urgency { return urgencyOfSend(ctx) }

// Ask makes a single call of an endpoint.
func Ask(ctx context.Context, url, method string) (answer string, err error) {
	e := newEndpoint(Config{URL: url, Timeout: 5 * time.Second, MaxAnswer: 1 << 20})
	defer e.close()
	err = e.call(ctx, &answer, method)
	return answer, err
}
