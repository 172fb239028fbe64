package receiver

import (
	"context"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/internal/storytest"
)

// F9: what a letter looks like, and that its password goes by TLS alone.
func TestLetters(t *testing.T) {
	t.Parallel()
	o := openOffice(t, usual)
	r := o.mailbox(t, func(c *Config) { c.To = []string{"ops@example.com", "Second <two@example.com>"} })
	if answer, err := r.Tell(t.Context(), nil, home.Write(texts, told()["1 firing"])); answer != alerts.Taken || err != nil {
		t.Fatalf("got answer %d and %v", answer, err)
	}
	said, letters := strings.Join(o.said.list(), "\n"), o.letters.list()
	plain := base64.StdEncoding.EncodeToString([]byte("\x00conch\x00" + secretMail))
	if at := strings.Index(said, "AUTH PLAIN "+plain); at < 0 || at < strings.Index(said, "STARTTLS") {
		t.Errorf("the password is not sent, or before TLS: %s", said)
	}
	if len(letters) != 2 {
		t.Fatalf("got %d letters, want one for each address", len(letters))
	}
	m, err := mail.ReadMessage(strings.NewReader(letters[1]))
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get("Bcc") != "" || m.Header.Get("To") != `"Second" <two@example.com>` {
		t.Errorf("got the headers %v", m.Header)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	got := "Subject: " + subject + "\n"
	for _, key := range []string{"From", "To", "Date", "Message-Id", "References", "Auto-Submitted", "Content-Type"} {
		got += key + ": " + m.Header.Get(key) + "\n"
	}
	storytest.Golden(t, *update, filepath.Join("testdata", "email.txt"), got+"\n"+strings.ReplaceAll(string(body), "\r\n", "\n"))
}

// The same message has the same ID, so that a mailbox shows it once, and the next of its incident stands with it.
func TestCopiesHaveOneID(t *testing.T) {
	t.Parallel()
	o := openOffice(t, usual)
	r := o.mailbox(t, nil)
	ids, threads := map[string]int{}, map[string]int{}
	for _, seq := range []uint64{42, 42, 43} {
		m := sample(1, 0)
		m.Seq = seq
		if answer, err := r.Tell(t.Context(), nil, home.Write(texts, m)); answer != alerts.Taken {
			t.Fatal(answer, err)
		}
	}
	for _, text := range o.letters.list() {
		m, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		ids[m.Header.Get("Message-Id")]++
		threads[m.Header.Get("References")]++
	}
	if len(ids) != 2 || len(threads) != 1 {
		t.Errorf("got the IDs %v and the threads %v, want two and one", ids, threads)
	}
}

// What becomes of a letter, by where it fails: only after its end nobody knows.
func TestAnswersOfMailServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, reply string
		want      alerts.Answer
		status    int
	}{
		{"GREETING", "", alerts.Failed, 0},
		{"GREETING", "421 busy", alerts.Failed, 421},
		{"GREETING", "554 no", alerts.Refused, 554},
		{"AUTH", "535 5.7.8 no", alerts.Refused, 535},
		{"AUTH", "454 4.7.0 later", alerts.Failed, 454},
		{"AUTH", "", alerts.Failed, 0},
		{"MAIL", "451 4.3.0 later", alerts.Failed, 451},
		{"MAIL", "550 5.1.0 no", alerts.Refused, 550},
		{"RCPT", "450 4.2.0 greylisted", alerts.Failed, 450},
		{"RCPT", "550 5.1.1 nobody", alerts.Refused, 550},
		{"RCPT", "", alerts.Failed, 0},
		{"DATA", "451 4.3.0 later", alerts.Failed, 451},
		{"DATA", "", alerts.Failed, 0},
		{"DATA ", "451 4.3.0 later", alerts.Failed, 451},
		{"DATA ", "554 5.6.0 spam", alerts.Refused, 554},
		{"DATA ", "", alerts.Doubted, 0},
		{"DATA ", "gibberish", alerts.Doubted, 0},
		{"RSET", "", alerts.Taken, 0},
		{"RSET", "500 what", alerts.Taken, 0},
		{"QUIT", "", alerts.Taken, 0},
	} {
		o := openOffice(t, func(command string) string {
			if strings.HasPrefix(command, c.at) && (c.at != "DATA" || command == c.at) {
				return c.reply
			}
			return usual(command)
		})
		answer, err := tell(t, o.mailbox(t, nil), nil)
		if answer != c.want || (err == nil) != (c.want == alerts.Taken) {
			t.Errorf("%q to %q: got answer %d and %v, want answer %d", c.reply, c.at, answer, err, c.want)
		} else if err != nil && faultOfError(t, err).Status != c.status {
			t.Errorf("%q to %q: the fault %v has the status %d, want %d", c.reply, c.at, err, faultOfError(t, err).Status, c.status)
		}
	}
}

// A server that stops talking costs the time for one message; only after the end of a letter it may have it.
func TestSilentMailServers(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]alerts.Answer{"GREETING": alerts.Failed, "EHLO": alerts.Failed, "AUTH": alerts.Failed, "RCPT": alerts.Failed, "DATA ": alerts.Doubted, "RSET": alerts.Taken, "QUIT": alerts.Taken} {
		hold := make(chan struct{})
		ctx, end := context.WithCancelCause(t.Context())
		o := openOffice(t, func(command string) string {
			if strings.HasPrefix(command, at) {
				end(context.DeadlineExceeded) // so long for the test
				<-hold
			}
			return usual(command)
		})
		answer, err := o.mailbox(t, nil).Tell(ctx, nil, home.Write(texts, sample(1, 0)))
		close(hold)
		if answer != want || err != nil && !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("silent at %q: got answer %d and %v, want answer %d and that there is no answer in time", at, answer, err, want)
		}
	}
}

// A server that refuses one address does not keep the others from being told.
func TestOneAddressOfSeveral(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(command string) string {
		if strings.HasPrefix(command, "RCPT TO:<gone@") {
			return "550 5.1.1 nobody"
		}
		return usual(command)
	})
	r := o.mailbox(t, func(c *Config) { c.To = []string{"gone@example.com", "ops@example.com", "two@example.com"} })
	answer, err := tell(t, r, nil)
	if answer != alerts.Taken || err == nil || !strings.Contains(err.Error(), "2 of 3 addresses have it") || !strings.Contains(err.Error(), "5.1.1 nobody") || len(o.letters.list()) != 2 {
		t.Errorf("got answer %d, %v and %d letters, want that two have it", answer, err, len(o.letters.list()))
	}
}

// A password is not sent without TLS, and a server without it is not told.
func TestNoTLSNoPassword(t *testing.T) {
	t.Parallel()
	o := openOffice(t, func(command string) string { return strings.Replace(usual(command), "250-STARTTLS\r\n", "", 1) })
	if answer, err := tell(t, o.mailbox(t, nil), nil); answer == alerts.Taken || strings.Contains(strings.Join(o.said.list(), "\n"), "AUTH") {
		t.Errorf("got answer %d and %v after %q", answer, err, o.said.list())
	}
	bare := o.mailbox(t, func(c *Config) { c.TLS, c.Username, c.PasswordFile = noTLS, "", "" })
	if answer, err := tell(t, bare, nil); answer != alerts.Taken || err != nil {
		t.Errorf("without a password got answer %d and %v", answer, err)
	}
}
