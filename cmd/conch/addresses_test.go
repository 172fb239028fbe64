//go:build unix

package main_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// A silent address before a living one is in nobody's way: not in a command's, not in a leader's, and not
// when the good one falls silent and the other comes back.
func TestASilentAddressBeforeALivingOne(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	first, _ := db.Proxy(t)
	second, through := db.Proxy(t)
	first.Blackhole(tcpproxy.Both)
	both, err := url.Parse(through)
	if err != nil {
		t.Fatal(err)
	}
	both.Host = first.Addr() + "," + both.Host
	both.RawQuery += "&target_session_attrs=read-write"
	for _, words := range [][]string{{"status"}, {"migrate", "status"}, {"history"}} {
		if r := conch(t, append([]string{"--db", both.String()}, words...)...); r.code != 0 {
			t.Errorf("%v ended with %d: %s", words, r.code, r.err)
		}
	}
	if f := judged(examined(t, both.String()), "addresses"); f.Status != "warn" || !strings.Contains(f.Detail, first.Addr()+": did not answer within") ||
		!strings.Contains(f.Detail, second.Addr()+": answers") {
		t.Errorf("doctor says %+v", f)
	}
	n := runner(t, "one", both.String(), "s")
	n.says("at work")
	first.Heal()
	second.Blackhole(tcpproxy.Both)
	pgtest.Eventually(t, patience, "it leads again over the other address", func() bool { return n.count("at work") > 1 })
}
