package core

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// Each refusal has one reason, which is in the list: those who count begin with all of them.
func TestEachRefusalHasAReason(t *testing.T) {
	t.Parallel()
	all := Reasons()
	for why, want := range map[error]string{
		follower.ErrBridge: "bridge", majority.ErrForked: "fork", errTwin: "twin", errKey: "key", txlog.ErrBarred: "stranger", wire.ErrVersion: "version",
		errors.New("what nobody expects"): "other",
	} {
		if got := Reason(fmt.Errorf("so: %w", why)); got != want || !slices.Contains(all, got) {
			t.Errorf("%v is refused for %q, want %q, of %q", why, got, want, all)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("a reason is there twice: %q", all)
	}
}
