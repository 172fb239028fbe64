package quorum

import (
	"context"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// An asker may use the memory of what it asked for again as soon as it is told: the loop may take it later, and another goal would
// be executed under the id (V2).
func TestWhatIsAskedForIsCopied(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	goal, members := []byte("goal"), []txlog.Member{{Name: "n1", Store: 1}}
	ended := make(chan error, 2)
	go func() { _, err := h.Goal(ctx, "a", goal, 0); ended <- err }()
	go func() { _, err := h.Change(ctx, members, h.Status().MembersAt); ended <- err }()
	var taken core.Batch // the loop has taken it before the asker gives up
	for len(taken) < 2 {
		select {
		case <-h.bell:
			taken = append(taken, (&loop{Host: h}).Take()...)
		case err := <-ended:
			t.Fatal(err)
		}
	}
	cancel()
	for range 2 {
		<-ended
	}
	copy(goal, "evil")
	members[0].Name = "n2"
	for _, in := range taken {
		switch in := in.(type) {
		case core.UserGoal:
			if string(in.Body) != "goal" {
				t.Errorf("the loop has taken goal %s", in.Body)
			}
		case core.Change:
			if in.Members[0].Name != "n1" {
				t.Errorf("the loop has taken member %s", in.Members[0].Name)
			}
		default:
			t.Errorf("the loop has taken %T", in)
		}
	}
}
