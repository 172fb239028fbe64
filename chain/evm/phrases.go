package evm

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/conchhq/conch/chain"
)

// class is what a node's answer means. errors.txt says which are of attempts and which of estimates.
type class uint8

const (
	classNone class = iota // no phrase of errors.txt
	classKnown
	classIndexTooLow
	classUnderpriced
	classFeeTooLow
	classNoFunds
	classFull
	classUnfit
	classRefused
	classInvalid
	classOtherChain
	classLimit
	classTooLarge
	classAnswerTooLarge
	classBusy
	classCall
)

// classes has for each class its name in errors.txt, and the verdict on an attempt.
var classes = [...]struct {
	name    string
	verdict chain.Verdict
}{
	classNone:           {"", chain.Unknown},
	classKnown:          {"known", chain.Known},
	classIndexTooLow:    {"index-too-low", chain.IndexTooLow},
	classUnderpriced:    {"underpriced", chain.Underpriced},
	classFeeTooLow:      {"fee-too-low", chain.FeeTooLow},
	classNoFunds:        {"no-funds", chain.NoFunds},
	classFull:           {"full", chain.Full},
	classUnfit:          {"unfit", chain.Unfit},
	classRefused:        {"refused", chain.Refused},
	classInvalid:        {"invalid", chain.Invalid},
	classOtherChain:     {"other-chain", chain.Refused},
	classLimit:          {"limit", chain.Refused},
	classTooLarge:       {"too-large", chain.Refused},
	classAnswerTooLarge: {"answer-too-large", chain.Unknown},
	classBusy:           {"busy", chain.Unknown},
	classCall:           {"call", chain.Unknown},
}

func (c class) verdict() chain.Verdict { return classes[c].verdict }

func classNamed(name string) (class, bool) {
	for c, known := range classes {
		if known.name == name && name != "" {
			return class(c), true
		}
	}
	return classNone, false
}

// phrase is a part of a node's error, in lower case.
type phrase struct {
	words  string
	class  class
	client string // whose words they are, for people
	line   int
}

// in reports whether a text in lower case has the phrase from the beginning of a word on. So
// "unknown transaction type" is not a "known transaction".
func (p phrase) in(text string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], p.words)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		from = at + 1
	}
}

// phrases are those of a file, in the order in which they are tried.
type phrases struct {
	attempts []phrase // of attempts, those of classInvalid last
	answers  []phrase // about the size of an answer
	busy     []phrase
	calls    []phrase
}

// match returns the class of the first phrase that a text has.
func match(list []phrase, text string) class {
	text = strings.ToLower(text)
	for _, p := range list {
		if p.in(text) {
			return p.class
		}
	}
	return classNone
}

//go:embed errors.txt
var errorsText string

// said has the phrases of errors.txt, which are read at the first error. A line with a fault is left out,
// which costs a look for each attempt that it was for. TestErrorsFile allows no fault.
var said = sync.OnceValue(func() phrases {
	read, _ := parsePhrases(errorsText)
	return read
})

// parsePhrases reads a file in the form of errors.txt. The error lists every fault.
func parsePhrases(text string) (phrases, error) {
	var read phrases
	var invalid []phrase
	var faults []error
	client, clients := "", map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "["):
			client = strings.TrimSuffix(strings.TrimPrefix(line, "["), "]")
			if client == "" || line != "["+client+"]" || clients[client] {
				faults = append(faults, fmt.Errorf("line %d: %q is no new section", i+1, line))
			}
			clients[client] = true
			continue
		}
		p, err := parsePhrase(line)
		if err == nil && client == "" {
			err = errors.New("it is in no section")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		p.client, p.line = client, i+1
		switch p.class {
		case classInvalid:
			invalid = append(invalid, p)
		case classAnswerTooLarge:
			read.answers = append(read.answers, p)
		case classBusy:
			read.busy = append(read.busy, p)
		case classCall:
			read.calls = append(read.calls, p)
		default:
			read.attempts = append(read.attempts, p)
		}
	}
	read.attempts = append(read.attempts, invalid...)
	for _, list := range [][]phrase{read.attempts, read.answers, read.busy, read.calls} {
		faults = append(faults, hidden(list)...)
	}
	return read, errors.Join(faults...)
}

// shortest is the length of the shortest phrase: a shorter one would be in words that mean another thing.
const shortest = 4

func parsePhrase(line string) (phrase, error) {
	name, words, split := strings.Cut(line, "\t")
	first, _ := utf8.DecodeRuneInString(words)
	c, known := classNamed(name)
	switch {
	case !split:
		return phrase{}, fmt.Errorf("%q has no tab between class and phrase", line)
	case !known:
		return phrase{}, fmt.Errorf("there is no class %q", name)
	case words != strings.TrimSpace(strings.ToLower(words)) || strings.Contains(words, "\t"):
		return phrase{}, fmt.Errorf("the phrase %q has capitals, tabs or spaces around it", words)
	case len(words) < shortest || !unicode.IsLetter(first) && !unicode.IsDigit(first):
		return phrase{}, fmt.Errorf("the phrase %q is too short, or does not begin with a letter", words)
	}
	return phrase{words: words, class: c}, nil
}

// hidden returns a fault for each phrase that is never reached, since an earlier one is in it.
func hidden(list []phrase) (faults []error) {
	for i, p := range list {
		for _, earlier := range list[:i] {
			if earlier.in(p.words) {
				faults = append(faults, fmt.Errorf("line %d: %q never counts, since %q is tried first (line %d)", p.line, p.words, earlier.words, earlier.line))
			}
		}
	}
	return faults
}
