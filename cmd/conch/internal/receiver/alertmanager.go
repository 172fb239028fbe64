package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
)

// manager is an Alertmanager, told by its API of version 2. It forgets what it is not told again.
type manager struct {
	url, token string
	now        func() time.Time
}

// ahead is how long an Alertmanager believes a message: it is told each minute, and for longer than a new leader needs.
const ahead = 5 * time.Minute

// post is one alert of an Alertmanager. Its labels are its identity, so they are those of the group: which members fire stands in an annotation.
type post struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

func (m manager) tell(ctx context.Context, w *way, words *Words) outcome {
	if words.Status == alerts.Passed {
		return outcome{fixed: alerts.Taken} // it was never told that it fires
	}
	body, err := json.Marshal([]post{postOf(words, m.now())})
	if err != nil {
		return outcome{err: err}
	}
	to, err := url.Parse(m.url)
	if err != nil {
		return outcome{err: err}
	}
	return w.post(func(client *http.Client) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.JoinPath("api/v2/alerts").String(), bytes.NewReader(body))
		if err != nil {
			return err
		}
		return send(client, req, m.token)
	})
}

func postOf(words *Words, now time.Time) post {
	p := post{Labels: map[string]string{}, Annotations: map[string]string{"summary": words.title()}, StartsAt: words.Since.UTC(), EndsAt: now.Add(ahead).UTC(), GeneratorURL: words.Link}
	maps.Copy(p.Labels, words.RuleLabels)
	maps.Copy(p.Labels, words.Group)
	maps.Copy(p.Labels, map[string]string{"alertname": words.Rule, "severity": words.Severity, "cluster": words.Cluster})
	maps.DeleteFunc(p.Labels, func(_, text string) bool { return text == "" }) // an empty label is none
	add := func(name, text string) {
		if text != "" {
			p.Annotations[name] = text
		}
	}
	add("description", words.Description)
	add("members", strings.Join(words.Lines, "\n"))
	add("silence", short(words.Silence))
	for _, one := range words.More {
		add(one.Name, one.Text)
	}
	if words.Status != alerts.Firing {
		p.EndsAt = now.UTC()
	}
	if !p.StartsAt.Before(p.EndsAt) { // it would be refused
		p.StartsAt = p.EndsAt.Add(-time.Millisecond)
	}
	return p
}
