package receiver

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/conchhq/conch/alerts"
)

// postbox is a mail server, and who is written to.
type postbox struct {
	host               string
	port               int
	tls                string
	username, password string
	from               string
	to                 []string
	now                func() time.Time
}

func (c Config) openMail(v *vault, now func() time.Time) medium {
	host, port, err := c.mailServer()
	if err != nil {
		v.fault("server", err)
	}
	p := postbox{host: host, port: port, tls: c.TLS, username: c.Username, from: c.From, to: c.To, now: now}
	p.password = v.read(source{"password_file", c.PasswordFile, "password_env", c.PasswordEnv})
	if p.password != "" { // servers answer with the line of which they complain
		v.hidden = v.hidden.and(base64.StdEncoding.EncodeToString([]byte("\x00" + p.username + "\x00" + p.password)))
	}
	return p
}

// tell writes to each address by itself, since a server that refuses one would else refuse all. It is told if anybody is.
func (p postbox) tell(ctx context.Context, w *way, words *Words) outcome {
	ctx, end := context.WithCancel(ctx)
	defer end()
	w.end = end // the library would wait for an answer to what it could not write
	client, err := p.client(ctx, w)
	if err != nil {
		return outcome{err: err}
	}
	if err := client.DialWithContext(ctx); err != nil {
		return greeted(err).in(ctx, w)
	}
	defer func() { _ = client.Close() }() // says goodbye: the answer does not matter
	var best outcome
	rank := []alerts.Answer{0, alerts.Refused, alerts.Failed, alerts.Doubted, alerts.Taken}
	have := 0
	for _, to := range p.to {
		m, err := p.letter(words, to)
		if err != nil {
			return outcome{err: err}
		}
		o := sent(client.Send(m), w.shut.Load()).in(ctx, w)
		if o.fixed == alerts.Taken {
			have++
		} else if best.fixed == alerts.Taken {
			best.says = o.says
		}
		if slices.Index(rank, o.fixed) > slices.Index(rank, best.fixed) {
			o.says = cmp.Or(o.says, best.says)
			best = o
		}
	}
	if have > 0 && have < len(p.to) {
		best.partly = fmt.Sprintf("%d of %d addresses have it", have, len(p.to))
	}
	return best
}

// in says why there is no answer, where the library only knows that the connection is closed.
func (o outcome) in(ctx context.Context, w *way) outcome {
	if o.shut = w.shut.Load(); o.status == 0 && ctx.Err() != nil {
		o.err = context.Cause(ctx)
	}
	return o
}

// sent says what became of one letter. The server has it once it confirms its last line; what fails after that does not matter.
func sent(err error, shut bool) outcome {
	if err == nil {
		return outcome{fixed: alerts.Taken}
	}
	o := outcome{err: err, fixed: alerts.Failed}
	var fault *mail.SendError
	if !errors.As(err, &fault) {
		return o
	}
	switch {
	case fault.Reason == mail.ErrSMTPReset:
		return outcome{fixed: alerts.Taken}
	case fault.ErrorCode() > 0:
		o.status, o.says = fault.ErrorCode(), fault.Error()
		if o.status >= 500 {
			o.fixed = alerts.Refused
		}
	case fault.Reason == mail.ErrSMTPDataClose && !shut:
		o.fixed = alerts.Doubted
	}
	if o.status == 0 {
		o.err = errors.New("the connection broke: " + fault.Reason.String()) // its errors quote addresses
	}
	return o
}

// greeted says what became of a connection that did not come to a letter.
func greeted(err error) outcome {
	o := outcome{err: err, fixed: alerts.Failed}
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code > 0 {
		o.status, o.says = answer.Code, answer.Msg
		if o.status >= 500 {
			o.fixed = alerts.Refused
		}
	}
	return o
}

// client returns a client whose connection ends with ctx.
func (p postbox) client(ctx context.Context, w *way) (*mail.Client, error) {
	conf := &tls.Config{RootCAs: w.roots, ServerName: p.host, MinVersion: tls.VersionTLS12}
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		c, err := w.transport().DialContext(dialing, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = c.Close() }) // the library leaves it open after some faults
		if p.tls != onlyTLS {
			return c, nil
		}
		safe := tls.Client(c, conf)
		return safe, safe.HandshakeContext(dialing)
	}
	options := []mail.Option{mail.WithPort(p.port), mail.WithTimeout(Patience), mail.WithDialContextFunc(dial), mail.WithTLSConfig(conf), mail.WithoutNoop()}
	switch p.tls {
	case onlyTLS:
		options = append(options, mail.WithSSL())
	case noTLS:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if p.username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(p.username), mail.WithPassword(p.password))
	}
	return mail.NewClient(p.host, options...)
}

// letter is a message as an e-mail. Its ID comes from key and number, so that a copy is known for one, and all letters of an incident stand together.
func (p postbox) letter(words *Words, to string) (*mail.Msg, error) {
	m := mail.NewMsg()
	if err := errors.Join(m.From(p.from), m.To(to)); err != nil {
		return nil, err
	}
	domain := strings.TrimSuffix(p.from[strings.LastIndex(p.from, "@")+1:], ">")
	thread := words.id()
	m.SetMessageIDWithValue(fmt.Sprintf("%s.%d@%s", thread, words.Seq, domain))
	m.SetGenHeader("References", fmt.Sprintf("<%s@%s>", thread, domain))
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetDateWithValue(p.now())
	m.Subject(words.headline())
	m.SetBodyString(mail.TypeTextPlain, words.letter())
	return m, nil
}

// letter is the text of an e-mail.
func (w *Words) letter() string {
	var b strings.Builder
	b.WriteString(w.headline() + "\n")
	if w.Description != "" {
		b.WriteString("\n" + w.Description + "\n")
	}
	if len(w.Lines) > 0 {
		b.WriteString("\n" + strings.Join(w.Lines, "\n") + "\n")
	}
	b.WriteString("\n")
	for _, f := range append(w.facts(), w.More...) {
		b.WriteString(f.Name + ": " + f.Text + "\n")
	}
	if w.Link != "" {
		b.WriteString("\n" + w.Link + "\n")
	}
	return b.String()
}
