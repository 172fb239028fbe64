package receiver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/receiver/annotation"
)

// Texts are what a rule says to people.
type Texts struct {
	Labels      map[string]string // told with it
	Annotations map[string]string // templates in the language of Prometheus; summary and description are the usual ones
}

// Place says where a message comes from.
type Place struct {
	Cluster   string // [alerting] cluster; may be empty
	PublicURL string // [node] public_url, where people open the page; empty: no link
}

// Words are one message, and what people read of it. All of their texts show each character, and are bounded.
type Words struct {
	alerts.Message

	Cluster     string
	Title       string            // on one line: what fires
	Description string            // several lines; may be empty
	More        []Pair            // other annotations, by name
	Lines       []string          // one for each of Members, and how many more there are
	RuleLabels  map[string]string // as they are written in the file
	Link        string            // "" if nobody has said where the page is
	Test        bool              // somebody tries the receiver: nothing is wrong
}

// Pair is a name and its text.
type Pair struct{ Name, Text string }

const (
	mostTitle  = 300  // characters
	mostText   = 3000 // of the description, and of all other annotations
	mostMore   = 10   // other annotations
	mostMember = 250  // characters of a member's line
	mostLabel  = 200  // of a label's value
	mostName   = 64   // of a label's name
	mostLabels = 20   // labels of a member
)

// Write writes the words of a message. A template that fails is replaced by the rule, its labels, the value and the fault: nothing keeps
// a message from being told.
func (p Place) Write(t Texts, m alerts.Message) *Words {
	w := &Words{Message: m, Cluster: short(p.Cluster), RuleLabels: t.Labels}
	if p.PublicURL != "" {
		w.Link = strings.TrimSuffix(p.PublicURL, "/") + "/#/alerts"
	}
	first := alerts.Firer{Labels: m.Group}
	if len(m.Members) > 0 {
		first = m.Members[0]
	}
	w.Title = titleOf(t, m, first)
	n := len(m.Members) + m.Others
	if n > 1 {
		more := fmt.Sprintf(", and %d more", n-1)
		w.Title = clip(w.Title, mostTitle-len(more)) + more
	}
	w.Title = clip(w.Title, mostTitle)
	for _, one := range m.Members {
		text := clip(factsOf(one), mostMember)
		if n > 1 {
			text = clip(titleOf(t, m, one), mostMember/2) + " · " + clip(text, mostMember/2)
		}
		w.Lines = append(w.Lines, text)
	}
	if m.Others > 0 {
		w.Lines = append(w.Lines, fmt.Sprintf("… and %d more", m.Others))
	}
	for _, key := range slices.Sorted(maps.Keys(t.Annotations)) {
		if key == "summary" || len(w.More) == mostMore && key != "description" {
			continue
		}
		text, err := expand(t.Annotations[key], first)
		if err != nil {
			text = fmt.Sprintf("(%s cannot be written: %s)", short(key), draw(cut(err.Error(), mostWords)))
		}
		if text = clip(drawLines(text), mostText); key == "description" {
			w.Description = text
		} else if text != "" {
			w.More = append(w.More, Pair{clip(short(key), mostName), clip(text, mostText/mostMore)})
		}
	}
	return w
}

// titleOf says what one member is about.
func titleOf(t Texts, m alerts.Message, of alerts.Firer) string {
	text, err := expand(t.Annotations["summary"], of)
	if text = strings.Join(strings.Fields(drawLines(text)), " "); err == nil && text != "" {
		return text
	}
	text = short(m.Rule) + " " + labelsOf(of.Labels) + " value " + number(of.Value)
	if err != nil {
		text = clip(text, mostTitle/2) + " (its summary cannot be written: " + draw(cut(err.Error(), mostTitle/3)) + ")"
	}
	return text
}

// expand writes a template for a member. What others have named is drawn before, so that it cannot be more than a word of the text.
func expand(text string, of alerts.Firer) (string, error) {
	return annotation.Expand(text, drawn(of.Labels), of.Value, of.Since)
}

// short returns a name as people may see it.
func short(text string) string { return clip(draw(clip(text, mostLabel)), mostLabel) }

// drawn returns labels as people may see them.
func drawn(labels map[string]string) map[string]string {
	all := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if len(all) == mostLabels {
			break
		}
		all[clip(short(key), mostName)] = short(labels[key])
	}
	return all
}

// labelsOf writes labels as Prometheus does, for people.
func labelsOf(labels map[string]string) string {
	var all []string
	shown := drawn(labels)
	for _, key := range slices.Sorted(maps.Keys(shown)) {
		all = append(all, key+"="+strconv.Quote(shown[key]))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// factsOf writes what is known of a member.
func factsOf(of alerts.Firer) string {
	text := labelsOf(of.Labels) + " value " + number(of.Value)
	if !of.Since.IsZero() {
		text += " since " + clock(of.Since)
	}
	return text
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// status is the word of what is told, and its sign: neither needs a colour.
func (w *Words) status() (word, sign string) {
	switch w.Status {
	case alerts.Resolved:
		return "resolved", "✅"
	case alerts.Passed:
		return "fired and ended", "◽"
	default:
		return "firing", "🔥"
	}
}

// title is what fires, and that it is a test.
func (w *Words) title() string {
	if w.Test {
		return "TEST: " + w.Title
	}
	return w.Title
}

// headline is the status and the title.
func (w *Words) headline() string {
	word, sign := w.status()
	return sign + " " + strings.ToUpper(word) + ": " + w.title()
}

// facts are what stands below the text: rule, severity, cluster, times, silence.
func (w *Words) facts() (all []Pair) {
	add := func(name, text string) {
		if text != "" {
			all = append(all, Pair{name, text})
		}
	}
	add("alert", short(w.Rule))
	add("severity", short(w.Severity))
	add("cluster", w.Cluster)
	for _, key := range slices.Sorted(maps.Keys(drawn(w.RuleLabels))) {
		add(key, drawn(w.RuleLabels)[key])
	}
	if !w.Since.IsZero() {
		add("since", clock(w.Since))
	}
	if !w.Until.IsZero() {
		add("until", clock(w.Until))
	}
	if w.Silence != "" {
		add("told now because this silence has ended", short(w.Silence))
	}
	return all
}

// id names the incident by its key, in letters that any header may have.
func (w *Words) id() string {
	sum := sha256.Sum256([]byte(w.Key))
	return hex.EncodeToString(sum[:16])
}
