package election

import (
	"testing"
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
