package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// Each zone of a cron is compared once, and one whose data differ is told with the instant.
func TestZonesAreJudged(t *testing.T) {
	t.Parallel()
	if names := zonesOf([]schedule.Cron{{Timezone: "UTC"}, {Timezone: "Europe/Berlin"}, {Timezone: "UTC"}}); strings.Join(names, " ") != "Europe/Berlin UTC" {
		t.Errorf("the zones are %v", names)
	}
	if found := judgeZones(nil); len(found) != 1 || found[0].Status != doctor.OK {
		t.Errorf("without a fault: %+v", found)
	}
	at := time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC)
	found := judgeZones([]pgstore.ZoneFault{
		{Zone: "Europe/Berlin", At: at, Here: 2 * time.Hour, There: time.Hour}, {Zone: "Mars/Olympus", Unknown: "there"}, {Zone: "Asia/Nowhere", Unknown: "here"},
	})
	for i, says := range []string{"Europe/Berlin: from 2027-03-28T01:00:00Z on, its clocks are 2h0m0s ahead of UTC by this machine's data, and 1h0m0s", "the database's server, so", "not in this machine's"} {
		if len(found) != 3 || found[i].Status != doctor.Warn || !strings.Contains(found[i].Detail, says) {
			t.Errorf("the findings are %+v, want %q in that of %d", found, says, i)
		}
	}
}
