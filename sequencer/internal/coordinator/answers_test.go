package coordinator

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/wire"
)

// Q19: a request has a name that no other start of this node gives. What names another start, or comes from a member that
// was not asked, answers nothing.
func TestAnswersToOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.tell("delegate B d1 0 1")
	answer, _ := s.input(strings.Fields("attempts B 1=x:s1:1")).(Received)
	for what, change := range map[string]func(*Received){
		"of another start":   func(r *Received) { r.Message.Request.Incarnation[5]++ },
		"of another request": func(r *Received) { r.Message.Request.Number++ },
		"of another member":  func(r *Received) { r.From = "C" },
		"of another kind":    func(r *Received) { r.Message.Body = wire.Noted{} },
	} {
		in := answer
		if change(&in); len(s.m.Step(s.now, in)) > 0 || s.m.Status().Stages["assembling"] != 1 {
			t.Errorf("an answer %s counts: %v", what, s.m.Status().Stages)
		}
	}
	if s.m.Step(s.now, answer); s.m.Status().Stages["endorsing"] != 1 {
		t.Errorf("its own answer does not count: %v", s.m.Status().Stages)
	}
}
