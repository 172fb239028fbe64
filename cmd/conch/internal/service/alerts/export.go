package alerts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const exportHead = `# Prometheus rules for the metrics of conch nodes (ops_listen, /metrics). conch alerts export prints
# them, and conch evaluates the same ones itself: see docs/alerts.md. The limits fit a lease of 3s.
# Each rule applies to every scope by its label.
groups:
  - name: conch
    rules:
`

// export writes alerts as rules of Prometheus. Who is told is the business of its Alertmanager there.
func export(all []Alert) string {
	var out strings.Builder
	out.WriteString(exportHead)
	for _, a := range all {
		if a.judged {
			continue // no condition says it
		}
		if out.Len() > len(exportHead) {
			out.WriteByte('\n')
		}
		for line := range strings.Lines(folded(a.comment, 94)) {
			fmt.Fprintf(&out, "      # %s", line)
		}
		fmt.Fprintf(&out, "      - alert: %s\n        expr: |-\n", scalar(a.Name))
		for line := range strings.Lines(strings.TrimSpace(a.parsed.Text) + "\n") {
			fmt.Fprintf(&out, "          %s\n", strings.TrimRight(line, " \t\r\n"))
		}
		for _, one := range []struct {
			key string
			d   time.Duration
		}{{"for", a.For}, {"keep_firing_for", a.Keep}} {
			if one.d > 0 {
				fmt.Fprintf(&out, "        %s: %s\n", one.key, span(one.d))
			}
		}
		labels := map[string]string{"severity": a.Severity}
		maps.Copy(labels, a.Labels)
		table(&out, "labels", labels)
		table(&out, "annotations", a.Annotations)
	}
	return out.String()
}

func table(out *strings.Builder, name string, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintf(out, "        %s:\n", name)
	keys := slices.SortedFunc(maps.Keys(texts), func(a, b string) int { // a summary comes before what describes it
		if (a == "summary") != (b == "summary") {
			return map[bool]int{true: -1, false: 1}[a == "summary"]
		}
		return strings.Compare(a, b)
	})
	for _, key := range keys {
		fmt.Fprintf(out, "          %s: %s\n", key, scalar(texts[key]))
	}
}

// scalar writes a text of YAML: one of letters and digits as it is, and every other one as JSON, which is YAML too.
func scalar(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	if plain && !slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) //nolint:errchkjson // a text
	return strings.TrimSuffix(out.String(), "\n")
}

// span writes a time as Prometheus reads one.
func span(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if d%unit.is == 0 {
			return fmt.Sprint(int64(d/unit.is), unit.name)
		}
	}
	return fmt.Sprint(d.Milliseconds(), "ms")
}

// folded breaks a text into lines, each with its end.
func folded(text string, width int) string {
	var out strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case at == 0:
		case at+1+len(word) > width:
			out.WriteByte('\n')
			at = 0
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += len(word)
	}
	if at > 0 {
		out.WriteByte('\n')
	}
	return out.String()
}
