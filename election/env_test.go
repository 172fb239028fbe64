package election_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
)

// S27: every variable is read, an empty one changes nothing, and a typo is an error.
func TestWithEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"CONCH_INSTANCE_ID": "n1", "CONCH_LEADER_ENABLED": "false", "CONCH_LEASE_MS": "4000",
		"CONCH_HEARTBEAT_INTERVAL_MS": "500", "CONCH_HEARTBEAT_LATE_THRESHOLD_MS": "1200",
		"CONCH_ACQUIRE_BACKOFF_MS_MIN": "100", "CONCH_ACQUIRE_BACKOFF_MS_MAX": "300", "CONCH_EPOCH_STALE_THRESHOLD_MS": "9000",
	}
	get := func(name string) string { return env[name] }
	c, err := election.Config{}.WithEnv(get)
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	if c.ID != "n1" || !c.Follower || c.Lease != 4000*ms || c.Heartbeat != 500*ms || c.LateThreshold != 1200*ms ||
		c.BackoffMin != 100*ms || c.BackoffMax != 300*ms || c.StaleAfter != 9000*ms {
		t.Errorf("the environment gives %+v", c)
	}
	if c, err = (election.Config{Lease: time.Second}).WithEnv(func(string) string { return "" }); err != nil || c.Follower || c.Lease != time.Second {
		t.Errorf("an empty environment gives %+v, %v", c, err)
	}
	env = map[string]string{"CONCH_LEASE_MS": "3s", "CONCH_LEADER_ENABLED": "yes", "CONCH_ACQUIRE_BACKOFF_MS_MIN": "-1"}
	_, err = election.Config{}.WithEnv(get)
	for _, name := range []string{"CONCH_LEASE_MS", "CONCH_LEADER_ENABLED", "CONCH_ACQUIRE_BACKOFF_MS_MIN"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

// Each faulty configuration is refused, in words that name the fault (F10).
func TestFaultyConfigurations(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*election.Config){
		"Config.Mint is missing":             func(c *election.Config) { c.Mint = nil },
		"takeover \"often\" is none of":      func(c *election.Config) { c.Takeover = "often" },
		"BackoffMax 1s is below":             func(c *election.Config) { c.BackoffMin, c.BackoffMax = 2*time.Second, time.Second },
		"a Heartbeat of -1s is negative":     func(c *election.Config) { c.Heartbeat = -time.Second },
		"a CheckInterval of -1s is negative": func(c *election.Config) { c.CheckInterval = -time.Second },
		"a BackoffMin of -1s is negative":    func(c *election.Config) { c.BackoffMin = -time.Second },
		"a RetryMax of -1s is negative":      func(c *election.Config) { c.RetryMax = -time.Second },
		"a DrainTimeout of -1s is negative":  func(c *election.Config) { c.DrainTimeout = -time.Second },
		"scope \"s\" has two roles":          func(c *election.Config) { c.Roles = append(c.Roles, c.Roles[0]) },
		"a lease of -1s is not between":      func(c *election.Config) { c.Lease = -time.Second },
		"a heartbeat every 1s is too slow":   func(c *election.Config) { c.Lease, c.Heartbeat = 2*time.Second, time.Second },
		"late threshold must exceed":         func(c *election.Config) { c.LateThreshold = time.Millisecond },
		"a margin of -1s does not fit":       func(c *election.Config) { c.Margin = -time.Second },
		"a margin of 2s does not fit a lease": func(c *election.Config) {
			c.Lease, c.Margin, c.Heartbeat = 3*time.Second, 2*time.Second, 100*time.Millisecond
		},
		"lock timeout of 1h0m0s is not between":                                        func(c *election.Config) { c.LockTimeout = time.Hour },
		"the scope is empty":                                                           func(c *election.Config) { c.Roles[0].Scope = "" },
		`the scope "mailer " begins or ends with a space`:                              func(c *election.Config) { c.Roles[0].Scope = "mailer " },
		`the scope "mail\u200ber" is not valid text: nobody sees its character U+200B`: func(c *election.Config) { c.Roles[0].Scope = "mail\u200ber" },
		`looks the same as the usual one: write "café"`:                                func(c *election.Config) { c.Roles[0].Scope = "cafe\u0301" },
		`the scope ".." is a folder in every path`:                                     func(c *election.Config) { c.Roles[0].Scope = ".." },
		`the instance id " a" begins or ends with a space`:                             func(c *election.Config) { c.ID = " a" },
		"instance id \"a:b\"":                                                          func(c *election.Config) { c.ID = "a:b" },
	} {
		c := election.Config{Mint: electiontest.NewMemory(), ID: "a", Roles: []election.Role{{Scope: "s"}}}
		if err := c.Validate(); err != nil {
			t.Fatalf("Validate refused the defaults: %v", err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate returned %v, want an error that says %q", err, want)
		}
	}
}

// S3: a name has its parts, the host, the process and a random UUID, and no colon, which parts the words of a notification.
func TestIdentity(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(fmt.Sprintf(`^main-0x0a_1-[^:]+-%d-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, os.Getpid()))
	one, other := election.Identity("main", "0x0a:1"), election.Identity("main", "0x0a:1")
	if !form.MatchString(one) || !form.MatchString(other) || one == other {
		t.Errorf("got %q and %q, want two names of the form %v", one, other, form)
	}
}

// Names are printed on terminals, sent in notifications and stored. A name that could forge a line
// there or control a terminal is refused.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct{ scope, id bool }{
		"payments": {}, "storagehub:main:0xab:msp-leader": {id: true}, "zahlungen-ü": {}, "": {true, true},
		strings.Repeat("s", 200): {}, strings.Repeat("s", 201): {true, true},
		"a\nb": {true, true}, "a\x1b[2Jb": {true, true}, "a\x00b": {true, true}, "a\x7fb": {true, true},
		"a\u009bb": {true, true}, "a\xffb": {true, true},
		// In a database such a scope may be, and operators reach it; nobody is called so any more.
		"mailer ": {id: true}, "mail\u200ber": {id: true}, "..": {id: true}, "cafe\u0301": {id: true},
	} {
		if err := election.ValidScope(name); (err != nil) != bad.scope {
			t.Errorf("ValidScope(%q) = %v", name, err)
		}
		if err := election.ValidID(name); (err != nil) != bad.id {
			t.Errorf("ValidID(%q) = %v", name, err)
		}
	}
}
