package cli

import (
	"fmt"
	"net/http"
	"testing"
)

// What a refusal means for the exit code: 1 if it failed, 2 if the request was wrong or there is nothing to work with; and
// whether another attempt may succeed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	problem := func(name string) string {
		return fmt.Sprintf(`{"type":"urn:conch:problem:%s","title":"T","detail":"D"}`, name)
	}
	for _, c := range []struct {
		status        int
		text          string
		code          int
		passing, lost bool
	}{
		{status: http.StatusNotFound, text: problem("unknown-log"), code: 2},
		{status: http.StatusNotFound, text: problem("no-gossip"), code: 2},
		{status: http.StatusNotFound, text: problem("unknown-namespace"), code: 2},
		{status: http.StatusNotFound, text: problem("unknown-scope"), code: 2},
		{status: http.StatusNotFound, text: problem("no-files"), code: 2},
		{status: http.StatusNotFound, text: problem("unknown-contract"), code: 2},
		{status: http.StatusNotFound, text: problem("unknown-transaction"), code: 1},
		{status: http.StatusBadRequest, text: problem("bad-field"), code: 2},
		{status: http.StatusRequestEntityTooLarge, text: problem("too-large"), code: 2},
		{status: http.StatusConflict, text: problem("goal-conflict"), code: 1},
		{status: http.StatusServiceUnavailable, text: problem("busy"), code: 1, passing: true},
		{status: http.StatusTooManyRequests, text: problem("too-many-goals"), code: 1, passing: true},
		{status: http.StatusServiceUnavailable, text: problem("no-log-yet"), code: 2, passing: true},
		{status: http.StatusBadGateway, text: "<html>", code: 1, passing: true, lost: true},
		{status: http.StatusNotFound, text: "<html>", code: 1},
		{status: http.StatusRequestHeaderFieldsTooLarge, text: "431 Request Header Fields Too Large", code: 2},
	} {
		err := refusalOf(c.status, []byte(c.text))
		if _, code := explain(failure{err, Failed}); code != c.code || Passing(err) != c.passing || Unanswered(err) != c.lost {
			t.Errorf("%d %s: exit code %d, passing %v, unanswered %v: want %d, %v, %v", c.status, c.text, code, Passing(err), Unanswered(err), c.code, c.passing, c.lost)
		}
	}
}
