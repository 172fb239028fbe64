package election

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// A scope that is added again before it is forgotten keeps its runner: its next term would have none.
func TestAScopeThatIsAddedAgainIsKept(t *testing.T) {
	t.Parallel()
	e := &Elector{runners: map[string]*runner{"gone": {retired: true}, "back": {}}}
	for scope := range map[string]bool{"gone": true, "back": true, "unknown": true} {
		e.forgetScope(scope)
	}
	if e.runner("gone") != nil || e.runner("back") == nil {
		t.Errorf("these are left: %v", e.runners)
	}
}

// A fact loses nothing on its way from the core to the user.
func TestAFactIsToldWhole(t *testing.T) {
	t.Parallel()
	said := core.Fact{
		Kind: core.Lost, Scope: "s", Token: fence.Token{Epoch: 1}, Holder: "h", Hold: 1, Handoff: true, Took: 2, After: 3,
		Err: ErrUntold, Blockers: []mint.Blocker{{PID: 4}},
	}
	from, to := reflect.ValueOf(said), reflect.ValueOf(newFact(said))
	for i := range from.NumField() {
		name, want := from.Type().Field(i).Name, from.Field(i)
		got := to.FieldByName(name)
		if want.IsZero() || !got.IsValid() || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the core said %v, and the user is told %v", name, want, got)
		}
	}
}
