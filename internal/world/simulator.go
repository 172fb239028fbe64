package world

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strings"
	"time"

	"github.com/conchhq/conch/internal/world/patched"
	"github.com/conchhq/conch/internal/world/story"
)

// Rule is a rule of the design that a run can leave out, to show what it is for. C is the configuration of its world.
type Rule[C any] struct {
	Name      string
	Invariant string // falls without it; empty if none does
	Why       string // what it demands, and what goes wrong without it
	In        C      // the world in which that shows, with the seed that has shown it
}

// Scene is a world with one trouble. P is its plot: what happens in it, and by what it is judged.
type Scene[C, P any] struct {
	Name, What string
	Story      bool // it is told, and compared with a file
	In         C    // how large it is, and how long it lasts
	Plot       P
}

// Simulator is a kind of world: all that its command, its tests and its pages need of it.
type Simulator[C, P any] struct {
	Name     string   // conch-lab sim NAME
	Aliases  []string // of its command
	Short    string
	Long     string // what it runs, and what is checked; Help says the rest
	Example  string
	Rules    []Rule[C]
	Scenes   []Scene[C, P]    // the stories last
	Flags    func(*Flags, *C) // but for --scene and --break, in the order of a line that repeats a run; it sets what is the default of one
	Complete func(C) C        // sets what a configuration leaves out, by Fill and as it likes
	Validate func(C) error    // returns every fault of a complete configuration
	Run      func(C) Report
	Stories  fs.FS                    // texts that it brings along
	Settings func(*C) []story.Setting // what a story may say of its world; it sets what is usual in one
	Stage    func(C) Stage            // begins the world of a story
}

// Flag is a flag of a command that sets a field of a configuration.
type Flag struct {
	Name  string
	Field any // *int, *uint64, *bool, *string or *time.Duration
	Usage string
}

// Flags are those of a command.
type Flags []Flag

// Add adds a flag.
func (f *Flags) Add(name string, field any, usage string) {
	*f = append(*f, Flag{Name: name, Field: field, Usage: usage})
}

// AddTo adds the flags to those of a command; their fields have the defaults.
func (f *Flags) AddTo(set FlagSet) {
	for _, one := range *f {
		switch field := one.Field.(type) {
		case *int:
			set.IntVar(field, one.Name, *field, one.Usage)
		case *uint64:
			set.Uint64Var(field, one.Name, *field, one.Usage)
		case *bool:
			set.BoolVar(field, one.Name, *field, one.Usage)
		case *string:
			set.StringVar(field, one.Name, *field, one.Usage)
		case *time.Duration:
			set.DurationVar(field, one.Name, *field, one.Usage)
		}
	}
}

// FlagSet is that of package flag, or of another one that has the same methods.
type FlagSet interface { //nolint:interfacebloat // a method for each type of a field
	IntVar(to *int, name string, usual int, usage string)
	Uint64Var(to *uint64, name string, usual uint64, usage string)
	BoolVar(to *bool, name string, usual bool, usage string)
	StringVar(to *string, name, usual, usage string)
	DurationVar(to *time.Duration, name string, usual time.Duration, usage string)
}

// Common points to the fields that each configuration has, by their names.
type Common struct {
	Nodes *int
	Seed  *uint64
	Scene *string // nil: there are no scenes
	Break *string
	Trace *io.Writer // gets every event
	Story *io.Writer // gets a line for what a reader wants to know; nil: nothing is told
	// Telling is the story that it plays. Such a one says itself what world it is. Nil: it can play none.
	Telling *Telling
}

// Common points to what a configuration has in common with those of other kinds.
func (s Simulator[C, P]) Common(c *C) (at Common) {
	from, to := reflect.ValueOf(c).Elem(), reflect.ValueOf(&at).Elem()
	for i := range to.NumField() {
		if field := from.FieldByName(to.Type().Field(i).Name); field.IsValid() {
			to.Field(i).Set(field.Addr())
		}
	}
	return at
}

