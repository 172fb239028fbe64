package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
)

// Nobody leads for an hour. The goals that a member was asked for at its begin are not executed at its end, by the member that leads then:
// their users were told long ago that nobody knows, and have gone on. Nor do they take the room of those that come now (B12).
func TestNoGoalIsExecutedHoursLater(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.goes("before")
		s.nodes[1].kill()
		s.nodes[2].kill()
		h := s.nodes[0].run.Load()
		s.within(20*time.Second, "nobody leads", func() bool { return h.Status().Leader == "" })
		ask := func(id string) error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := h.Goal(ctx, id, []byte(`{"op":"add","key":"count"}`), 0)
			return err
		}
		for minute := range 60 {
			var all []<-chan result[error]
			for i := range runtest.ByDay(30, 100) {
				all = append(all, later(func() (error, error) { return ask(fmt.Sprint(minute, " ", i)), nil }))
			}
			for _, one := range all {
				if r := <-one; !errors.Is(r.is, txlog.ErrUnknown) {
					t.Fatalf("after %d minutes: %v", minute, r.is)
				}
			}
			pass(time.Minute)
		}
		pass(2 * time.Minute)
		h.Suggest("n1")
		s.nodes[1].start()
		s.nodes[1].run.Load().Suggest("n1")
		s.within(20*time.Second, "n1 leads", func() bool { return h.Status().Leads })
		if err := ask("now"); err != nil {
			t.Fatal(err)
		}
		if got, _, err := h.Fresh(t.Context(), []byte(`{"get":"count"}`)); err != nil || string(got) != `{"key":"count","value":1,"found":true}` {
			t.Errorf("%s, %v: goals of an hour ago were executed", got, err)
		}
	})
}
