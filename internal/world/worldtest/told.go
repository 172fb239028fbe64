package worldtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// Texts plays each story of testdata/stories, which must violate nothing, and compares what is told with the file. With -update it
// writes the file instead: read the diff.
func Texts[C, P any](t *testing.T, s world.Simulator[C, P]) {
	t.Helper()
	TextsWithout(t, s, "stories", "")
}

// TextsWithout is Texts for another folder of testdata, whose stories are told without a rule.
func TextsWithout[C, P any](t *testing.T, s world.Simulator[C, P], folder, rule string) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + folder + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no stories in testdata/%s (error %v)", folder, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var c C
			var told bytes.Buffer
			*s.Common(&c).Break = rule
			r, err := s.Tell(c, story.Text{File: name, Text: string(text)}, &told)
			if err != nil {
				t.Fatal(err)
			}
			Clean(t, r)
			storytest.Golden(t, *update, file, told.String())
		})
	}
}

// Falls plays a story in a world without a rule, in which an invariant has to fall.
func Falls[C, P any](t *testing.T, s world.Simulator[C, P], name, rule, invariant string) {
	t.Helper()
	told, r := Tell(t, s, name, rule)
	if !r.Has(invariant) || !strings.Contains(told, "violated  "+invariant+": ") {
		t.Errorf("%s still holds without %s: %+v\n%s", invariant, rule, r.Violations, told)
	}
}

// Tell plays a story that a world brings along, without a rule if one is named.
func Tell[C, P any](t *testing.T, s world.Simulator[C, P], name, rule string) (told string, r world.Report) {
	t.Helper()
	text, err := story.Find(name, s.Stories, nil)
	if err != nil {
		t.Fatal(err)
	}
	var c C
	var out bytes.Buffer
	*s.Common(&c).Break = rule
	if r, err = s.Tell(c, text, &out); err != nil {
		t.Fatal(err)
	}
	return out.String(), r
}
