package story

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Text is a story as it is written.
type Text struct{ File, Text string }

// Replay is the command that plays it again.
func (t Text) Replay(world string, seed uint64, broken string) string {
	line := fmt.Sprintf("conch-lab sim %s --story %s --seed %d", world, t.File, seed)
	if broken != "" {
		line += " --break " + broken
	}
	return line
}

// Kind is a kind of world: what a story may say of it at its begin, and how it begins.
type Kind struct {
	Settings []Setting
	Begin    func() (World, error)
}

// Setting is a word that says what world it is, before anything happens.
type Setting struct {
	Form string // such as "nodes NUMBER"
	What string
	Set  func(Args) error
}

// Seed is the setting of what is left to chance. A seed that the command line names comes first.
func Seed(seed *uint64) Setting {
	return Setting{Form: "seed NUMBER", What: "of what is left to chance; 1 if it is not said, and --seed names another", Set: func(a Args) error {
		if *seed == 0 {
			*seed = uint64(a.Number)
		}
		return nil
	}}
}

// Count is the setting of a number.
func Count(word, what string, n *int) Setting {
	return Setting{Form: word + " NUMBER", What: what, Set: func(a Args) error { *n = a.Number; return nil }}
}

// World is a simulated cluster that a story drives.
type World interface { //nolint:interfacebloat // every world has all of them
	Now() time.Duration // since the begin of the story
	After(wait time.Duration, do func())
	Step() bool // runs the next event; false: none is left, or something is violated
	Violated(invariant, detail string)
	End() // lets all come to its end, and judges it

	Nodes() []string // their names, in their order
	Node(name string) Node
	Places() []string // what is no node, and may be cut off from one
	Leader() string   // the node that leads; empty: none does

	Cut(Link) error
	Heal(Link) error

	Words() []Word // that this world adds
	Facts() []Fact
}

// Node is one of the nodes of a world. It is killed and frozen only while it runs, and started only while it does not.
type Node interface { //nolint:interfacebloat // every node has all of them
	Runs() bool
	Stands() bool // still
	Kill()
	Start()
	Freeze() error // in some worlds nothing stands still
	Thaw()
}

// Link is what is cut: nothing gets from the nodes to the places, nor back.
type Link struct {
	Nodes, Places []string
	OneWay        bool // from the places to the nodes everything gets through
	Whole         bool // the places are all others
}

// Ways calls a function for each way that is cut.
func (l Link) Ways(do func(from, to string)) {
	for _, a := range l.Nodes {
		for _, b := range l.Places {
			if do(a, b); !l.OneWay {
				do(b, a)
			}
		}
	}
}

// Cut says for a reader that it is cut.
func (l Link) Cut() string {
	if l.OneWay {
		return fmt.Sprintf("is cut one way: %s -> %s", strings.Join(l.Nodes, ", "), strings.Join(l.Places, ", "))
	}
	return "is cut: " + l.sides()
}

// Healed says for a reader that it is whole again.
func (l Link) Healed() string {
	if len(l.Places) > 0 && slices.Contains(l.Nodes, l.Places[0]) {
		return "is whole again"
	}
	return "is whole again: " + l.sides()
}

func (l Link) sides() string {
	return strings.Join(l.Nodes, ", ") + " | " + strings.Join(l.Places, ", ")
}

// Word is something that may happen.
type Word struct {
	Form string // such as "slow database TIME"
	What string
	Do   func(Args) error
	Undo func(Args) error // ends it after a time, with "for TIME"
	Runs bool             // the nodes have to run
	// Lasts says that it has to have a time, in Args.For, after which it ends it itself.
	Lasts bool
}

// Fact is something that a story may expect.
type Fact struct {
	Form  string // such as "epoch NUMBER"
	What  string
	Holds func(Args) (holds bool, instead string) // instead says what is so, for a reader
}

// Args is what the writer of a line has chosen. Each kind of it is in a form once at most.
type Args struct {
	Nodes  []string // NODE, NODES
	Places []string // PLACES
	Time   time.Duration
	For    time.Duration // after which it ends; 0: not by itself
	Number int
	Name   string // one word
	Text   string // the rest of the line
}

// Node is the first of the nodes; empty if none is named.
func (a Args) Node() string {
	if len(a.Nodes) == 0 {
		return ""
	}
	return a.Nodes[0]
}

// indent begins each line that is no part of a story, but of what came of it.
const indent = "    "

// Line writes a line of what happens.
func Line(out io.Writer, at time.Duration, who, what string) {
	if out != nil {
		_, _ = fmt.Fprintf(out, "%s%7.2fs  %-9s %s\n", indent, at.Seconds(), who, what)
	}
}
