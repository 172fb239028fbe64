package stage

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A few times are listed and have no p50.
func TestAFewAreListed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ms    []int
		never int
		want  string
	}{
		{nil, 0, ""},
		{nil, 2, "never: 2 of 2"},
		{[]int{3}, 0, "3.0 ms"},
		{[]int{3, 1}, 0, "1.0 ms, 3.0 ms"},
		{[]int{3000, 1, 2}, 0, "1.0 ms, 2.0 ms, 3.0 s"},
		{[]int{3, 1}, 1, "1.0 ms, 3.0 ms; never: 1 of 3"},
		{[]int{4, 2, 3, 1}, 0, "2.0 ms / 4.0 ms"},
		{[]int{5, 4, 2, 3, 1}, 1, "3.0 ms / 5.0 ms; never: 1 of 6"},
	} {
		var times Times
		for _, v := range c.ms {
			times.add(time.Duration(v)*time.Millisecond, true)
		}
		for range c.never {
			times.add(0, false)
		}
		if got := times.text(); got != c.want {
			t.Errorf("%v and never %d times: got %q, want %q", c.ms, c.never, got, c.want)
		}
	}
}

// The tables show the configuration and the number of faults, also from JSON lines.
func TestTables(t *testing.T) {
	t.Parallel()
	r := Result{Peer: "etcd", Variant: "tuned", How: "session of 2 s", Rest: number(2.5), ServerMemory: number(33.7), Memory: number(16)}
	for i := range 4 {
		r.Kill.add(time.Duration(i+1)*time.Second, true)
	}
	r.Handoff.add(7*time.Millisecond, true)
	r.HandoffZombies.add(3)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Result
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	for _, one := range []Result{r, again} {
		got := Markdown([]Result{one})
		for _, want := range []string{
			"| etcd | tuned | 2.0 s / 4.0 s | 7.0 ms |  |  |\n",
			"| etcd | tuned | 3 in 1 of 1 | - | - | 2.5 | 16.0 + server 33.7 |\n",
			"| etcd | tuned | session of 2 s | 4, 1, 0, 0 |\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is missing in\n%s", want, got)
			}
		}
	}
}
