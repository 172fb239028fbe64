package receiver

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/pattern"
	"github.com/conchhq/conch/internal/secretfile"
	"github.com/conchhq/conch/internal/webhook"
)

// Patience is how long one message may take. An act that tells one has to fit into the gate's time.
const Patience = 10 * time.Second

// medium sends a message as one kind of receiver understands it.
type medium interface {
	tell(ctx context.Context, w *way, words *Words) outcome
}

// Receiver is one [[notify]] with its secrets. It is safe for concurrent use; who sends one message after the other asks for no more than one
// answer at a time.
type Receiver struct {
	Name string
	kind string

	medium medium
	roots  *x509.CertPool // nil: the system's
	hidden hider
	now    func() time.Time

	mu    sync.Mutex
	until time.Time // the receiver has asked not to be told before
}

// mostWait is how long a receiver that asks for a pause gets one at most: what waits may have to wake somebody.
const mostWait = time.Minute

// Kind says what the receiver does with a message that it is told again.
func (r *Receiver) Kind() alerts.Kind { return kinds[r.kind] }

// Beats reports whether this is a heartbeat: it is called, and not told of alerts.
func (r *Receiver) Beats() bool { return r.kind == Heartbeat }

// Open reads the secrets of a validated receiver. Each fault is reported with the key that it is about, and quotes nothing of a secret; the
// receiver is nil if there is one.
func (c Config) Open(getenv func(string) string, fault func(key string, err error)) *Receiver {
	ok := true
	v := &vault{getenv: getenv, fault: func(key string, err error) { ok = false; fault(key, err) }}
	r := &Receiver{Name: c.Name, kind: c.Kind, now: time.Now}
	var err error
	if r.roots, err = secretfile.Roots(c.CAFile); err != nil {
		v.fault("ca_file", err)
	}
	token := source{"token_file", c.TokenFile, "token_env", c.TokenEnv}
	switch c.Kind {
	case PagerDuty:
		m := pager{url: c.URL, key: v.read(source{"routing_key_file", c.RoutingKeyFile, "routing_key_env", c.RoutingKeyEnv})}
		v.hidden = v.hidden.and(partsOf(c.URL)...)
		r.medium = m
	case Slack:
		r.medium = channel{url: v.address(c)}
	case Webhook:
		r.medium = hook{url: v.address(c), keys: c.keys(v), token: v.read(token), now: r.clock}
	case Alertmanager:
		r.medium = manager{url: v.address(c), token: v.read(token), now: r.clock}
	case Heartbeat:
		r.medium = heart{url: v.address(c)}
	case Email:
		r.medium = c.openMail(v, r.clock)
	default:
		v.fault("kind", fmt.Errorf("%q is no kind of receiver", c.Kind))
	}
	if r.hidden = v.hidden; !ok {
		return nil
	}
	return r
}

// keys reads what signs.
func (c Config) keys(v *vault) (all [][]byte) {
	for _, from := range []source{{"secret_file", c.SecretFile, "secret_env", c.SecretEnv}, {key: "secret_file_old", file: c.SecretOld}} {
		text := v.read(from)
		if text == "" {
			continue
		}
		k, err := webhook.ParseSecret(text)
		if err != nil {
			v.fault(from.named(), err)
			continue
		}
		all = append(all, k)
	}
	return all
}

func (r *Receiver) clock() time.Time { return r.now() }

// Tell tells the receiver of a message, and returns within [Patience]. Each write to the network is an act, and an error of the gate keeps
// what is not sent yet from being sent; nil: nobody is asked. The error is
// a [*FaultError] unless the message is taken; if it is, one says that some of several addresses do not have it.
func (r *Receiver) Tell(ctx context.Context, act webhook.Act, words *Words) (alerts.Answer, error) {
	if wait := r.pause(); wait > 0 {
		return alerts.Failed, &FaultError{Text: fmt.Sprintf("it has asked not to be told for %s more", wait.Round(time.Second)), Wait: wait}
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	return r.judge(r.medium.tell(ctx, &way{acts: act, roots: r.roots}, words))
}

// Beat calls a heartbeat.
func (r *Receiver) Beat(ctx context.Context, act webhook.Act) (alerts.Answer, error) {
	return r.Tell(ctx, act, &Words{})
}

// pause returns for how long the receiver must not be told yet.
func (r *Receiver) pause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until.Sub(r.now())
}

// judge says what became of a message, in words that show no secret.
func (r *Receiver) judge(o outcome) (alerts.Answer, error) {
	answer, text := o.judge(r.Kind())
	if answer == alerts.Taken && text == "" {
		return answer, nil
	}
	wait := time.Duration(0)
	if answer == alerts.Failed {
		wait = min(o.wait, mostWait)
	}
	if wait > 0 {
		r.mu.Lock()
		r.until = r.now().Add(wait)
		r.mu.Unlock()
	}
	text = r.clean(text, false)
	if says := r.clean(o.says, o.more); says != "" {
		text += ": " + says
	}
	return answer, &FaultError{Text: text, Status: o.status, Wait: wait}
}

// address is one of anybody in what others say.
var address = pattern.Of(`(?i)\bhttps?:\\?/\\?/[^\s"'<>]*`)

// clean returns what others say without secrets and addresses and on one line, and cuts it only then: half a secret would not be found.
// More says that its end was cut off: what of a secret may stand there is left out.
func (r *Receiver) clean(text string, more bool) string {
	if text = r.hidden.hide(text); more {
		text = text[:max(0, len(text)-r.hidden.longest())]
	}
	text = address().ReplaceAllString(strings.TrimSpace(text), hiddenWord)
	return cut(draw(text), mostWords)
}

// mostWords is how many bytes are kept of what a receiver says.
const mostWords = 200

// FaultError says why a message was not taken, or is not known to be. It holds no secret, no address and no character that nobody sees.
type FaultError struct {
	Text   string
	Status int           // of HTTP, or the code of SMTP; 0: there was no answer
	Wait   time.Duration // the receiver asks not to be told for so long; 0: it asks for nothing
}

func (f *FaultError) Error() string { return f.Text }

// Teller tells the receivers of a node, by their names.
type Teller struct {
	Receivers []*Receiver
	Place     Place
	Texts     func(rule string) Texts // what a rule says; of one that is not there: nothing
	Act       webhook.Act             // see [Receiver.Tell]
}

// Tell tells one receiver of a message, as [Receiver.Tell] does.
func (t *Teller) Tell(ctx context.Context, receiver string, m alerts.Message) (alerts.Answer, error) {
	for _, r := range t.Receivers {
		if r.Name == receiver {
			return r.Tell(ctx, t.Act, t.Place.Write(t.Texts(m.Rule), m))
		}
	}
	return alerts.Refused, &FaultError{Text: "this node has no receiver of that name"}
}
