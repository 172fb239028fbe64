package world

import (
	"cmp"
	"io"

	"github.com/conchhq/conch/internal/world/story"
)

// Telling is the story that a run plays, and who reads what comes of it. Without a text there is none.
type Telling struct {
	Text *story.Text
	Out  io.Writer
}

// On reports whether a run plays a story.
func (t *Telling) On() bool { return t != nil && t.Text != nil }

// Stage is a run that a story drives.
type Stage interface {
	story.World
	Report() Report
}

// kind is what stories can say of a configuration, and how their world begins.
func (s Simulator[C, P]) kind(c *C) story.Kind {
	return story.Kind{Settings: s.Settings(c), Begin: func() (story.World, error) {
		seed := s.Common(c).Seed
		*seed = cmp.Or(*seed, 1)
		*c = s.Complete(*c)
		if err := s.Validate(*c); err != nil {
			return nil, err
		}
		return s.Stage(*c), nil
	}}
}

// Tell plays a story, and writes what happens to out. The configuration says the seed, 0 for the story's, and the broken rule; the
// story says the rest. An error is about how it is written.
func (s Simulator[C, P]) Tell(c C, text story.Text, out io.Writer) (Report, error) {
	*s.Common(&c).Telling = Telling{&text, out}
	w, err := story.Play(text, s.kind(&c), out)
	if err != nil {
		return Report{}, err
	}
	played, _ := w.(Stage)
	return played.Report(), nil
}

// CheckStory returns the seed and the number of nodes of a story, or what is wrong with how it is written.
func (s Simulator[C, P]) CheckStory(c C, text story.Text) (Report, error) {
	at := s.Common(&c)
	*at.Telling = Telling{Text: &text}
	err := story.Check(text, s.kind(&c))
	return Report{Seed: *at.Seed, Nodes: *at.Nodes}, err
}

// Words lists what stories can say of this kind of world: what every world has, or what this one adds.
func (s Simulator[C, P]) Words(everywhere bool) (string, error) {
	var c C
	*s.Common(&c).Telling = Telling{Text: &story.Text{}}
	return story.Table(s.kind(&c), everywhere)
}
