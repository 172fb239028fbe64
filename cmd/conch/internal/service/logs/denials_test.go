package logs

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
)

// B21, bad input: what the API refuses is counted, by why; what it answers is not. Each reason is exported before it happens.
func TestRefusedRequestsAreCounted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1")
	s.start("n1")
	n := s.nodes["n1"]
	n.create("n1")
	n.put("a", 1)
	if all := n.svc.denied.now(); len(all) != 9 || n.metric("requests_refused_total") != 0 {
		t.Fatalf("before anything is refused there is %v", all)
	}
	large := fmt.Sprintf(`{"goal":{"op":"put","key":"a","value":%q}}`, strings.Repeat("x", txlog.MostGoal))
	for i, c := range []struct{ method, path, body, reason string }{
		{http.MethodGet, "/v1/logs/other", "", "unknown-log"},
		{http.MethodPost, "/v1/logs/flags/goals", large, "size"},
		{http.MethodPost, "/v1/logs/flags/goals", strings.Repeat("x", 3*txlog.MostGoal), "size"},
		{http.MethodPost, "/v1/logs/flags/goals", "{}", "malformed"},
		{http.MethodPost, "/v1/logs", `{"namespace":"flags","members":["n2"]}`, "conflict"},
		{http.MethodGet, "/v1/logs/flags/entries?from=x", "", "malformed"},
	} {
		before := n.svc.denied.now()[c.reason]
		code, text := n.asks(c.method, c.path, c.body)
		if now := n.svc.denied.now()[c.reason]; now != before+1 || n.metric("requests_refused_total") != float64(i+1) {
			t.Errorf("%d %s: %s was counted %d times, now %d", code, text, c.reason, before, now)
		}
	}
}

// What takes too many steps is counted as such: a query that is refused, and a goal that is in the log as failed. Goals and queries of kv end
// before that.
func TestWhatIsOverBudgetIsCounted(t *testing.T) {
	t.Parallel()
	d := newDenials()
	query := d.counts(func(http.ResponseWriter, *http.Request) error { return refusal(txlog.ErrBudget) })
	if err := query(nil, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/logs/flags/state?query=loop", http.NoBody)); err == nil {
		t.Error("the query is not refused")
	}
	if n := d.now()["budget"]; n != 1 {
		t.Errorf("a query over its budget is counted %d times", n)
	}
	for _, fault := range []string{txlog.RunWithin(kv.New(), []byte(`{"op":"add","key":"n"}`), 1).Fault, "", "conflict: a is 1", "too many steps in this dance"} {
		d.fails(txlog.Answer{Fault: fault})
	}
	if n := d.now()["budget"]; n != 2 {
		t.Errorf("with a goal it is counted %d times", n)
	}
}
