package sample

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

// readNames reads the names of a set, and returns what follows them.
func readNames(inside []byte) (*Set, []byte, error) {
	p := parser{rest: inside}
	count := p.number(MostSeries)
	all := make([]Series, 0, min(count, len(inside)/3)) // a series takes three bytes at least
	seen := make(map[string]bool, cap(all))
	for range count {
		from := p.rest
		one := p.series()
		if p.bad || !one.Sound() {
			return nil, nil, ErrForeign
		}
		key := string(from[:len(from)-len(p.rest)])
		if seen[key] { // two values of one series
			return nil, nil, ErrForeign
		}
		seen[key] = true
		all = append(all, one)
	}
	if p.bad {
		return nil, nil, ErrForeign
	}
	return NewSet(all), p.rest, nil
}

// parser reads from bytes that anybody may have written.
type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) number(most int) int {
	n, size := binary.Uvarint(p.rest)
	if p.bad || size <= 0 || n > uint64(most) {
		p.bad = true
		return 0
	}
	p.rest = p.rest[size:]
	return int(n)
}

func (p *parser) text() string {
	n := p.number(MostText)
	if p.bad || n > len(p.rest) {
		p.bad = true
		return ""
	}
	text := string(p.rest[:n])
	p.rest = p.rest[n:]
	return text
}

func (p *parser) series() (s Series) {
	s.Name = p.text()
	for range p.number(MostLabels) {
		if p.bad {
			break
		}
		s.Labels = append(s.Labels, Label{p.text(), p.text()})
	}
	return s
}

// Sound reports whether a series has names as Prometheus has them, sorted and each once, and texts within the limits.
func (s Series) Sound() bool {
	if !isName(s.Name, ":") || len(s.Labels) > MostLabels {
		return false
	}
	for i, l := range s.Labels {
		if !isName(l.Name, "") || strings.HasPrefix(l.Name, "__") || len(l.Value) > MostText || !utf8.ValidString(l.Value) || i > 0 && s.Labels[i-1].Name >= l.Name {
			return false
		}
	}
	return true
}

// isName reports whether a text is a name of letters, digits, low lines, and what is allowed besides.
func isName(text, besides string) bool {
	if text == "" || len(text) > MostText || text[0] >= '0' && text[0] <= '9' {
		return false
	}
	return !slices.ContainsFunc([]byte(text), func(c byte) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.Contains(besides, string(rune(c)))
	})
}
