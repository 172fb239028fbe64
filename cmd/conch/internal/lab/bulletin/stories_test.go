package bulletin_test

import (
	"bytes"
	"flag"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "write the stories and the page anew")

// headings say what each story shows.
var headings = map[string]string{
	"same-answer":                "# B11, B12: a leader dies when a goal is committed and not answered. In the next term it is the same entry, however often it is asked for.\n",
	"v1-history":                 "# V1, B14: a follower was away. History brings it every entry with its diff, and it executes nothing.\n",
	"v2-early":                   "# V2: results that come while a follower catches up are kept, whatever their order.\n",
	"v3-faulty-goal":             "# V3: a goal that fails is an entry: leader and followers go on together.\n",
	"v4-nothing-stays":           "# V4: of a goal that fails half-way nothing stays.\n",
	"v5-from-snapshot":           "# V5: a node that began with a snapshot applies the same diffs as all others.\n",
	"v6-stranger":                "# V6: a head that no member has signed moves nobody, and what a deposed leader has not committed reaches no follower.\n",
	"v7-wrong-memory":            "# V7: a leader's memory is wrong. The others find that its entry makes another state, and it gives its term up.\n",
	"wrong-memory-of-two":        "# V7: of three members one is away, and the leader's memory is wrong. It drops what the other refuses, which no majority has stored, and the log goes on.\n",
	"v8-waiting-serves":          "# V8: a follower that waits for entries itself gives another one those that it has.\n",
	"root-at-17":                 "# B15: a node is at 17 and lacks 18 while the leader is at 25. It comes to 25.\n",
	"partition":                  "# B18: five members, of which the leader and one other are cut off. The three go on; what the leader had not committed is executed once.\n",
	"leader-change":              "# B10, B11, B20: a goal is under way while the leader dies. The node that waits for it leads next and executes it.\n",
	"change-while-a-store-waits": "# A store that waits to be admitted has no vote. Without another member beside it the log would stand with the next disk that is lost: so the change is refused until the store is admitted, and bears that loss.\n",
	"change-of-the-few":          "# B14, B15: all members are replaced, and the leader's disk is lost when no member knows that the change is committed. Another one learns it as a follower does, and those who come have no entry of it: it campaigns on, since the change needs it.\n",
}

// B10 to B15, B18, B20, V1 to V8, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	for _, name := range bulletin.Stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			got.WriteString(headings[name])
			report(t, bulletin.Run(bulletin.Config{Seed: 1, Scene: name, Story: &got}))
			storytest.Golden(t, *update, "testdata/"+name+".txt", got.String())
		})
	}
}
