package hook

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/conchhq/conch/internal/webhook"
)

// Receiver is whom a [Deliverer] tells.
type Receiver struct {
	Name  string
	URL   string                // http or https
	Keys  [][]byte              // each signs; two while they are changed
	Local bool                  // it may be at an address that leads to this host or its link
	Wants func(e *Event) bool   // nil: every event
	Body  func(e *Event) []byte // the same each time
}

// Events are functions that a [Deliverer] calls. All are optional and must not block.
type Events struct {
	// Posted follows each answer, or that there is none.
	Posted func(taken bool)
	// Ails reports that the receiver has begun to refuse everything, or takes events again.
	Ails func(begins bool, h Health)
	// Died reports that events are dead.
	Died func(n int)
	// Trouble reports an error of the store, which is asked again.
	Trouble func(err error)
}

// Validate returns an error that says what is wrong with a receiver.
func (r Receiver) Validate() error {
	if err := CheckURL(r.URL); err != nil {
		return fmt.Errorf("url %w", err)
	}
	if len(r.Keys) == 0 || r.Body == nil {
		return errors.New("a receiver needs a key and a body")
	}
	return nil
}

// CheckURL returns an error that says what is wrong with a receiver's URL. It quotes nothing of it.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("is not an address such as https://shop.example/hooks")
	case u.User != nil:
		return errors.New("has a user or a password in it, which is not sent: the signature says who posts; take it out")
	case u.Fragment != "":
		return errors.New("has a part after #, which is not sent: take it out")
	}
	return nil
}

// ParseSecret reads a secret as Standard Webhooks writes it: base64 of 24 to 64 bytes, after whsec_ or alone. Its error quotes nothing of it.
func ParseSecret(text string) (key []byte, err error) { return webhook.ParseSecret(text) }
