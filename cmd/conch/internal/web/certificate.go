package web

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery bounds how often the files are looked at.
const lookEvery = time.Second

// Certificate is a server certificate that follows its files: when they change,
// and when told to [Certificate.Reload].
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	now    *tls.Certificate
	stamp  [2]fileStamp
	looked time.Time
}

// fileStamp changes when a file does; a symbolic link that is turned elsewhere,
// which is how mounted secrets are renewed, changes it too.
type fileStamp struct {
	at   time.Time
	size int64
}

// LoadCertificate reads a certificate chain and its key.
func LoadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.Reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Reload reads the files again. If that fails the certificate stays as it was.
func (c *Certificate) Reload() error {
	use, err := c.Read()
	if err != nil {
		return err
	}
	use()
	return nil
}

// Read reads the files again; what they hold is served once use is called. See
// [Tokens.Read].
func (c *Certificate) Read() (use func(), err error) {
	fresh, stamp, err := c.read()
	if err != nil {
		return nil, err
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now, c.stamp = fresh, stamp
	}, nil
}

func (c *Certificate) read() (*tls.Certificate, [2]fileStamp, error) {
	stamp := c.stamps() // before reading: a change meanwhile is seen at the next look
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return nil, stamp, fmt.Errorf("the certificate %s with the key %s cannot be used: %w", c.certFile, c.keyFile, err)
	}
	return &pair, stamp, nil
}

func (c *Certificate) stamps() (s [2]fileStamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			s[i] = fileStamp{info.ModTime(), info.Size()}
		}
	}
	return s
}

// Config is for a listener. Its certificate is always the present one.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(time.Now()), nil },
	}
}

func (c *Certificate) current(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) >= lookEvery {
		c.looked = now
		if c.stamps() != c.stamp {
			// Certificate and key are two files: one may be new and the other not yet.
			// The pair does not fit then, and the next look tries again.
			if fresh, stamp, err := c.read(); err != nil {
				c.log.Warn("the changed certificate is not used yet", slog.Any("error", err))
			} else {
				c.now, c.stamp = fresh, stamp
			}
		}
	}
	return c.now
}
