package logs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
)

type exchange = webtest.Exchange[*testNode]

// Each route gives every answer that is documented, and no other. The node has a log with one member, itself, and one that
// nobody has made.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	n := s.nodes["n1"]
	n.more = "[[logs]]\nnamespace = \"routes\"\n"
	n.start()
	n.create("n1")
	pgtest.Eventually(t, nodetest.Patience, "n1 leads", func() bool { return n.status().Leads })
	spec := webtest.Read(t, openAPI)
	for _, seen := range []string{ // by TestRefusals
		"POST /v1/logs/{namespace}/goals 410", "POST /v1/logs/{namespace}/goals 429", "GET /v1/logs/{namespace}/entries 410", "POST /v1/logs/{namespace}/members 409",
		"POST /v1/logs/{namespace}/goals 403", "POST /v1/logs/{namespace}/members 403", "GET /v1/logs/{namespace}/state 429", "POST /v1/logs/{namespace}/state 429",
	} {
		spec.Seen(seen)
	}
	ours := func(operation string) bool { return strings.Contains(operation, pathLogs) }
	webtest.Answers(t, spec, answers(), ours, func() *testNode { return n }, func(t *testing.T, n *testNode) http.Handler { t.Helper(); return n.api })
}

func answers() []exchange {
	const (
		create, goals, state, changes = "POST /v1/logs", "POST /v1/logs/flags/goals", "GET /v1/logs/flags/state?", "POST /v1/logs/flags/members"
		long                          = "POST /v1/logs/flags/state"
		plain                         = "Content-Type: text/plain"
	)
	return []exchange{
		{Name: "all", Ask: "GET /v1/logs", Status: 200, Want: `"namespace":"routes","state":"waiting"`},
		{Name: "what to do about it", Ask: "GET /v1/logs/routes", Status: 200, Want: `conch log create makes one`},
		{Name: "made before", Ask: create, Body: `{"namespace":"flags","members":["n1"]}`, Status: 201, Want: `"machine":"kv/1"`},
		{Name: "with others", Ask: create, Body: `{"namespace":"flags","members":["n1","n2"]}`, Status: 409, Want: "log-exists"},
		{Name: "no JSON", Ask: create, Body: `{`, Status: 400, Want: "not what is documented"},
		{Name: "plain text", Ask: create, Body: "x", Header: plain, Status: 415},
		{Name: "not here", Ask: create, Body: `{"namespace":"other","members":["n1"]}`, Status: 404, Want: "unknown-log"},
		{Name: "without members", Ask: create, Body: `{"namespace":"routes"}`, Status: 422, Want: `"field":"members"`},
		{Name: "of strangers", Ask: create, Body: `{"namespace":"routes","members":["n7"]}`, Status: 422, Want: `\"n7\" is neither this node`},
		{Name: "with a lease that is too short", Ask: create, Body: `{"namespace":"routes","members":["n1"],"lease_ms":1}`, Status: 422, Want: `"detail":"lease_ms: 1 ms is not from 100 to 600000","field":"lease_ms"`},
		{Name: "with one that is too long", Ask: create, Body: `{"namespace":"routes","members":["n1"],"lease_ms":600001}`, Status: 422, Want: `"field":"lease_ms"`},
		{Name: "of no machine", Ask: create, Body: `{"namespace":"routes","members":["n1"],"machine":"sql"}`, Status: 422, Want: `"field":"machine"`},
		{Name: "of another machine than the configuration has", Ask: create, Body: `{"namespace":"routes","members":["n1"],"machine":"prolog"}`, Status: 422, Want: `this node's configuration says kv`},
		{Name: "with one who is away", Ask: create, Body: `{"namespace":"routes","members":["n1","n2"]}`, Status: 503, Want: "n2: it does not answer"},
		{Name: "one", Ask: "GET /v1/logs/flags", Status: 200, Want: `"leader":"n1","role":"leader","leads":true`},
		{Name: "another", Ask: "GET /v1/logs/other", Status: 404, Want: "unknown-log"},
		{Name: "done", Ask: goals, Body: `{"goal_id":"a","goal":{"op":"add","key":"n"}}`, Status: 200, Want: `"result":{"value":1}`},
		{Name: "done once", Ask: goals, Body: `{"goal_id":"a","goal":{"op":"add","key":"n"}}`, Status: 200, Want: `"result":{"value":1}`},
		{Name: "failed", Ask: goals, Body: `{"goal":{"op":"check","key":"n","expect":7}}`, Status: 200, Want: `"fault":"conflict: `},
		{Name: "not waited for", Ask: goals + "?wait=0", Body: `{"goal_id":"b","goal":{"op":"put","key":"b","value":1},"since":1}`, Status: 202, Want: `{"goal_id":"b","since":1}`},
		{Name: "waited for in other words", Ask: goals + "?wait=false", Body: `{"goal":{"op":"add","key":"n"}}`, Status: 400, Want: `"field":"wait"`},
		{Name: "with a since that is none", Ask: goals, Body: `{"goal":{"op":"add","key":"n"},"since":-1}`, Status: 400, Want: `since is -1, and has to be a whole number, 0 or more`},
		{Name: "with a since that the log does not have", Ask: goals, Body: `{"goal":{"op":"add","key":"n"},"since":999}`, Status: 422, Want: `"detail":"since: is 999, and the newest entry of the log is `},
		{Name: "no object", Ask: goals, Body: `[]`, Status: 400, Want: `the document is an array, and has to be an object`},
		{Name: "with the id of another in the header", Ask: goals, Body: `{"goal":{"op":"add","key":"m"}}`, Header: `Idempotency-Key: "a"`, Status: 409, Want: "goal-conflict"},
		{Name: "with two ids", Ask: goals, Body: `{"goal_id":"a","goal":{"op":"add","key":"m"}}`, Header: "Idempotency-Key: b", Status: 400, Want: "the field goal_id of the body"},
		{Name: "with the id of another", Ask: goals, Body: `{"goal_id":"a","goal":{"op":"add","key":"m"}}`, Status: 409, Want: "goal-conflict"},
		{Name: "with an id that is too long", Ask: goals, Body: fmt.Sprintf(`{"goal_id":%q,"goal":1}`, strings.Repeat("x", 129)), Status: 400, Want: `128 bytes","field":"goal_id"`},
		{Name: "too large", Ask: goals, Body: fmt.Sprintf(`{"goal":{"op":"put","key":"a","value":%q}}`, strings.Repeat("x", txlog.MostGoal)), Status: 413, Want: "65536"},
		{Name: "without a goal", Ask: goals, Body: `{}`, Status: 422, Want: `"field":"goal"`},
		{Name: "plain text", Ask: goals, Body: "x", Header: plain, Status: 415},
		{Name: "elsewhere", Ask: "POST /v1/logs/other/goals", Body: `{"goal":1}`, Status: 404, Want: "unknown-log"},
		{Name: "before there is a log", Ask: "POST /v1/logs/routes/goals", Body: `{"goal":1}`, Status: 503, Want: "no-log-yet"},
		{Name: "all", Ask: "GET /v1/logs/flags/entries", Status: 200, Want: `"goal_id":"a","goal":{"op":"add","key":"n"}`},
		{Name: "none yet", Ask: "GET /v1/logs/flags/entries?from=999&wait_ms=1", Status: 200, Want: `"entries":[]`},
		{Name: "with a word that is misspelt", Ask: "GET /v1/logs/flags/entries?form=3", Status: 400, Want: `"detail":"\"form\" is no parameter of GET /v1/logs/{namespace}/entries, which has from, limit, wait_ms","field":"form"`},
		{Name: "with half a word", Ask: "GET /v1/logs/flags/entries?from=%", Status: 400, Want: `the query of the URL cannot be read`},
		{Name: "from a word", Ask: "GET /v1/logs/flags/entries?from=x", Status: 400, Want: `"field":"from"`},
		{Name: "too many", Ask: "GET /v1/logs/flags/entries?limit=1001", Status: 400, Want: `"field":"limit"`},
		{Name: "waited for too long", Ask: "GET /v1/logs/flags/entries?wait_ms=60000", Status: 400, Want: `"field":"wait_ms"`},
		{Name: "elsewhere", Ask: "GET /v1/logs/other/entries", Status: 404, Want: "unknown-log"},
		{Name: "before there is a log", Ask: "GET /v1/logs/routes/entries", Status: 503, Want: "no-log-yet"},
		{Name: "read", Ask: state + `query={"get":"n"}`, Status: 200, Want: `"fresh":false,"answer":{"key":"n","value":1,"found":true}`},
		{Name: "read anew", Ask: state + `query={"get":"n"}&fresh=1`, Status: 200, Want: `"fresh":true,"answer":{"key":"n","value":1,"found":true}`},
		{Name: "read anew in other words", Ask: state + `query={"get":"n"}&fresh=true`, Status: 400, Want: `"field":"fresh"`},
		{Name: "no query", Ask: state + `query={"what":1}`, Status: 400, Want: `a query has no field \"what\"`},
		{Name: "without a query", Ask: state, Status: 422, Want: `"field":"query"`},
		{Name: "elsewhere", Ask: "GET /v1/logs/other/state?query={}", Status: 404, Want: "unknown-log"},
		{Name: "before there is a log", Ask: "GET /v1/logs/routes/state?query={}", Status: 503, Want: "no-log-yet"},
		{Name: "read", Ask: long, Body: `{"query":{"get":"n"}}`, Status: 200, Want: `"fresh":false,"answer":{"key":"n","value":1,"found":true}`},
		{Name: "read anew", Ask: long, Body: `{"query":{"get":"n"},"fresh":true}`, Status: 200, Want: `"fresh":true,"answer":{"key":"n","value":1,"found":true}`},
		{Name: "read anew in other words", Ask: long, Body: `{"query":{"get":"n"},"fresh":1}`, Status: 400, Want: `fresh is a number, and has to be true or false`},
		{Name: "no query", Ask: long, Body: `{"query":{"what":1}}`, Status: 400, Want: `a query has no field \"what\"`},
		{Name: "without a query", Ask: long, Body: `{}`, Status: 422, Want: `"field":"query"`},
		{Name: "too large", Ask: long, Body: `{"query":` + queryOf(txlog.MostGoal+1) + `}`, Status: 413, Want: "65536"},
		{Name: "plain text", Ask: long, Body: "x", Header: plain, Status: 415},
		{Name: "elsewhere", Ask: "POST /v1/logs/other/state", Body: `{"query":{}}`, Status: 404, Want: "unknown-log"},
		{Name: "before there is a log", Ask: "POST /v1/logs/routes/state", Body: `{"query":{}}`, Status: 503, Want: "no-log-yet"},
		{Name: "the same", Ask: changes, Body: `{"members":["n1"]}`, Status: 200, Want: `"index":`},
		{Name: "no JSON", Ask: changes, Body: `{`, Status: 400},
		{Name: "plain text", Ask: changes, Body: "x", Header: plain, Status: 415},
		{Name: "with a since that the log does not have", Ask: changes, Body: `{"members":["n1"],"since":999}`, Status: 422, Want: `"field":"since"`},
		{Name: "of nobody", Ask: changes, Body: `{"members":[]}`, Status: 422, Want: `"field":"members"`},
		{Name: "twice", Ask: changes, Body: `{"members":["n1","n1"]}`, Status: 422, Want: "twice"},
		{Name: "with one who is away", Ask: changes, Body: `{"members":["n1","n2"]}`, Status: 503, Want: "member-away"},
		{Name: "elsewhere", Ask: "POST /v1/logs/other/members", Body: `{"members":["n1"]}`, Status: 404, Want: "unknown-log"},
		{Name: "its begin", Ask: "GET /v1/logs/flags/genesis", Status: 200, Want: `"lease_ms":500`},
		{Name: "elsewhere", Ask: "GET /v1/logs/other/genesis", Status: 404, Want: "unknown-log"},
		{Name: "before there is a log", Ask: "GET /v1/logs/routes/genesis", Status: 503, Want: "no-log-yet"},
	}
}

