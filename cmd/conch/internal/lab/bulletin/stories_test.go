package bulletin_test

import (
	"bytes"
	"flag"
	"io"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/bulletin"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story/toldtest"
	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "write the stories and the page anew")

// headings say what each story shows that is not in testdata/stories.
var headings = map[string]string{
	"v2-early":          "# V2: results that come while a follower catches up are kept, whatever their order.\n",
	"v8-waiting-serves": "# V8: a follower that waits for entries itself gives another one those that it has.\n",
	"change-of-the-few": "# B14, B15: all members are replaced, and the leader's disk is lost when no member knows that the change is committed. Another one learns it as a follower does, and those who come have no entry of it: it campaigns on, since the change needs it.\n",
}

// without tells a story in a log without a rule.
func without(rule string) toldtest.Tell {
	return func(text story.Text, out io.Writer) sim.Report {
		return bulletin.Tell(bulletin.Config{Break: rule}, text, out)
	}
}

// B10 to B13, B15, B18, B20, V1, V3 to V7, told. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	toldtest.Run(t, *update, without(""))
}

// A story falls where a rule is broken: the new leader acts while the one that is cut off may still.
func TestAStoryFalls(t *testing.T) {
	t.Parallel()
	toldtest.Falls(t, "partition", bulletin.OneDoor, without("hold"))
}

// B14, B15, V2, V8: what a text cannot say, told. With -update they are written anew: read the diff.
func TestOwnStories(t *testing.T) {
	t.Parallel()
	for _, name := range bulletin.OwnStories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			got.WriteString(headings[name])
			report(t, bulletin.Run(bulletin.Config{Seed: 1, Scene: name, Story: &got}))
			storytest.Golden(t, *update, "testdata/"+name+".txt", got.String())
		})
	}
}
