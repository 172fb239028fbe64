package endorser

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// P12, P21, P25, P26, I10. In a story in testdata a line is an input, and the indented lines after it are the actions
// that it causes. A line with "attempt" or "config" tells the machine nothing.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := newScene(t, func(*Config) {})
		return func(line string) (done []string) {
			words := strings.Fields(line)
			if words[0] == "config" {
				s = newScene(t, func(c *Config) {
					c.Strict, c.Most, c.Attempts = slices.Contains(words, "strict"), int(number(option(words, "most"))), int(number(option(words, "attempts")))
				})
				return nil
			}
			for _, a := range s.tell(t, words) {
				done = append(done, s.say(a))
			}
			return done
		}
	})
}

func (s *scene) tell(t *testing.T, words []string) []Action {
	t.Helper()
	switch words[0] {
	case "attempt": // attempt NAME payload=… inputs=a.0,b.1 reads=… spoilt=…
		s.compose(words)
	case "final": // final 47: the block that makes it final
		return s.step(ledger.Block{Number: number(words[1]) + deal.Depth})
	case "rewind":
		return s.step(ledger.Rewind{To: number(words[1])})
	case "away":
		return s.step(Away{Members: accounts(words[1:])})
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		s.now += d
		return s.step(Tick{})
	case "forge": // forge NAME: the same attempt, with contents that it does not commit to
		w := s.made[words[1]]
		w.Outputs = slices.Clone(w.Outputs)
		w.Outputs[1].Data = []byte("innocent")
		s.made[words[1]] = w
	case "rules": // they answer the oldest check
		return s.check()
	case "alice", "bob", "carol": // alice asks 7 range=4 a,b upstream=c wait=1s
		body := wire.Endorse{Range: ranking.Range(number(option(words, "range"))), Upstream: s.named(option(words, "upstream"))}
		if len(words) > 3 && !strings.Contains(words[3], "=") {
			body.Attempts = s.named(words[3])
		} else if len(words) > 4 {
			body.Attempts = s.named(words[4])
		}
		wait, err := time.ParseDuration(option(words, "wait") + "0s")
		if err != nil || option(words, "wait") == "" {
			wait = time.Second
		}
		return s.step(ask(ledger.Account(words[0]), number(words[2]), wait, body))
	default:
		t.Fatalf("no such input: %s", words[0])
	}
	return nil
}

// compose makes an attempt, in order or spoilt.
func (s *scene) compose(words []string) {
	payload := option(words, "payload")
	if payload == "" {
		payload = words[1]
	}
	w := s.attempt(words[1], payload, s.states(option(words, "inputs")), s.states(option(words, "reads")))
	switch option(words, "spoilt") {
	case "order":
		slices.Reverse(w.Attempt.Inputs)
	case "commitments":
		w.Outputs[1].Data = []byte("other")
	case "payload":
		w.Payload = []byte("other")
	}
	s.made[words[1]] = w
}

func option(words []string, name string) string {
	for _, w := range words {
		if value, is := strings.CutPrefix(w, name+"="); is {
			return value
		}
	}
	return ""
}

func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

func accounts(names []string) (all []ledger.Account) {
	for _, n := range names {
		all = append(all, ledger.Account(n))
	}
	return all
}

func (s *scene) named(text string) (all []wire.Whole) {
	for _, name := range list(text) {
		all = append(all, s.made[name])
	}
	return all
}

// states reads the names of outputs, such as a.0.
func (s *scene) states(text string) (all []ledger.StateID) {
	for _, name := range list(text) {
		of, at, _ := strings.Cut(name, ".")
		all = append(all, s.output(of, int(number(at))))
	}
	return all
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// say returns an action as a line of a story.
func (s *scene) say(a Action) string {
	switch a := a.(type) {
	case Check:
		line := fmt.Sprintf("check for %s/%d:", string(a.Of.From), a.Of.ID.Number)
		for _, p := range a.Proposals {
			line += fmt.Sprintf(" %s (%d in, %d read)", s.nameOf(p), len(p.Inputs), len(p.Reads))
		}
		return line
	case Send:
		line := fmt.Sprintf("to %s/%d at height %d:", string(a.To), a.Message.Request.Number, a.Message.Height)
		switch body := a.Message.Body.(type) {
		case wire.Rejected:
			return fmt.Sprintf("%s rejected, %s (%s)", line, body.Why, readable(body.Text))
		case wire.Endorsed:
			for _, v := range body.Verdicts {
				for name, w := range s.made {
					if fake.Assembled(deal, w.Attempt) == v.Assembled {
						line += fmt.Sprintf(" %s %s", name, v.Why)
					}
				}
				if v.Text != "" {
					text := v.Text
					for _, name := range s.names() {
						for i := range 2 {
							text = strings.ReplaceAll(text, s.output(name, i).String(), fmt.Sprintf("%s.%d", name, i))
						}
					}
					line += " (" + text + ")"
				}
				line += ","
			}
			return strings.TrimSuffix(line, ",")
		}
	}
	return fmt.Sprintf("%+v", a)
}

func (s *scene) names() (all []string) {
	for name := range s.made {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// readable writes the accounts of the stories as names.
func readable(text string) string {
	for _, a := range deal.Members {
		text = strings.ReplaceAll(text, a.String(), string(a))
	}
	return text
}

func (s *scene) nameOf(p domain.Proposal) string { return string(p.Outputs[0]) }
