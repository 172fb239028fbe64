package logs

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/txlog"
)

// denials are the requests to the API that this node has refused, by why, since it was started, and those of goals that have failed since they
// take too many steps. They are safe for concurrent use.
type denials struct {
	mu sync.Mutex
	by map[string]uint64
}

const (
	deniedOther  = "malformed"
	deniedBudget = "budget"
)

// deniedBy are the reasons by which they are counted: a status each.
var deniedBy = map[int]string{
	http.StatusForbidden: "not-a-peer", http.StatusNotFound: "unknown-log", http.StatusConflict: "conflict", http.StatusGone: "old",
	http.StatusRequestEntityTooLarge: "size", http.StatusTooManyRequests: "too-many", http.StatusServiceUnavailable: "unavailable", http.StatusBadRequest: deniedOther,
}

func newDenials() *denials {
	d := &denials{by: map[string]uint64{deniedBudget: 0}}
	for _, reason := range deniedBy {
		d.by[reason] = 0
	}
	return d
}

// counts has what a handler refuses counted.
func (d *denials) counts(serve web.Handler) web.Handler {
	return func(w http.ResponseWriter, req *http.Request) error {
		err := serve(w, req)
		if err == nil || req.Context().Err() != nil { // the caller has gone: nobody is told
			return err
		}
		p := web.ProblemOf(req.Context(), err)
		reason, is := deniedBy[p.Status]
		switch {
		case strings.HasSuffix(p.Type, ":"+overBudget):
			reason = deniedBudget
		case !is:
			reason = deniedOther
		}
		d.count(reason)
		return err
	}
}

// fails has a goal counted that takes too many steps. It is answered: everybody has the entry that says so.
func (d *denials) fails(a txlog.Answer) {
	if errors.Is(txlog.FaultError(a.Fault), txlog.ErrBudget) {
		d.count(deniedBudget)
	}
}

func (d *denials) count(reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.by[reason]++
}

func (d *denials) now() map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.by)
}
