package receiver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/webhook"
)

// hook is a program of a user's. It is told as [[webhooks]] are: Standard Webhooks says how.
type hook struct {
	url, token string
	keys       [][]byte
	now        func() time.Time
}

// Event is what a webhook is sent, in the fields that Standard Webhooks recommends.
type Event struct {
	Type      string    `json:"type"` // alert. and the status
	Timestamp time.Time `json:"timestamp"`
	Data      Told      `json:"data"`
}

// Told is one message. Labels are as they are, whatever characters they have; texts for people show each character.
type Told struct {
	Key         string            `json:"key"`    // of the incident: the same for all messages about it
	Seq         uint64            `json:"seq"`    // rises with each message of a key: the highest one says how things are
	Status      string            `json:"status"` // firing or resolved
	Test        bool              `json:"test,omitempty"`
	Rule        string            `json:"rule"`
	Severity    string            `json:"severity,omitempty"`
	Cluster     string            `json:"cluster,omitempty"`
	Title       string            `json:"title"`
	Description string            `json:"description,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"` // others than summary and description
	Labels      map[string]string `json:"labels,omitempty"`      // of the rule
	Group       map[string]string `json:"group,omitempty"`       // what all members have in common
	Members     []ToldMember      `json:"members"`               // ten at most
	Others      int               `json:"others"`                // how many more there are
	Since       time.Time         `json:"since,omitzero"`
	Until       time.Time         `json:"until,omitzero"`
	Silence     string            `json:"silence,omitempty"` // whose end lets this be told
	Link        string            `json:"link,omitempty"`
}

// ToldMember is one member. Its value is a text, since no number of JSON is infinite.
type ToldMember struct {
	Labels map[string]string `json:"labels"`
	Value  string            `json:"value"`
	Since  time.Time         `json:"since,omitzero"`
}

func (h hook) tell(ctx context.Context, w *way, words *Words) outcome {
	now := h.now()
	body, err := json.Marshal(eventOf(words, now))
	if err != nil {
		return outcome{err: err}
	}
	return w.post(func(client *http.Client) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		webhook.Sign(req.Header, "alert_"+words.id()+"_"+strconv.FormatUint(words.Seq, 10), now, body, h.keys...)
		return send(client, req, h.token)
	})
}

// send sends JSON, or a request without a body.
func send(client *http.Client, req *http.Request, token string) error {
	if req.ContentLength > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "conch")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

func eventOf(words *Words, now time.Time) Event {
	status := "resolved"
	if words.Status == alerts.Firing {
		status = "firing"
	}
	told := Told{
		Key: words.Key, Seq: words.Seq, Status: status, Test: words.Test, Rule: words.Rule, Severity: words.Severity, Cluster: words.Cluster,
		Title: words.Title, Description: words.Description, Labels: words.RuleLabels, Group: words.Group, Members: []ToldMember{}, Others: words.Others,
		Since: words.Since.UTC(), Until: words.Until.UTC(), Silence: words.Silence, Link: words.Link,
	}
	for _, m := range words.Members {
		told.Members = append(told.Members, ToldMember{m.Labels, number(m.Value), m.Since.UTC()})
	}
	for _, one := range words.More {
		if told.Annotations == nil {
			told.Annotations = map[string]string{}
		}
		told.Annotations[one.Name] = one.Text
	}
	return Event{Type: "alert." + status, Timestamp: now.UTC(), Data: told}
}
