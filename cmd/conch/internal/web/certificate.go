package web

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/secretfile"
)

// lookEvery is the least interval between looks at the files.
const lookEvery = time.Second

// Certificate is a server certificate that is read again when its files change.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	now    *tls.Certificate
	stamp  [2]fileStamp
	looked time.Time
}

// fileStamp changes with a file or with a link's target, by which mounted secrets are renewed.
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

// Reload reads the files again. After an error the old certificate stays in use.
func (c *Certificate) Reload() error {
	use, err := c.Read()
	if err != nil {
		return err
	}
	use()
	return nil
}

// Read reads the files again. The new certificate is served once use is called.
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
	stamp := c.stamps() // before reading: the next look sees a change during it
	if err := secretfile.Private(c.keyFile); err != nil {
		return nil, stamp, fmt.Errorf("the key %s cannot be used: %w", c.keyFile, err)
	}
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

// Config returns a TLS configuration that always serves the current certificate.
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
			// If only one of the two files is new yet, they do not match: the next look tries again.
			if fresh, stamp, err := c.read(); err != nil {
				c.log.Warn("the changed certificate is not used yet", slog.Any("error", err))
			} else {
				c.now, c.stamp = fresh, stamp
			}
		}
	}
	return c.now
}
