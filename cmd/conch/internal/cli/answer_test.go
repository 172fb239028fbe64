package cli

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
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

// Each step is said once, also when the node starts again and begins a new story, or shows the last state alone.
func TestUnsaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		steps, said string
		away        bool
		want        string
	}{
		{"a b", "", false, "a b"},
		{"a b", "a", false, "b"},
		{"a b", "b", false, ""},
		{"a b", "b", true, "b"},
		{"a b c", "b", true, "c"},
		{"a b a", "a", false, ""},
		{"c", "b", false, "c"},
		{"", "b", true, ""},
	} {
		if got := unsaid(strings.Fields(c.steps), c.said, c.away); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("of %q after %q: got %q, want %q", c.steps, c.said, got, c.want)
		}
	}
}

// What was in this instant was now, and not 0s ago.
func TestAgo(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{-3: "now", 0: "now", 40: "40ms ago", 999: "999ms ago", 61234: "1m1.2s ago", 7200000: "2h0m0s ago"} {
		if got := Ago(ms); got != want {
			t.Errorf("%d ms: %q, want %q", ms, got, want)
		}
	}
}

// What the linker stamped comes first; then what the go command recorded. Nothing is made up.
func TestBuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stamped          Build
		recorded, commit string
		want             Build
	}{
		"by make":                         {Build{"v0.1.0-3-gabc", "abcdef012345"}, "(devel)", "", Build{"v0.1.0-3-gabc", "abcdef012345"}},
		"by make, of a clone":             {Build{"v0.1.0", "abcdef012345"}, "v0.1.1-0.20260301120000-ffffffffffff", "ffffffffffffffff", Build{"v0.1.0", "abcdef012345"}},
		"by make, without git":            {Build{"dev", ""}, "(devel)", "", Build{"dev", ""}},
		"of a released module":            {Build{}, "v0.1.0", "", Build{"v0.1.0", ""}},
		"of a release candidate":          {Build{}, "v0.1.0-rc.1", "", Build{"v0.1.0-rc.1", ""}},
		"of a commit":                     {Build{}, "v0.0.0-20260301120000-abcdef012345", "", Build{"v0.0.0-20260301120000-abcdef012345", ""}},
		"of a commit after a tag":         {Build{}, "v0.1.1-0.20260301120000-abcdef012345", "", Build{"v0.1.1-0.20260301120000-abcdef012345", ""}},
		"of a commit after a candidate":   {Build{}, "v0.1.0-rc.1.0.20260301120000-abcdef012345+dirty", "", Build{"v0.1.0-rc.1.0.20260301120000-abcdef012345+dirty", ""}},
		"in a clone":                      {Build{}, "v0.0.0-20260301120000-abcdef012345+dirty", "abcdef0123456789", Build{"v0.0.0-20260301120000-abcdef012345+dirty", "abcdef0123456789"}},
		"by hand, without what git knows": {Build{}, "(devel)", "", Build{"devel", ""}},
		"of nothing":                      {Build{}, "", "", Build{"devel", ""}},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.recorded}}
		if c.commit != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.commit}}
		}
		if got := c.stamped.recorded(info); got != c.want {
			t.Errorf("%s it is %+v, want %+v", name, got, c.want)
		}
	}
	if got := (Build{}).recorded(nil); got.Version != "devel" {
		t.Errorf("without a record it is %+v, want devel", got)
	}
}
