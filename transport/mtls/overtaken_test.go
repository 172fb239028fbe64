package mtls

import (
	"log/slog"
	"testing"

	"github.com/conchhq/conch/transport"
)

// A peer claims something just after it has answered with its hello, and says so over its own connection, which may arrive
// first. The answer does not take that back: nothing would come after it.
func TestAnOlderAnswerTakesNoClaimBack(t *testing.T) {
	t.Parallel()
	p := newPeer("a", "", Config{Log: slog.New(slog.DiscardHandler)})
	claimed := func(value string) hello {
		return hello{claims: map[string]transport.Claims{"s": {"contract": []byte(value)}}}
	}
	link := &conn{}
	for _, step := range []struct {
		name, want string
		do         func()
	}{
		{"an answer comes first", "one", func() { p.reached(claimed("one")) }},
		{"its own connection", "two", func() { p.heard(link, claimed("two")) }},
		{"an older answer", "two", func() { p.reached(claimed("one")) }},
		{"its connection has ended", "two", func() { p.unheard(link) }},
		{"the next answer", "three", func() { p.reached(claimed("three")) }},
	} {
		step.do()
		if got := string(p.claims["s"]["contract"]); got != step.want {
			t.Errorf("%s: %q counts, want %q", step.name, got, step.want)
		}
	}
}