// A goal whose id is new is not told to be old because this node's copy is: it is asked for again with what a member had signed
// before. Nothing else is a reason for that.
func TestANewGoalAtANodeFarBehind(t *testing.T) {
	t.Parallel()
	old := fmt.Errorf("so: %w", txlog.ErrOld)
	for _, c := range []struct {
		err   error
		known uint64
		want  uint64 // the index that it was made at
	}{{old, 20_000, 20_000}, {old, 7, 7}, {old, 3, 7}, {old, 0, 7}, {txlog.ErrUnknown, 20_000, 7}, {nil, 20_000, 7}} {
		g := tried{since: 7, ours: true, known: c.known}
		if is := g.renew(c.err); g.since != c.want || is != (c.want != 7) {
			t.Errorf("%v, and %d is known: it is asked again: %v, since %d", c.err, c.known, is, g.since)
		}
	}
}

// Once a try may have been taken, no later one says that nothing was done.
func TestAnUnknownTryStaysUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, then, want error }{
		{txlog.ErrUnknown, txlog.ErrTooMany, txlog.ErrUnknown},
		{quorum.ErrStopped, txlog.ErrTooMany, txlog.ErrUnknown},
		{txlog.NotLeaderError{}, txlog.ErrAway, txlog.ErrUnknown},
		{txlog.ErrUnknown, txlog.ErrChanging, txlog.ErrUnknown},
		{txlog.ErrUnknown, errBehind, txlog.ErrUnknown},
		{txlog.ErrUnknown, txlog.ErrBarred, txlog.ErrBarred}, // which is worth more than silence, and says that
		{errNotHere, txlog.ErrTooMany, txlog.ErrTooMany},
		{txlog.ErrUnknown, txlog.ErrGoalID, txlog.ErrGoalID},
		{txlog.ErrUnknown, nil, nil},
	} {
		var all tries
		if first := all.judge(c.first); !errors.Is(first, c.first) {
			t.Errorf("the first try's %v is %v", c.first, first)
		}
		got := all.judge(c.then)
		if !errors.Is(got, c.want) || errors.Is(got, c.then) != errors.Is(c.want, c.then) {
			t.Errorf("after %v, %v is %v", c.first, c.then, got)
		}
		if again := all.judge(txlog.ErrTooMany); c.want != nil && !errors.Is(c.first, errNotHere) && !errors.Is(again, txlog.ErrUnknown) {
			t.Errorf("it is forgotten: %v", again)
		}
	}
}

