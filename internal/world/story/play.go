package story

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Expected is the invariant that a story itself asks for: that what it expects comes.
const Expected = "expected"

// play is a story that is played.
type play struct {
	kind  Kind
	w     World // nil while the settings are read
	out   io.Writer
	file  string
	named map[string]string // names that call has given, by name
	meant string            // the node for which leader stood last
}

// line is a line of a story.
type line struct {
	number int
	text   string
	does   func() bool // false: the story is over; nil: a comment, or a setting
}

// Play plays a story, and writes it to out with what happens below each line. What it violates the world knows; an error is
// about how it is written.
func Play(text Text, kind Kind, out io.Writer) (World, error) {
	p := newPlay(text, kind, out)
	lines, err := p.read(text.Text)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		p.echo(l.text)
		if l.does != nil && !l.does() {
			return p.w, nil
		}
	}
	p.w.End()
	return p.w, nil
}

// Check returns what is wrong with how a story is written.
func Check(text Text, kind Kind) error {
	_, err := newPlay(text, kind, nil).read(text.Text)
	return err
}

func newPlay(text Text, kind Kind, out io.Writer) *play {
	return &play{kind: kind, out: out, file: text.File, named: map[string]string{}}
}

func (p *play) echo(text string) {
	if p.out != nil {
		_, _ = fmt.Fprintln(p.out, text)
	}
}

// read reads all lines before anything happens, and lists every fault.
func (p *play) read(text string) (lines []line, err error) {
	var faults []error
	fault := func(number int, err error) { faults = append(faults, fmt.Errorf("%s:%d: %w", p.file, number, err)) }
	for number, text := range rawLines(text) {
		words := strings.Fields(text)
		l := line{number: number, text: text}
		switch {
		case len(words) == 0 || strings.HasPrefix(text, "#"):
		case p.w == nil && p.isSetting(words[0]):
			if err := p.set(words); err != nil {
				fault(number, err)
			}
		default:
			if p.w == nil && len(faults) == 0 {
				if p.w, err = p.kind.Begin(); err != nil {
					return nil, fmt.Errorf("%s: %w", p.file, err)
				}
			}
			if p.w == nil { // with a setting that is wrong, nobody knows what else is
				return nil, errors.Join(faults...)
			}
			if l.does, err = p.compile(number, words); err != nil {
				fault(number, err)
			}
		}
		lines = append(lines, l)
	}
	if p.w == nil && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("%s: nothing happens in it", p.file))
	}
	return lines, errors.Join(faults...)
}

// rawLines numbers the lines of a story, without those that are no part of it.
func rawLines(text string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		number := 0
		for text := range strings.Lines(text) {
			number++
			text = strings.TrimRight(text, " \t\r\n")
			if !strings.HasPrefix(text, indent) && !yield(number, text) {
				return
			}
		}
	}
}

func (p *play) isSetting(word string) bool {
	return slices.ContainsFunc(p.kind.Settings, func(s Setting) bool { return firstOf(s.Form) == word })
}

func firstOf(form string) string {
	first, _, _ := strings.Cut(form, " ")
	return first
}

func (p *play) set(words []string) error {
	var forms []string
	for _, s := range p.kind.Settings {
		forms = append(forms, s.Form)
	}
	i, args, err := (&reader{words: words}).pick("setting", forms)
	if err != nil {
		return err
	}
	return p.kind.Settings[i].Set(args)
}

// compile makes of a line what it does.
func (p *play) compile(number int, words []string) (func() bool, error) {
	when := time.Duration(-1)
	if words[0] == at {
		m := reader{words: words[1:]}
		if err := m.take(span); err != nil {
			return nil, err
		}
		when, words = m.args.Time, words[2:]
		if len(words) == 0 {
			return nil, fmt.Errorf("what happens at %s?", when)
		}
	}
	do, err := p.compileAct(number, words)
	if err != nil || when < 0 {
		return do, err
	}
	return func() bool {
		if when < p.w.Now() {
			return p.fails(number, "it is %s already, and the line is of %s", p.w.Now().Round(time.Millisecond), when)
		}
		return p.until(when) && do()
	}, nil
}

func (p *play) compileAct(number int, words []string) (func() bool, error) {
	m := p.reader(words)
	switch words[0] {
	case at:
		return nil, fmt.Errorf("%q stands at the begin of a line", at)
	case run:
		if err := m.match(run + " " + span); err != nil {
			return nil, err
		}
		return func() bool { return p.until(p.w.Now() + m.args.Time) }, nil
	case call:
		if err := m.match(call + " " + oneNode + " " + oneName); err != nil {
			return nil, err
		}
		p.named[m.args.Name] = ""
		return func() bool {
			args, ok := p.resolve(number, m.args)
			p.named[m.args.Name] = args.Node()
			return ok
		}, nil
	case expect:
		return p.compileFact(number, words[1:])
	}
	if p.isSetting(words[0]) {
		return nil, fmt.Errorf("%q is said before anything happens", words[0])
	}
	return p.compileWord(number, words)
}
