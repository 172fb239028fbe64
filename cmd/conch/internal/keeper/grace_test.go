package keeper

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
)

func TestGrace(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		asked, lease, heartbeat, late time.Duration
		want                          time.Duration
		says                          string
	}{
		"the shortest lease":            {lease: 200 * ms, want: 50 * ms},
		"the usual lease":               {lease: 3000 * ms, want: 750 * ms},
		"the longest lease":             {lease: 10 * time.Minute, want: 150 * time.Second},
		"slow heartbeats":               {lease: 3000 * ms, heartbeat: 1350 * ms, want: 750 * ms},
		"late at two heartbeats":        {lease: 3000 * ms, late: 1200 * ms, want: 180 * ms},
		"as late as can be":             {lease: 3000 * ms, late: 1040 * ms, want: 20 * ms},
		"too late":                      {lease: 3000 * ms, late: 1039 * ms, says: "by 1ms or more"},
		"hardly accepted":               {lease: 3000 * ms, late: 721 * ms, says: "by 319ms or more"},
		"heartbeats that are too slow":  {lease: 200 * ms, heartbeat: 75 * ms, says: "by 10ms or more"},
		"asked for":                     {asked: 100 * ms, lease: 3000 * ms, want: 100 * ms},
		"the most that can be":          {asked: 1500 * ms, lease: 3000 * ms, want: 1500 * ms},
		"more than half of the lease":   {asked: 1501 * ms, lease: 3000 * ms, says: "1.501s is not between 20ms and 1.5s"},
		"too little":                    {asked: 19 * ms, lease: 3000 * ms, says: "19ms is not between 20ms and 1.5s"},
		"less than none":                {asked: -ms, lease: 3000 * ms, says: "-1ms is not between"},
		"too much for slow heartbeats":  {asked: 1500 * ms, lease: 3000 * ms, heartbeat: 1300 * ms, says: "1.5s is not between 20ms and 840ms"},
		"too much for a late threshold": {asked: 181 * ms, lease: 3000 * ms, late: 1200 * ms, says: "181ms is not between 20ms and 180ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spare := election.Config{Lease: c.lease, Heartbeat: c.heartbeat}.Spare(election.Role{LateThreshold: c.late})
			got, err := Grace(c.asked, c.lease, spare)
			if got != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %s and the error %v", got, err)
			}
		})
	}
}
