package logs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
)

// queryOf returns a query of so many bytes. They are some that JSON may write as six.
func queryOf(size int) string {
	const around = `{"count":""}`
	return `{"count":"` + strings.Repeat("<", size-len(around)) + `"}`
}

// A query has 64 KiB at most, as the state machine takes it. A node reads no URL of that length, so the command asks in a body.
func TestALongQuery(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1")
	n := s.nodes["n1"].start()
	n.create("n1")
	pgtest.Eventually(t, nodetest.Patience, "n1 leads", func() bool { return n.status().Leads })
	d := n.door()
	for _, args := range [][]string{nil, {"--fresh"}} {
		c := d.run(append([]string{"query", "flags", queryOf(txlog.MostGoal)}, args...)...)
		pgtest.Within(t, nodetest.Patience, "the query is answered", func() {
			fresh := fmt.Sprintf(`"fresh":%v`, args != nil)
			if !c.out.Scan() || !strings.Contains(c.out.Text(), `"answer":{"count":0}`) || !strings.Contains(c.out.Text(), fresh) {
				t.Errorf("64 KiB with %q: %q, and it ends with %v", args, c.out.Text(), <-c.ended)
			}
		})
		more := d.run(append([]string{"query", "flags", queryOf(txlog.MostGoal + 1)}, args...)...)
		pgtest.Within(t, nodetest.Patience, "the query is refused", func() {
			if err := <-more.ended; err == nil || !strings.Contains(err.Error(), "a query of 65537 bytes, of 65536 at most") {
				t.Errorf("one byte more with %q ends with %v", args, err)
			}
		})
	}
	for size, want := range map[int]int{txlog.MostGoal: http.StatusOK, txlog.MostGoal + 1: http.StatusRequestEntityTooLarge} {
		for _, fresh := range []string{"", `,"fresh":true`} {
			code, text := n.asks(http.MethodPost, "/v1/logs/flags/state", `{"query":`+queryOf(size)+fresh+`}`)
			if code != want || code != http.StatusOK && !strings.Contains(text, `"type":"urn:conch:problem:too-large"`) {
				t.Errorf("a query of %d bytes%s: %d %.200s", size, fresh, code, text)
			}
		}
	}
	for _, rt := range n.svc.Routes() {
		if rt.Path == pathState && rt.Needs != web.ToRead {
			t.Errorf("%s %s changes nothing, and needs more than a read token", rt.Method, rt.Path)
		}
	}
	junk := d.run("query", "flags", "{")
	pgtest.Within(t, nodetest.Patience, "junk is refused", func() {
		if err := <-junk.ended; err == nil || !strings.Contains(err.Error(), "the query is no JSON") {
			t.Errorf("what is no query ends with %v", err)
		}
	})
}