// Bad input: each error of a log is one problem, with a name that programs know.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		name   string
	}{
		{txlog.NotLeaderError{Leader: "n2", Term: 3}, 409, "not-leading"},
		{txlog.ErrGoalID, 409, "goal-conflict"},
		{txlog.ErrOld, 410, "goal-old"},
		{txlog.ErrTooMany, 429, "too-many-goals"},
		{quorum.ErrManyReads, 429, "too-many-reads"},
		{quorum.ErrLags, 503, "node-behind"},
		{txlog.ErrUnknown, 503, "unknown-outcome"},
		{txlog.ErrBarred, 403, "not-a-peer"},
		{quorum.ErrUnconfirmed, 503, "unknown-outcome"},
		{txlog.ErrChanging, 409, "members-change"},
		{txlog.ErrChanged, 409, "members-changed"},
		{txlog.ErrBudget, 422, "over-budget"},
		{txlog.ErrSize, 413, "too-large"},
		{txlog.ErrMalformed, 400, "malformed"},
		{goneBefore(store.ErrGone, 7), 410, "entries-gone"},
		{store.ErrClosed, 503, "log-down"},
		{quorum.ErrStopped, 503, "log-down"},
		{errNotHere, 503, "log-down"},
		{errBehind, 503, "node-behind"},
		{errNotMade, 503, "member-away"},
		{txlog.ErrAway, 503, "member-away"},
		{errExists, 409, "log-exists"},
		{txlog.ErrMembers, 422, "bad-field"},
		{errors.New("what nobody expects"), 503, "log-down"},
	} {
		p := web.ProblemOf(t.Context(), refusal(fmt.Errorf("so: %w", c.err)))
		if p.Status != c.status || c.name != "" && p.Type != "urn:conch:problem:"+c.name {
			t.Errorf("%v is %+v, want %d %s", c.err, p, c.status, c.name)
		}
	}
	for _, err := range []error{quorum.ErrUnconfirmed, quorum.ErrManyReads, quorum.ErrLags} {
		if p := web.ProblemOf(t.Context(), unseen(err)); p.Status != 503 || !strings.Contains(p.Detail, "nothing was done: ") || !strings.HasSuffix(p.Type, ":unknown-outcome") {
			t.Errorf("members are asked for, and %v: %+v", err, p)
		}
	}
	if p := web.ProblemOf(t.Context(), refusal(txlog.NotLeaderError{Leader: "n2"})); p.Holder != "n2" {
		t.Errorf("it names %q as the leader", p.Holder)
	}
	if p := web.ProblemOf(t.Context(), unknownGoal("x", 7, 6)); !strings.Contains(p.Detail, "knows of is 6: if that since is a mistake, ask with the same goal_id and a smaller one") {
		t.Errorf("with a since ahead: got %+v", p)
	}
	p := web.ProblemOf(t.Context(), unknownGoal("x", 7, 7))
	if p.Status != 503 || !strings.HasSuffix(p.Detail, `goal_id "x" and since 7, it is executed once, whatever has become of it`) {
		t.Errorf("got %+v", p)
	}
}