func named(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

// Rule returns the rule of a name, or nil.
func (s Simulator[C, P]) Rule(name string) *Rule[C] {
	for i := range s.Rules {
		if s.Rules[i].Name == name {
			return &s.Rules[i]
		}
	}
	return nil
}

// Scene returns the scene of a name, or nil.
func (s Simulator[C, P]) Scene(name string) *Scene[C, P] {
	for i := range s.Scenes {
		if s.Scenes[i].Name == name {
			return &s.Scenes[i]
		}
	}
	return nil
}

// Begin begins a run of a complete configuration.
func (s Simulator[C, P]) Begin(c C) Run {
	at := s.Common(&c)
	r := Run{
		Stats: map[string]int64{}, w: New(*at.Seed, *at.Trace), begun: Report{Seed: *at.Seed, Nodes: *at.Nodes},
		Line: func() string { return s.Line(c) },
	}
	for i := range *at.Nodes {
		r.Names = append(r.Names, fmt.Sprintf("node-%d", i+1))
	}
	if at.Story != nil {
		r.story = *at.Story
	}
	if at.Telling.On() {
		r.story = at.Telling.Out
	}
	return r
}

// AllFlags returns the flags of a command that runs a configuration, whose fields are then their defaults.
func (s Simulator[C, P]) AllFlags(c *C) (all Flags) {
	s.Flags(&all, c)
	at := s.Common(c)
	if at.Scene != nil {
		all.Add("scene", at.Scene, "a world with one `trouble`")
	}
	all.Add("break", at.Break, "leave out this `rule`")
	return all
}

// Line returns the command that repeats the run of a complete configuration.
func (s Simulator[C, P]) Line(c C) string {
	if at := s.Common(&c); at.Telling.On() {
		return at.Telling.Text.Replay(s.Name, *at.Seed, *at.Break)
	}
	var all C
	flags := s.AllFlags(&all)
	all = c
	var line strings.Builder
	fmt.Fprintf(&line, "conch-lab sim %s", s.Name)
	for _, f := range flags {
		switch field := reflect.ValueOf(f.Field).Elem(); {
		case field.IsZero() && f.Name != "seed":
		case field.Kind() == reflect.Bool:
			fmt.Fprintf(&line, " --%s", f.Name)
		default:
			fmt.Fprintf(&line, " --%s %v", f.Name, field)
		}
	}
	return line.String()
}

// What the help says of every world, and of its scenes, stories and rules.
const (
	aboutRuns = `
Equal flags give equal runs; a violation prints the command that repeats it. Exit 1 if
there is one.
`
	aboutScenes = `
--scene shows a world with one trouble:

`
	aboutStories = `
--story plays a story: a text that says what happens, and what has to come of it. It is a
file, - for the standard input, or one of those that are there:

%s
docs/simulation.md teaches to write one.
`
	aboutRules = `
--break leaves out one rule of the design, to show what it is for, in the world in which
it shows, unless other flags are given:

`
	aboutPatches = `
Those with a * are left out by a patch of the source: that needs Go, and a current folder
in conch's source.
`
)

// Asked returns the complete configuration that a line of flags asks for.
func (s Simulator[C, P]) Asked(line string) (C, error) {
	var c C
	flags := flag.NewFlagSet(s.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	all := s.AllFlags(&c)
	all.AddTo(flags)
	if err := flags.Parse(strings.Fields(line)); err != nil {
		return c, err
	}
	return s.Complete(c), nil
}

// Help is the help of its command.
func (s Simulator[C, P]) Help() string {
	var b strings.Builder
	b.WriteString(s.Long + aboutRuns)
	if len(s.Scenes) > 0 {
		b.WriteString(aboutScenes)
	}
	for _, n := range s.Scenes {
		fmt.Fprintf(&b, "  %-21s %s\n", n.Name, n.What)
	}
	fmt.Fprintf(&b, aboutStories, story.Help(s.Stories))
	b.WriteString(aboutRules)
	patches := ""
	for _, r := range s.Rules {
		name, falls := r.Name, ""
		if patched.Breaks(r.Name) {
			name, patches = name+" *", aboutPatches
		}
		if r.Invariant != "" {
			falls = " (falls: " + r.Invariant + ")"
		}
		fmt.Fprintf(&b, "  %-27s %s%s\n", name, r.Why, falls)
	}
	return strings.TrimRight(b.String()+patches, "\n")
}
