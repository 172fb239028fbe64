//go:build linux

package stage

import (
	"slices"
	"testing"
)

// What is measured is set up by its part alone.
func TestTheCallersSettingsReachNobody(t *testing.T) {
	t.Parallel()
	kept := foreign([]string{
		"PATH=/bin", "CONCH_LOCKS=process", "CONCH_DB_URL=postgres://elsewhere/", "PGHOST=elsewhere", "PGSSLMODE=require", "UNCONCH_LOCKS=mine", "HOME=/",
	})
	if want := []string{"PATH=/bin", "UNCONCH_LOCKS=mine", "HOME=/"}; !slices.Equal(kept, want) {
		t.Errorf("it sees %v, want %v", kept, want)
	}
}
