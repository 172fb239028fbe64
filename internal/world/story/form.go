package story

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/internal/nearest"
)

// The parts of a form that a writer chooses. All other words of it are written as they are; what is in brackets may be left out.
const (
	oneNode   = "NODE"
	someNodes = "NODES"
	places    = "PLACES"
	span      = "TIME"
	number    = "NUMBER"
	oneName   = "NAME"
	rest      = "TEXT"
)

// reader matches the words of a line with a form.
type reader struct {
	nodes []string // words for one node
	crowd []string // words for several
	sites []string // places that are no node
	words []string
	at    int
	args  Args
}

// match reads all words by a form.
func (m *reader) match(form string) error {
	parts := strings.Fields(form)
	for i := 0; i < len(parts); i++ {
		if !strings.HasPrefix(parts[i], "[") {
			if err := m.take(parts[i]); err != nil {
				return err
			}
			continue
		}
		for first := i; ; i++ {
			part := strings.Trim(parts[i], "[]")
			if i == first && !m.begins(part) {
				for !strings.HasSuffix(parts[i], "]") {
					i++
				}
				break
			}
			if err := m.take(part); err != nil {
				return err
			}
			if strings.HasSuffix(parts[i], "]") {
				break
			}
		}
	}
	if m.at < len(m.words) {
		return fmt.Errorf("%q is too much", m.words[m.at])
	}
	return nil
}

// begins reports whether the next word is one for a part that may be left out.
func (m *reader) begins(part string) bool {
	before := *m
	err := m.take(part)
	*m = before
	return err == nil
}

// take reads the words for one part.
func (m *reader) take(part string) (err error) {
	if m.at == len(m.words) {
		return fmt.Errorf("%s is missing", part)
	}
	word := m.words[m.at]
	switch part {
	case oneNode:
		err = m.node(word)
	case someNodes:
		return m.list(&m.args.Nodes, slices.Concat(m.nodes, m.crowd))
	case places:
		return m.list(&m.args.Places, slices.Concat(m.nodes, m.crowd, m.sites))
	case span:
		if m.args.Time, err = time.ParseDuration(word); err != nil || m.args.Time < 0 {
			err = fmt.Errorf("%q is no time: it is one such as 300ms or 5s", word)
		}
	case number:
		if m.args.Number, err = strconv.Atoi(word); err != nil || m.args.Number < 0 {
			err = fmt.Errorf("%q is no number", word)
		}
	case oneName:
		m.args.Name = word
	case rest:
		m.args.Text = strings.Join(m.words[m.at:], " ")
		m.at = len(m.words)
		return nil
	default:
		if word != part {
			err = fmt.Errorf("%q is not %q", word, part)
		}
	}
	if err == nil {
		m.at++
	}
	return err
}

func (m *reader) node(word string) error {
	if !slices.Contains(m.nodes, word) {
		return unknown(word, "node", m.nodes)
	}
	m.args.Nodes = append(m.args.Nodes, word)
	return nil
}

// list reads names until one is none: at least one.
func (m *reader) list(into *[]string, known []string) error {
	for first := m.at; m.at < len(m.words); m.at++ {
		word := m.words[m.at]
		if !slices.Contains(known, word) {
			if m.at > first {
				return nil
			}
			return unknown(word, "node", known)
		}
		*into = append(*into, word)
	}
	return nil
}

// unknown says that a word is none of those that are known, and which one may be meant.
func unknown(word, what string, known []string) error {
	if near := nearest.To(word, known); near != "" {
		return fmt.Errorf("there is no %s %q: is it %q?", what, word, near)
	}
	return fmt.Errorf("there is no %s %q: it is one of %s", what, word, strings.Join(known, ", "))
}

// pick finds the form that the words are written by, and what they say.
func (m *reader) pick(what string, forms []string) (at int, args Args, err error) {
	var firsts []string
	best, which := -1, -1
	for i, form := range forms {
		first, _, _ := strings.Cut(form, " ")
		if !slices.Contains(firsts, first) {
			firsts = append(firsts, first)
		}
		if len(m.words) == 0 || m.words[0] != first {
			continue
		}
		try := *m
		wrong := try.match(form)
		if wrong == nil {
			return i, try.args, nil
		}
		if try.at > best {
			best, which, err = try.at, i, wrong
		}
	}
	switch {
	case len(m.words) == 0:
		return 0, Args{}, fmt.Errorf("the %s is missing: it is one of %s", what, strings.Join(firsts, ", "))
	case which < 0:
		return 0, Args{}, unknown(m.words[0], what, firsts)
	}
	return 0, Args{}, fmt.Errorf("%w (%s)", err, forms[which])
}
