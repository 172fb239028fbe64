package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
)

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
