package nearest

import "testing"

// The name that is meant may be one of which the typed word is a part, and otherwise it is one that differs in few letters.
func TestTo(t *testing.T) {
	t.Parallel()
	goal := []string{"db", "goal-id", "json", "log-format", "log-level", "no-wait", "node", "since", "token-file"}
	for _, c := range []struct {
		key  string
		know []string
		want string
	}{
		{"id", goal, "goal-id"},
		{"token", goal, "token-file"},
		{"wait", goal, "no-wait"},
		{"goal_id", goal, "goal-id"},
		{"nodes", goal, "node"},
		{"sinc", goal, "since"},
		{"log", goal, "log-level"}, // the nearest of several
		{"d", goal, "db"},
		{"format", []string{"log_format", "forma"}, "log_format"},
		{"ode", []string{"node-a", "ode-of-nodes"}, "ode-of-nodes"}, // a part is whole words
		{"unheard", goal, ""},
		{"", goal, "db"},
	} {
		if got := To(c.key, c.know); got != c.want {
			t.Errorf("%q is taken for %q, want %q", c.key, got, c.want)
		}
	}
}
