package receiver

import (
	"context"
	"net/http"
	"strings"

	"github.com/slack-go/slack"
)

// channel is a channel of Slack, or of what takes the same messages, told by an incoming webhook.
type channel struct{ url string }

// mostBlock is how many characters Slack takes in one text, of 3000; what is escaped counts as it is written.
const mostBlock = 2900

func (c channel) tell(ctx context.Context, w *way, words *Words) outcome {
	return w.post(func(client *http.Client) error {
		return slack.PostWebhookCustomHTTPContext(ctx, c.url, client, message(words))
	})
}

// message is a message in Slack's words. No name in it can call somebody: it is escaped, and Slack is told to look for no names and links.
func message(words *Words) *slack.WebhookMessage {
	var parts []slack.Block
	add := func(text string) {
		if text != "" {
			parts = append(parts, slack.NewSectionBlock(verbatim(text), nil, nil))
		}
	}
	add("*" + fit(words.headline()) + "*")
	add(fit(words.Description))
	var lines []string
	for _, l := range words.Lines {
		lines = append(lines, "• "+l)
	}
	add(fit(strings.Join(lines, "\n")))
	var facts []string
	for _, f := range append(words.facts(), words.More...) {
		facts = append(facts, f.Name+": "+f.Text)
	}
	if words.Link != "" {
		link := strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(words.Link)
		add("<" + link + "|open the page>")
	}
	parts = append(parts, slack.NewContextBlock("", verbatim(fit(strings.Join(facts, " · ")))))
	return &slack.WebhookMessage{Text: fit(words.headline()), Parse: "none", Blocks: &slack.Blocks{BlockSet: parts}}
}

func verbatim(text string) *slack.TextBlockObject {
	return &slack.TextBlockObject{Type: slack.MarkdownType, Text: text, Verbatim: true}
}

// fit escapes a text, and cuts what does not fit between two characters.
func fit(text string) string {
	var b strings.Builder
	for _, r := range text {
		one := string(r)
		switch r {
		case '&':
			one = "&amp;"
		case '<':
			one = "&lt;"
		case '>':
			one = "&gt;"
		}
		if b.Len()+len(one) > mostBlock {
			return b.String() + "…"
		}
		b.WriteString(one)
	}
	return b.String()
}
